import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { ApiError } from '../../wire/contract/errors.ts';
import { importReportQuerySchema, importRunIdSchema } from '../../wire/contract/import-runs.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { rejectedLines } from '../../imports/stages/report/read-results.ts';
import { makeReport } from '../../imports/stages/report/report-stage.ts';
import { reportPage, reportPolicy } from '../../imports/stages/report/report-page.ts';
import { readRunRows } from '../../imports/run/run-rows.ts';
import type { Run } from '../../imports/run/run.ts';
import { StagingMissingError, stagingKeys, type Staging } from '../../imports/staging.ts';
import {
  headOnly,
  requirePlaces,
  requireRun,
  runsBase,
  runsTag,
  type ImportRouteDeps,
  type RunParams,
} from './import-runs-deps.ts';
import { frontendForm } from './plugin-configs-accept.ts';

const ndjson = 'application/x-ndjson; charset=utf-8';
const json = 'application/json; charset=utf-8';

const common = { method: 'GET', scope: 'plugin:read', tag: runsTag, params: importRunIdSchema } as const;

/** Routes of the results of a run's stages. */
export function importRunResultRoutes(deps: ImportRouteDeps): ApiRoute[] {
  return [
    fileRoute(deps, 'preflight', 'Retrieve the preflight result of an import run', stagingKeys.preflight),
    fileRoute(deps, 'check', 'Retrieve the check result of an import run', stagingKeys.check),
    fileRoute(deps, 'verify', 'Retrieve the verification result of an import run', stagingKeys.verify),
    reportRoute(deps),
    rejectedRoute(deps),
  ];
}

function fileRoute(
  deps: ImportRouteDeps,
  name: 'preflight' | 'check' | 'verify',
  summary: string,
  keyOf: (run: string) => string,
): ApiRoute {
  return apiRoute({
    ...common,
    path: `${runsBase}/:run/${name}`,
    summary,
    description: `Returns 404 until the ${name === 'preflight' ? name : `stage ${name}`} is done.`,
    responses: { 200: Type.Object({ verdict: Type.String() }, { additionalProperties: true }) },
    handler: async (request) => {
      const { run, staging } = await runOf(deps, request);
      const stream = await openFile(staging, keyOf(run.id));
      if (stream === undefined) throw new ApiError('not_found', notYet(run, name));
      return { status: 200, body: stream, headers: { 'content-type': json } };
    },
  });
}

function notYet({ state, stage }: Run, name: string): string {
  return `${name} has no result yet: the run is ${state}, in the stage ${stage}.`;
}

function reportRoute(deps: ImportRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${runsBase}/:run/report`,
    summary: 'Retrieve the report of an import run',
    description:
      'Returns JSON, or with `Accept: text/html` or `format=html` a self-contained page. Before the last stage is done, the report is ' +
      'partial and marked as such.',
    query: importReportQuerySchema,
    mediaTypes: ['application/json', 'text/html'],
    responses: { 200: Type.Object({ verdict: Type.String() }, { additionalProperties: true }) },
    handler: async (request) => {
      const { run, staging } = await runOf(deps, request);
      const form = request.query.format ?? (frontendForm(request.headers['accept']) === 'page' ? 'html' : 'json');
      const headers = { vary: 'Accept', ...(form === 'html' ? pageHeaders(run) : { 'content-type': json }) };
      // A restarted stage leaves the report of the previous round.
      const isMade = run.state === 'undone' || (run.state === 'completed' && run.options.last === 'report');
      const stored = isMade ? await openFile(staging, stagingKeys.report(run.id, form)) : undefined;
      if (stored !== undefined) return { status: 200, body: stored, headers };
      const report = await makeReport({ staging, clock: deps.clock, run, rows: readRunRows(deps.db, run.id) });
      return { status: 200, body: form === 'html' ? reportPage(report) : report, headers };
    },
  });
}

/** The page may be of an earlier version; it runs no scripts and loads nothing, whatever it contains. */
function pageHeaders(run: Run): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `${reportPolicy}; frame-ancestors 'none'; sandbox`,
    'content-disposition': `inline; filename="import-${run.id.replaceAll(/[^\w-]/g, '')}.html"`,
    'referrer-policy': 'no-referrer',
  };
}

function rejectedRoute(deps: ImportRouteDeps): ApiRoute {
  return apiRoute({
    ...common,
    path: `${runsBase}/:run/rejected`,
    summary: 'List the rejected records of an import run',
    description:
      'Returns NDJSON, one object per line: `part` and `line` of the source (`place` if it has no lines), `stage`, `code`, ' +
      '`reason`, `original`. Empty if nothing was rejected.',
    mediaTypes: ['application/x-ndjson'],
    responses: { 200: Type.String() },
    handler: async (request) => {
      const { run, staging } = await runOf(deps, request);
      const headers = { 'content-type': ndjson };
      const body = Readable.from(rejectedLines(staging, run.id), { objectMode: false });
      return headOnly(request, ndjson) ?? { status: 200, body, headers };
    },
  });
}

async function runOf(
  deps: ImportRouteDeps,
  request: ApiRequest<RunParams>,
): Promise<{ readonly run: Run; readonly staging: Staging }> {
  const { staging } = requirePlaces(deps);
  return { run: await requireRun(deps.db, request.project().id, request.params), staging };
}

/** `undefined` if the file does not exist. Reads the first chunk here, so that a missing file does not break a response. */
async function openFile(staging: Staging, key: string): Promise<Readable | undefined> {
  const chunks = staging.read(key)[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    return Readable.from(withFirst(first, chunks), { objectMode: false });
  } catch (error) {
    if (error instanceof StagingMissingError) return undefined;
    throw error;
  }
}

async function* withFirst(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
