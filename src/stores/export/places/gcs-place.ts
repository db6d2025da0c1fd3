import { SourceError } from '../../../imports/source.ts';
import { baseUrlOf, createExportApi, type ExportApi } from '../../../imports/sources/export-api.ts';
import { tokenOfServiceAccount, writeScope, type GcsToken } from '../../../imports/sources/gcs-token.ts';
import type { ExportDestination } from '../../../wire/contract/exports.ts';
import { ExportPlaceError, type ExportPlace } from '../export-place.ts';
import { piecesOf } from './pieces.ts';
import { folderOf, type PlaceDeps } from './place-deps.ts';
import { createSums } from './sums.ts';

const name = 'Google Cloud Storage';
/** A multiple of 256 KiB, as the service requires. */
const pieceBytes = 8 * 1024 * 1024;

interface Gcs {
  readonly api: ExportApi;
  readonly token: GcsToken;
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly bucket: string;
}

/** Opens a bucket of Google Cloud Storage, for one export. Objects are visible once they are complete. */
export function openGcsPlace(
  deps: PlaceDeps,
  id: string,
  destination: ExportDestination,
  { key_file: keyFile = '' }: Readonly<Record<string, string>>,
): ExportPlace {
  const { bucket = '', endpoint = '' } = destination;
  const gcs: Gcs = {
    api: createExportApi(deps, { name, secrets: [] }),
    token: tokenOfServiceAccount(deps, keyFile, writeScope),
    endpoint: baseUrlOf(endpoint, 'endpoint', 'https://storage.googleapis.com'),
    bucket,
  };
  const folder = folderOf(destination, id);
  return {
    write: (file, chunks, signal) => upload(gcs, `${folder}${file}`, chunks, signal),
    remove: async (files) => {
      const { signal } = new AbortController();
      for (const file of files) {
        const url = `${gcs.endpoint}/storage/v1/b/${bucket}/o/${encodeURIComponent(`${folder}${file}`)}`;
        await sent(gcs, { url, method: 'DELETE', headers: {}, accepted: [204, 404] }, signal);
      }
    },
    close: () => undefined,
  };
}

/** A resumable upload: https://cloud.google.com/storage/docs/performing-resumable-uploads */
async function upload(
  gcs: Gcs,
  object: string,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const query = new URLSearchParams({ uploadType: 'resumable', name: object });
  const begin = { url: `${gcs.endpoint}/upload/storage/v1/b/${gcs.bucket}/o?${query.toString()}`, method: 'POST' };
  const { location } = await sent(gcs, { ...begin, headers: {}, accepted: [200] }, signal);
  if (location === undefined) throw new ExportPlaceError(`${name}: expected the address of an upload, got none`);
  const sums = createSums();
  for await (const { bytes, at, isLast } of piecesOf(sums.passing(chunks), pieceBytes)) {
    const end = at + bytes.length;
    const range = bytes.length === 0 ? `bytes */${end}` : `bytes ${at}-${end - 1}/${isLast ? end : '*'}`;
    const put = { url: location, method: 'PUT', headers: { 'content-range': range }, body: bytes };
    await sent(gcs, { ...put, accepted: isLast ? [200, 201] : [308] }, signal);
  }
  return sums.found();
}

interface GcsRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly accepted: readonly number[];
}

/** Sends a request and returns the headers of the response. */
async function sent(
  { api, token }: Gcs,
  request: GcsRequest,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  try {
    const text = await token({ signal });
    const authorization = text === undefined ? {} : { authorization: `Bearer ${text}` };
    const response = await api.ask({ ...request, headers: { ...request.headers, ...authorization } }, signal);
    for await (const _ of response.body);
    return response.headers;
  } catch (error) {
    if (error instanceof SourceError)
      throw new ExportPlaceError(`${error.message}; start the export again`, { cause: error });
    throw error;
  }
}
