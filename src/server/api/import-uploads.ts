import { join } from 'node:path';
import type { Static } from 'typebox';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  importFileListSchema,
  importFileNameSchema,
  importFileQuerySchema,
  importFileSchema,
  type ImportFileRecord,
} from '../../wire/contract/import-runs.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { requirePlaces, type ImportRouteDeps } from './import-runs-deps.ts';
import { unfinishedSuffix } from '../../imports/unfinished-upload.ts';
import { fileNameOf, type ImportFiles, type StoredFile } from './import-upload-rules.ts';
import { createImportFiles, createUploads } from './import-uploads-store.ts';
import { createStagedImportFiles } from './staged-import-files.ts';

const path = '/api/projects/:project_id/import_files';
const tag = 'Import files';

/** Routes of files uploaded for imports. */
export function importUploadRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const uploads = createUploads();
  const filesOf = (request: ApiRequest): ImportFiles => {
    const { uploadsDir, staging, uploadBytesMax: fileBytesMax, uploadsBytesMax: totalBytesMax } = requirePlaces(deps);
    const { id: projectId } = request.project();
    const { db, clock } = deps;
    if (uploadsDir === undefined) {
      return createStagedImportFiles({ db, staging, projectId, fileBytesMax, totalBytesMax });
    }
    const dir = join(uploadsDir, String(projectId));
    return createImportFiles({ dir, fileBytesMax, totalBytesMax, clock, uploads });
  };
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'plugin:read',
      tag,
      summary: 'List uploaded files',
      description: 'By name.',
      responses: { 200: importFileListSchema },
      handler: async (request) => {
        const results = (await filesOf(request).list()).map((file) => toRecord(file, null));
        const { uploadBytesMax, uploadsBytesMax } = requirePlaces(deps);
        const total_bytes = results.reduce((sum, { bytes }) => sum + bytes, 0);
        const limits = { bytes_max: uploadBytesMax, total_bytes, total_bytes_max: uploadsBytesMax };
        return { status: 200, body: { count: results.length, ...limits, results } };
      },
    }),
    uploadRoute(filesOf),
    apiRoute({
      method: 'DELETE',
      path: `${path}/:name`,
      scope: 'plugin:write',
      tag,
      summary: 'Delete an uploaded file',
      description: 'Deletes the file. Records already staged by runs are kept.',
      params: importFileNameSchema,
      responses: { 204: null },
      handler: async (request) => {
        const { name } = request.params;
        // A name that is not in safe form is not the name of a file.
        const removed = safeName(name) === name && (await removeFile(filesOf(request), name));
        if (!removed) throw new ApiError('not_found', 'Not found.');
        return { status: 204 };
      },
    }),
  ];
}

function uploadRoute(filesOf: (request: ApiRequest) => ImportFiles): ApiRoute {
  return apiRoute({
    method: 'POST',
    path,
    scope: 'plugin:write',
    tag,
    summary: 'Upload a file to be imported',
    description:
      'Accepts the bytes as application/octet-stream with `name`, or one file as multipart/form-data. A file of the same name is ' +
      'replaced. A name with characters other than letters, digits, ".", "-" and "_" is changed: use the `path` of the response. ' +
      'Large files can be sent in pieces, each with its `offset`; an incomplete piece changes nothing. With `size`, imports do not ' +
      'read the file before it is complete.',
    query: importFileQuerySchema,
    takesUpload: true,
    responses: { 201: importFileSchema },
    handler: async (request) => {
      const files = filesOf(request);
      if (request.upload === undefined) throw new Error('expected a route that takes an upload');
      const { fileName, content } = await request.upload();
      const given = request.query.name ?? fileName;
      if (given === undefined || given === '') {
        throw new ApiError('required', 'Expected the name of the file: ?name=events.jsonl.gz.', { attr: 'name' });
      }
      const file = await writePiece(files, fileNameOf(given), request.query, content);
      const location = `${request.url.replace(/\/$/, '')}/${file.name}/`;
      return { status: 201, body: toRecord(file, file.sha256), headers: { location } };
    },
  });
}

type NewPiece = Pick<Static<typeof importFileQuerySchema>, 'offset' | 'size'>;
type WrittenFile = StoredFile & { readonly sha256: string };

/**
 * Writes a piece. A file with an announced size gets its name once it is complete. @throws ApiError invalid_input, conflict,
 * request_too_large
 */
async function writePiece(
  files: ImportFiles,
  name: string,
  { offset = 0, size }: NewPiece,
  content: AsyncIterable<Buffer>,
): Promise<WrittenFile> {
  if (size === undefined) return await files.write(name, offset, content);
  const unfinished = name + unfinishedSuffix;
  const file = await files.write(unfinished, offset, content);
  if (file.bytes < size) return file;
  if (file.bytes > size) {
    await files.remove(unfinished);
    const detail = `Expected pieces of ${size} bytes in total as in "size", got ${file.bytes}; upload the file again.`;
    throw new ApiError('invalid_input', detail, { attr: 'size' });
  }
  await files.rename(unfinished, name);
  return { ...file, name };
}

async function removeFile(files: ImportFiles, name: string): Promise<boolean> {
  const removed = [await files.remove(name), await files.remove(name + unfinishedSuffix)];
  return removed.includes(true);
}

function safeName(name: string): string | undefined {
  try {
    return fileNameOf(name);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function toRecord({ name: stored, bytes, changedAt }: StoredFile, sha256: string | null): ImportFileRecord {
  const complete = !stored.endsWith(unfinishedSuffix);
  const name = complete ? stored : stored.slice(0, -unfinishedSuffix.length);
  return { name, path: `upload:${name}`, bytes, complete, sha256, uploaded_at: new Date(changedAt).toISOString() };
}
