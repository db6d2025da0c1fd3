import {
  importRunCreateSchema,
  importRunIdSchema,
  importRunPageSchema,
  importRunQuerySchema,
  importRunResumeSchema,
  importRunSchema,
  importRunReportIdSchema,
  importRunReportSchema,
  importRunsQuerySchema,
  importRunsSchema,
  type ImportRunResume,
  type ImportRunsRecord,
} from '../../wire/contract/import-runs.ts';
import { importRunStates, type ImportRunState } from '../../wire/contract/import-run-states.ts';
import { pageOf, toPage, pageLimitDefault } from '../../wire/contract/pagination.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { apiRoute, type ApiReply, type ApiRoute, type Principal } from '../http/api-route.ts';
import { checkScope } from '../http/auth.ts';
import { refuseReplace } from '../../imports/run/refuse-replace.ts';
import { refuseRules } from '../../imports/run/run-settings.ts';
import { resumeChangesOf } from '../../imports/run/resume-changes.ts';
import { listRuns } from '../../imports/run/run-store.ts';
import { cancelRun, pauseRun, resumeRun, retryRejected, verifyAgain } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import { guarded, promoteRun, startRun, planRun } from '../../imports/run/steering.ts';
import type { Work } from '../../plugins/configs/save-changes.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  payloadOf,
  ownerOf,
  recordRun,
  requireOwner,
  requireRun,
  requireSource,
  runsBase,
  runsTag,
  commandLine,
  configsBase,
  requirePlaces,
  type ImportRouteDeps,
  type RunParams,
} from './import-runs-deps.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { importScheduleRoutes } from './import-schedules.ts';
import { importRunProgressRoutes } from './import-runs-progress.ts';
import { importRunResultRoutes } from './import-runs-results.ts';
import { importRunUndoRoutes } from './import-runs-undo.ts';
import { importUploadRoutes } from './import-uploads.ts';
import { changing } from './plugin-configs-deps.ts';
import { saveReport } from '../../imports/run/reported-runs.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { importPreflightSchema } from '../../wire/contract/import-preflight.ts';
import { atMost } from './at-most.ts';
import { previewReply, previewSignal } from './preview-answer.ts';
import { isUuid } from '../../stores/events/cursor.ts';
import { countRunsByState, listRunsBefore, namesOfConfigs } from '../../imports/run/list-runs.ts';
import { nextUrl } from './next-url.ts';

/** Routes that start, control and read runs of import apps, and of uploaded files. */
export function importRunRoutes(deps: ImportRouteDeps): ApiRoute[] {
  return [
    ...collectionRoutes(deps),
    ...steeringRoutes(deps),
    ...importPreflightRoutes(deps),
    ...importRunUndoRoutes(deps),
    ...importRunResultRoutes(deps),
    ...importRunProgressRoutes(deps),
    ...importUploadRoutes(deps),
    ...projectRunRoutes(deps),
    ...reportedRunRoutes(deps),
    ...importScheduleRoutes(deps),
  ];
}

function collectionRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const { db, clock, registry } = deps;
  return [
    apiRoute({
      method: 'GET',
      path: runsBase,
      scope: 'plugin:read',
      tag: runsTag,
      summary: 'List import runs',
      description: 'Returns runs newest first. Config 0 has those of the command line.',
      params: pluginConfigIdSchema,
      query: importRunQuerySchema,
      responses: { 200: importRunPageSchema },
      handler: async (request) => {
        const { id } = request.params;
        const projectId = request.project().id;
        await requireOwner({ tx: db, projectId, now: clock.now() }, id);
        const { state } = request.query;
        const page = pageOf(request.query);
        const of = { projectId, configId: id, states: state === undefined ? undefined : [state] };
        const { count, runs } = await listRuns(db, of, page);
        const records = runs.map((run) => toRunRecord(run, clock.now()));
        return { status: 200, body: toPage(request.url, request.rawQuery, page, count, records) };
      },
    }),
    apiRoute({
      method: 'POST',
      path: runsBase,
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Start an import run',
      description:
        'Runs export, check, load, verify and report: with `last: check` up to the check, with `limit` as a trial. With `replace`, ' +
        'earlier runs are undone between check and load; the check result lists what would be undone. Omitted fields default to ' +
        "the config's settings. Honours Idempotency-Key.",
      params: pluginConfigIdSchema,
      body: importRunCreateSchema,
      responses: { 201: importRunSchema },
      handler: changing(deps, async (work, { params, body, url, principal }) => {
        const { config, source } = await requireSource(registry, work, params.id);
        const payload = payloadOf(body);
        mayReplace(principal, payload);
        const run = await startRun(source, { tx: work.tx, config, payload, now: work.now });
        await recordRun(work, ownerOf(config), 'run', run);
        return created(run, `${url.replace(/\/$/, '')}/${run.id}/`, work.now);
      }),
    }),
    apiRoute({
      method: 'GET',
      path: `${runsBase}/:run`,
      scope: 'plugin:read',
      tag: runsTag,
      summary: 'Retrieve an import run',
      description: 'Returns state, stages with progress, and totals, without secrets.',
      params: importRunIdSchema,
      responses: { 200: importRunSchema },
      handler: async (request) => {
        const run = await requireRun(db, request.project().id, request.params);
        return { status: 200, body: toRunRecord(run, clock.now()) };
      },
    }),
  ];
}

