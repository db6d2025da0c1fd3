import { SourceError } from '../../../imports/source.ts';
import { azureAccess, type AzureRequest, type SignRequest } from '../../../imports/sources/azure-access.ts';
import { baseUrlOf, createExportApi, type ExportApi } from '../../../imports/sources/export-api.ts';
import type { ExportDestination } from '../../../wire/contract/exports.ts';
import { ExportPlaceError, type ExportPlace } from '../export-place.ts';
import { piecesOf } from './pieces.ts';
import { folderOf, type PlaceDeps } from './place-deps.ts';
import { createSums } from './sums.ts';

const name = 'Azure Blob Storage';
const blockBytes = 8 * 1024 * 1024;

interface Azure {
  readonly api: ExportApi;
  readonly sign: SignRequest;
}

/** Opens a container of Azure Blob Storage, for one export. Blobs are visible once they are complete. */
export function openAzurePlace(
  deps: PlaceDeps,
  id: string,
  destination: ExportDestination,
  { sas_token: sas = '', account_key: key = '' }: Readonly<Record<string, string>>,
): ExportPlace {
  const { account = '', container = '', endpoint = '' } = destination;
  const base = baseUrlOf(endpoint, 'endpoint', `https://${account}.blob.core.windows.net`);
  const { sign, secrets } = azureAccess({ account, sas, key, now: deps.now });
  const azure = { sign, api: createExportApi(deps, { name, secrets }) };
  const folder = folderOf(destination, id);
  const urlOf = (file: string): string =>
    `${base}/${container}/${`${folder}${file}`.split('/').map(encodeURIComponent).join('/')}`;
  return {
    write: (file, chunks, signal) => upload(azure, urlOf(file), chunks, signal),
    remove: async (files) => {
      const { signal } = new AbortController();
      for (const file of files) {
        await sent(azure, { url: urlOf(file), method: 'DELETE', headers: {}, accepted: [202, 404] }, signal);
      }
    },
    close: () => undefined,
  };
}

/** Puts blocks, which only the final list makes a blob: https://learn.microsoft.com/rest/api/storageservices/put-block-list */
async function upload(
  azure: Azure,
  url: string,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const sums = createSums();
  const ids: string[] = [];
  for await (const { bytes } of piecesOf(sums.passing(chunks), blockBytes)) {
    if (bytes.length === 0) continue;
    // All ids of a blob have the same length.
    const blockId = Buffer.from(String(ids.length).padStart(8, '0')).toString('base64');
    ids.push(blockId);
    const query = new URLSearchParams({ comp: 'block', blockid: blockId });
    await sent(
      azure,
      { url: `${url}?${query.toString()}`, method: 'PUT', headers: {}, body: bytes, accepted: [201] },
      signal,
    );
  }
  const list = ids.map((each) => `<Latest>${each}</Latest>`).join('');
  const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${list}</BlockList>`);
  await sent(azure, { url: `${url}?comp=blocklist`, method: 'PUT', headers: {}, body, accepted: [201] }, signal);
  return sums.found();
}

interface SentRequest extends AzureRequest {
  readonly method: string;
  readonly body?: Uint8Array;
  readonly accepted: readonly number[];
}

async function sent({ api, sign }: Azure, request: SentRequest, signal: AbortSignal): Promise<void> {
  const { method, body, accepted } = request;
  try {
    const signed = sign({ ...request, bytes: body?.length ?? 0 });
    const response = await api.ask({ ...signed, method, accepted, ...(body && { body }) }, signal);
    for await (const _ of response.body);
  } catch (error) {
    if (error instanceof SourceError)
      throw new ExportPlaceError(`${error.message}; start the export again`, { cause: error });
    throw error;
  }
}
