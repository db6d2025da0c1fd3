import { Readable } from 'node:stream';
import { Type } from 'typebox';
import {
  exportEstimateSchema,
  exportFileParamsSchema,
  exportStartSchema,
  exportTaskSchemas,
  manifestName,
  rowsPerPartDefault,
  type ExportProgress,
  type ExportSpec,
  type ExportStart,
} from '../../wire/contract/exports.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import type { Staging } from '../../imports/staging.ts';
import { deleteTask, findTask } from '../../queue/tasks/task-store.ts';
import type { Task } from '../../queue/tasks/task.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { estimateExport } from '../../stores/export/estimate-export.ts';
import { exportKindName } from '../../stores/export/run-export.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { readSelection } from './event-selection.ts';
import { fromStore } from './events.ts';
import { readDestination } from './export-destination.ts';
import { headOnly } from './import-runs-deps.ts';
import { readRange } from './read-range.ts';
import { taskRoutes, toTaskRecord, type TaskRouteDeps } from './task-routes.ts';

export interface ExportRouteDeps extends TaskRouteDeps {
  readonly store: EventStore;
  /** Files of exports. `undefined` if this process has none. */
  readonly exports?: Staging | undefined;
}

const path = '/api/projects/:project_id/exports';
const tag = 'Exports';
const params = Type.Object({ id: Type.String({ description: 'Id of the export.' }) });
/** Exports of a project that have not ended. */
const openMax = 5;

/** Routes of exports. */
export function exportRoutes(deps: ExportRouteDeps): ApiRoute[] {
  return [
    ...taskRoutes(deps, {
      kind: exportKindName,
      path: 'exports',
      tag,
      scope: 'export',
      activityScope: 'Export',
      noun: 'export',
      plural: 'exports',
      startDescription:
        'Writes events, persons and groups to files, in parts, with a manifest that is written last. Contains what was acknowledged ' +
        'before the start and nothing received later. A key with this scope reads all events, persons and groups of its projects. ',
      body: exportStartSchema,
      schemas: exportTaskSchemas,
      openMax,
      prepare: ({ body }) => prepare(body),
    }),
    estimateRoute(deps),
    fileRoute(deps),
    deleteRoute(deps),
  ];
}

function prepare(body: ExportStart): { readonly spec: ExportSpec; readonly secrets: Readonly<Record<string, string>> } {
  const { destination, secrets } = readDestination(body.destination ?? { kind: 'service' });
  const format = body.format ?? 'ndjson';
  const spec: ExportSpec = {
    tables: body.tables ?? ['events'],
    selection: readSelection(body.selection ?? {}),
    format,
    shape: body.shape ?? 'millrace',
    compression: body.compression ?? (format === 'parquet' ? 'zstd' : 'gzip'),
    rows_per_part: body.rows_per_part ?? rowsPerPartDefault,
    destination,
  };
  return { spec, secrets };
}

function estimateRoute({ db, store, clock }: ExportRouteDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    scope: 'export:read',
    tag,
    path: `${path}/estimate`,
    summary: 'Count what an export would contain',
    description: 'Takes the same body as the start, and starts nothing.',
    body: exportStartSchema,
    keepsDigits: true,
    responses: { 200: exportEstimateSchema },
    handler: async (request: ApiRequest<unknown, unknown, ExportStart>) => {
      const { tables = ['events'], selection = {} } = request.body;
      const of = { projectId: request.project().id, tables, selection: readSelection(selection) };
      return { status: 200, body: await fromStore(() => estimateExport({ db, store, now: clock.now() }, of)) };
    },
  });
}

function fileRoute(deps: ExportRouteDeps): ApiRoute {
  return apiRoute({
    method: 'GET',
    scope: 'export:read',
    tag,
    path: `${path}/:id/files/:name`,
    summary: 'Download a file of an export',
    description:
      'Returns a part, or `manifest.json` of an export that is done. Honours a `Range` header with one range of bytes. Files are ' +
      'removed some days after the export has ended.',
    params: exportFileParamsSchema,
    mediaTypes: ['application/octet-stream', 'application/json'],
    responses: { 200: Type.String(), 206: Type.String() },
    responseHeaders: { 'content-range': 'The range that was sent, and the size of the file.' },
    handler: async (request) => {
      const task = await findExport(deps, request, request.params.id);
      const { name } = request.params;
      const storage = requireStorage(deps);
      const bytes = await sizeOf(storage, task, name);
      return sendFile(request, { storage, key: `${task.id}/${name}`, name, bytes });
    },
  });
}