/** Starting a run does not imply permission to undo others. */
function mayReplace(principal: Principal, { replace }: { readonly replace?: unknown }): void {
  if (replace !== undefined && replace !== false) checkScope(principal, 'import_undo:write');
}

function resumeOf(body: ImportRunResume): JsonObject {
  const { rejected_max, events_per_second, last, again, replace, rules } = body;
  const given = Object.entries({ rejected_max, events_per_second, last, again, replace, rules });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as JsonObject;
}

function created(run: Run, location: string, now: number): ApiReply {
  return { status: 201, body: toRunRecord(run, now), headers: { location } };
}

interface Steering {
  readonly verb: string;
  /** Name in the activity log. */
  readonly job: string;
  readonly summary: string;
  readonly description: string;
  readonly act: (work: Work, run: Run) => Promise<Run>;
}

const steerings: readonly Steering[] = [
  {
    verb: 'pause',
    job: 'pause',
    summary: 'Pause an import run',
    description: 'Stops the run within a second without losing progress. Honours Idempotency-Key.',
    act: ({ tx }, { id }) => pauseRun(tx, id),
  },
  {
    verb: 'cancel',
    job: 'cancel',
    summary: 'Cancel an import run',
    description: 'Cancels the run permanently. Loaded events are kept. Honours Idempotency-Key.',
    act: ({ tx, now }, { id }) => cancelRun(tx, id, now),
  },
  {
    verb: 'retry_rejected',
    job: 'retry_rejected',
    summary: 'Retry the rejected records of an import run',
    description:
      'Checks and loads a completed run again from its staged records: rejected records that are now accepted are loaded; stored ' +
      'events are not sent again. Honours Idempotency-Key.',
    act: ({ tx }, { id }) => retryRejected(tx, id),
  },
  {
    verb: 'verify',
    job: 'verify',
    summary: 'Verify an import run again',
    description:
      'Compares stored events with the staged records of a completed run again, and rebuilds the report. Honours ' +
      'Idempotency-Key.',
    act: ({ tx }, { id }) => verifyAgain(tx, id),
  },
];

function steeringRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const { registry } = deps;
  const common = { method: 'POST', scope: 'plugin:write', tag: runsTag, params: importRunIdSchema } as const;
  const steer = async (work: Work, params: RunParams, job: string, act: Steering['act']): Promise<ApiReply> => {
    const owner = await requireOwner(work, params.id);
    const run = await requireRun(work.tx, work.projectId, params);
    const steered = await guarded(() => act(work, run));
    await recordRun(work, owner, job, steered);
    return { status: 200, body: toRunRecord(steered, work.now) };
  };
  const simple = steerings.map(({ verb, job, summary, description, act }) =>
    apiRoute({
      ...common,
      path: `${runsBase}/:run/${verb}`,
      summary,
      description,
      responses: { 200: importRunSchema },
      handler: changing(deps, (work, { params }) => steer(work, params, job, act)),
    }),
  );
  return [
    ...simple,
    apiRoute({
      ...common,
      path: `${runsBase}/:run/resume`,
      summary: 'Resume an import run',
      description:
        'Resumes a paused or failed run where it stopped; a run with `last: check` continues with the load. The body may change the ' +
        'share of rejected records, the speed and the last stage, and decide about earlier runs of the same records (`again`, ' +
        '`replace`). `replace` and `rules` repeat the check with the staged records, without reading the source again. Honours ' +
        'Idempotency-Key.',
      body: importRunResumeSchema,
      responses: { 200: importRunSchema },
      handler: changing(deps, (work, { params, body, principal }) => {
        const changes = resumeChangesOf(resumeOf(body));
        mayReplace(principal, changes);
        return steer(work, params, 'resume', async ({ tx, projectId }, run) => {
          await refuseReplace(tx, { projectId, run }, changes.replace);
          refuseRules(run.options, changes.rules);
          return resumeRun(tx, run.id, changes);
        });
      }),
    }),
    apiRoute({
      ...common,
      path: `${runsBase}/:run/promote`,
      summary: 'Promote a trial to the full run',
      description:
        'Starts a run that reads the records as the trial did, without its limit. Target and speed come from the current settings, so ' +
        'the trial may have used a test project. Once per trial. Honours Idempotency-Key.',
      responses: { 201: importRunSchema },
      handler: changing(deps, async (work, { params, url }) => {
        const { config, source } = await requireSource(registry, work, params.id);
        const trial = await requireRun(work.tx, work.projectId, params);
        const run = await promoteRun(source, { tx: work.tx, config, trial, now: work.now });
        await recordRun(work, ownerOf(config), 'promote', run);
        return created(run, url.replace(/\/[^/]+\/promote\/?$/, `/${run.id}/`), work.now);
      }),
    }),
  ];
}

