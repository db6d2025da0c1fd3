import { join } from 'node:path';
import { ApiError } from '../contract/errors.ts';
import {
  importFileListSchema,
  importFileNameSchema,
  importFileQuerySchema,
  importFileSchema,
  type ImportFileRecord,
} from '../contract/import-runs.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { requirePlaces, type ImportRouteDeps } from './import-runs-deps.ts';
import { fileNameOf, type ImportFiles, type StoredFile } from './import-upload-rules.ts';
import { createImportFiles, createUploads } from './import-uploads-store.ts';
import { createStagedImportFiles } from './staged-import-files.ts';

const path = '/api/projects/:project_id/import_files';
const tag = 'Import files';

/** Files that are brought to the service to be imported. */
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
      description: 'What runs have staged of it stays.',
      params: importFileNameSchema,
      responses: { 204: null },
      handler: async (request) => {
        const { name } = request.params;
        // A name that would be written another way is the name of no file.
        const removed = safeName(name) === name && (await filesOf(request).remove(name));
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
      'The bytes as application/octet-stream with `name`, or one file as multipart/form-data. A file of the same name is ' +
      'replaced. A large one, or a slow line: in pieces, each with the `offset` where it begins; a piece that does not ' +
      'arrive whole changes nothing.',
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
      const file = await files.write(fileNameOf(given), request.query.offset ?? 0, content);
      const location = `${request.url.replace(/\/$/, '')}/${file.name}/`;
      return { status: 201, body: toRecord(file, file.sha256), headers: { location } };
    },
  });
}

function safeName(name: string): string | undefined {
  try {
    return fileNameOf(name);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function toRecord({ name, bytes, changedAt }: StoredFile, sha256: string | null): ImportFileRecord {
  return { name, path: `upload:${name}`, bytes, sha256, uploaded_at: new Date(changedAt).toISOString() };
}