/** @throws ApiError not_found, which says why there is no such file */
async function sizeOf(storage: Staging, task: Task, name: string): Promise<number> {
  const { destination } = task.spec as ExportSpec;
  if (destination.kind !== 'service') {
    throw new ApiError('not_found', 'The files of this export were sent to its destination and are not kept here.');
  }
  const parts = (task.progress as ExportProgress | undefined)?.parts ?? [];
  if (name !== manifestName && !parts.some((part) => part.name === name)) throw new ApiError('not_found', 'Not found.');
  if (name === manifestName && task.state !== 'done') {
    throw new ApiError('not_found', `The manifest is written last; this export is ${task.state}.`);
  }
  const found = (await storage.list(`${task.id}/${name}`)).find(({ key }) => key === `${task.id}/${name}`);
  if (found !== undefined) return found.bytes;
  throw new ApiError('not_found', 'The files of this export were removed because of their age. Start it again.');
}

interface StoredFile {
  readonly storage: Staging;
  readonly key: string;
  readonly name: string;
  readonly bytes: number;
}

function sendFile(request: ApiRequest, { storage, key, name, bytes }: StoredFile): ApiReply {
  const type = name === manifestName ? 'application/json' : 'application/octet-stream';
  const range = readRange(request.headers['range'], bytes);
  const common = {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'accept-ranges': 'bytes',
  };
  if (range === 'unsatisfiable') {
    return { status: 416, headers: { ...common, 'content-range': `bytes */${bytes}` } };
  }
  const { start, end } = range ?? { start: 0, end: bytes };
  const headers = {
    ...common,
    'content-length': String(end - start),
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${bytes}` }),
  };
  const head = headOnly(request, type);
  if (head !== undefined) return { ...head, headers: { ...head.headers, ...headers } };
  const body = Readable.from(storage.read(key, { start, end }), { objectMode: false });
  return { status: range === undefined ? 200 : 206, headers, body };
}

function deleteRoute(deps: ExportRouteDeps): ApiRoute {
  const { db, clock } = deps;
  return apiRoute({
    method: 'DELETE',
    scope: 'export:write',
    tag,
    path: `${path}/:id`,
    summary: 'Delete an export and its files',
    description: 'Only exports that have ended. Files that were sent to a bucket stay there.',
    params,
    responses: { 204: null },
    handler: async (request) => {
      const task = await findExport(deps, request, request.params.id);
      if (task.state === 'queued' || task.state === 'running') {
        throw new ApiError(
          'conflict',
          `Expected an export that has ended, got one that is ${task.state}. Cancel it first.`,
        );
      }
      if ((task.spec as ExportSpec).destination.kind === 'service') await requireStorage(deps).remove(`${task.id}/`);
      await db.transaction().execute(async (tx) => {
        await deleteTask(tx, task);
        const { progress: _, ...before } = toTaskRecord(task);
        await recordChange(tx, actorOf(request), {
          scope: 'Export',
          projectId: task.projectId,
          activity: 'deleted',
          itemId: task.id,
          name: 'export',
          before,
          now: clock.now(),
        });
      });
      return { status: 204 };
    },
  });
}

/** @throws ApiError not_found */
async function findExport({ db }: ExportRouteDeps, request: ApiRequest, id: string): Promise<Task> {
  return orNotFound(await findTask(db, { projectId: request.project().id, kind: exportKindName }, id));
}

/** @throws ApiError unavailable */
function requireStorage({ exports }: ExportRouteDeps): Staging {
  if (exports !== undefined) return exports;
  throw new ApiError('unavailable', 'This process does not store exports; send the request to one that does.');
}