/** Routes of command-line runs: their events are stored here, and the command reports progress. */
function reportedRunRoutes(deps: ImportRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'PUT',
      path: '/api/projects/:project_id/import_runs/:run',
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Report an import run of the command line',
      description:
        'Registers a run of `millrace import`, which reports its progress every few seconds: it is listed with config 0 and can be ' +
        'undone by its id. Repeating a report changes nothing. Without a report for a minute, the run counts as paused. The response ' +
        'is the current run: one that was paused, cancelled or undone here stays so, whatever is reported. Only a report with ' +
        '`begin` resumes a paused run; for a cancelled or undone one it returns 409.',
      params: importRunReportIdSchema,
      body: importRunReportSchema,
      responses: { 200: importRunSchema, 201: importRunSchema },
      handler: changing(deps, async (work, { params, body }) => {
        const { tx, projectId } = work;
        const now = await readDatabaseTime(tx);
        const { run, isNew } = await saveReport(tx, { id: params.run, projectId, report: body, now });
        if (body.begin === true) await recordRun(work, commandLine, isNew ? 'run' : 'resume', run);
        return { status: isNew ? 201 : 200, body: toRunRecord(run, work.now) };
      }),
    }),
  ];
}

/** Each reads a source in a separate process. */
const atOnceMax = 4;

/** Route of preflights, before a run exists. */
function importPreflightRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const { db, clock, registry } = deps;
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      method: 'POST',
      path: `${configsBase}/:id/preflight`,
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Run the preflight of an import',
      description:
        'Checks target, keys and scopes, agreement, clock, disk and the first records of the source in parallel within 3 s. Creates no ' +
        'run, and fetches and sends nothing. The body is that of a run. Every run starts with the same checks, unless it is created ' +
        'with `preflight: false`.',
      params: pluginConfigIdSchema,
      body: importRunCreateSchema,
      responses: { 200: importPreflightSchema },
      handler: async ({ project, params, body, stopping, gone }) => {
        const { preflight } = requirePlaces(deps);
        if (preflight === undefined) {
          throw new ApiError('unavailable', 'This process cannot read sources; use one that runs imports.');
        }
        const projectId = project().id;
        const now = clock.now();
        const { config, source } = await requireSource(registry, { tx: db, projectId, now }, params.id);
        const plan = await planRun(source, { tx: db, config, payload: payloadOf(body), now });
        const order = { ...plan, projectId, configId: config.id };
        const signal = previewSignal({ stopping, gone });
        return limited(async () => previewReply(await preflight(order, signal), config));
      },
    }),
  ];
}

/** Routes of runs across the configs of a project. */
function projectRunRoutes({ db, clock }: Pick<ImportRouteDeps, 'db' | 'clock'>): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/import_runs',
      scope: 'plugin:read',
      tag: runsTag,
      summary: 'List the import runs of a project',
      description: 'Returns runs of all import apps, newest first. Follow `next` for older ones.',
      query: importRunsQuerySchema,
      responses: { 200: importRunsSchema },
      handler: async (request) => {
        const { state, plugin_config: configId, source, limit = pageLimitDefault, cursor } = request.query;
        const of = { projectId: request.project().id, configId, source };
        const states = state === undefined ? undefined : readStates(state);
        const page = { limit: limit + 1, before: readCursor(cursor) };
        const found = await listRunsBefore(db, { ...of, states }, page);
        const runs = found.slice(0, limit);
        const [byState, names] = await Promise.all([countRunsByState(db, of), namesOfConfigs(db, runs)]);
        const last = found.length > limit ? runs.at(-1) : undefined;
        const body: ImportRunsRecord = {
          next: last === undefined ? null : nextUrl(request, last.id),
          previous: null,
          by_state: byState,
          results: runs.map((run) => Object.assign(toRunRecord(run, clock.now()), { config_name: nameOf(run, names) })),
        };
        return { status: 200, body };
      },
    }),
  ];
}

function nameOf({ configId, options }: Run, names: ReadonlyMap<number, string>): string | null {
  return configId === commandLine.id ? (options.name ?? commandLine.shown) : (names.get(configId) ?? null);
}

function readStates(text: string): ImportRunState[] {
  return text.split(',').map((part) => {
    const found = importRunStates.find((state) => state === part);
    if (found !== undefined) return found;
    const detail = `Expected a comma-separated list of ${importRunStates.join(', ')}.`;
    throw new ApiError('invalid_input', detail, { attr: 'state' });
  });
}

function readCursor(text: string | undefined): string | undefined {
  if (text === undefined || isUuid(text)) return text;
  throw new ApiError('invalid_input', 'Expected a cursor from a `next` link.', { attr: 'cursor' });
}
