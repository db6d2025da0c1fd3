import {
  importRunCreateSchema,
  importRunIdSchema,
  importRunPageSchema,
  importRunQuerySchema,
  importRunResumeSchema,
  importRunSchema,
  type ImportRunResume,
} from '../../wire/contract/import-runs.ts';
import { pageOf, toPage } from '../../wire/contract/pagination.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { apiRoute, type ApiReply, type ApiRoute, type Principal } from '../http/api-route.ts';
import { checkScope } from '../http/auth.ts';
import { refuseReplace } from '../../imports/run/refuse-replace.ts';
import { resumeChangesOf } from '../../imports/run/resume-changes.ts';
import { listRuns } from '../../imports/run/run-store.ts';
import { cancelRun, pauseRun, resumeRun, retryRejected, verifyAgain } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import { guarded, promoteRun, startRun } from '../../imports/run/steering.ts';
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
  type ImportRouteDeps,
  type RunParams,
} from './import-runs-deps.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { importPreflightRoutes } from './import-preflight.ts';
import { importScheduleRoutes } from './import-schedules.ts';
import { projectRunRoutes } from './import-runs-of-project.ts';
import { importRunProgressRoutes } from './import-runs-progress.ts';
import { reportedRunRoutes } from './import-runs-reported.ts';
import { importRunResultRoutes } from './import-runs-results.ts';
import { importRunUndoRoutes } from './import-runs-undo.ts';
import { importUploadRoutes } from './import-uploads.ts';
import { changing } from './plugin-configs-deps.ts';

/** Runs of import apps: to start, to steer and to look at; and the files that are uploaded for them. */
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
      description: 'Newest first. Config 0: those of the command line.',
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
        'Export, check, load, verify, report; with `last: check` up to the check, with `limit` as a trial; with `replace` ' +
        'earlier runs are taken back between check and load, and the result of the check says what that would be. What is ' +
        "left out is as the config's settings say. Honours Idempotency-Key.",
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
      description: 'State, stages with their progress, totals. Secrets are not in it.',
      params: importRunIdSchema,
      responses: { 200: importRunSchema },
      handler: async (request) => {
        const run = await requireRun(db, request.project().id, request.params);
        return { status: 200, body: toRunRecord(run, clock.now()) };
      },
    }),
  ];
}

/** Whoever may start a run may not yet take back what others stored. */
function mayReplace(principal: Principal, { replace }: { readonly replace?: unknown }): void {
  if (replace !== undefined && replace !== false) checkScope(principal, 'import_undo:write');
}

function resumeOf(body: ImportRunResume): JsonObject {
  const { rejected_max, events_per_second, last, again, replace } = body;
  const given = Object.entries({ rejected_max, events_per_second, last, again, replace });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as JsonObject;
}

function created(run: Run, location: string, now: number): ApiReply {
  return { status: 201, body: toRunRecord(run, now), headers: { location } };
}

interface Steering {
  readonly verb: string;
  /** As the activity log names it. */
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
    description: 'Whoever works on it stops within a second; nothing is lost. Honours Idempotency-Key.',
    act: ({ tx }, { id }) => pauseRun(tx, id),
  },
  {
    verb: 'cancel',
    job: 'cancel',
    summary: 'Cancel an import run',
    description: 'For good; what was loaded stays. Honours Idempotency-Key.',
    act: ({ tx, now }, { id }) => cancelRun(tx, id, now),
  },
  {
    verb: 'retry_rejected',
    job: 'retry_rejected',
    summary: 'Try the rejected records of an import run again',
    description:
      'A completed run is checked and loaded anew from what is staged: rejected records get in where they now can, ' +
      'what the target has is not sent again. Honours Idempotency-Key.',
    act: ({ tx }, { id }) => retryRejected(tx, id),
  },
  {
    verb: 'verify',
    job: 'verify',
    summary: 'Verify an import run again',
    description:
      'What is stored is compared once more with what a completed run has staged, and the report is made anew. Honours ' +
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
        'A paused or failed run goes on where it was; one that was to be checked only goes on with the load. The body ' +
        'may change how many records may be rejected, the speed and the last stage, and say what becomes of earlier runs of ' +
        'the same records (`again`, `replace`; the latter has the records checked once more). Honours Idempotency-Key.',
      body: importRunResumeSchema,
      responses: { 200: importRunSchema },
      handler: changing(deps, (work, { params, body, principal }) => {
        const changes = resumeChangesOf(resumeOf(body));
        mayReplace(principal, changes);
        return steer(work, params, 'resume', async ({ tx, projectId }, run) => {
          await refuseReplace(tx, { projectId, run }, changes.replace);
          return resumeRun(tx, run.id, changes);
        });
      }),
    }),
    apiRoute({
      ...common,
      path: `${runsBase}/:run/promote`,
      summary: 'Promote a trial to the full run',
      description:
        'Starts a run that reads the records as the trial did, without its limit; target and speed are as the settings ' +
        'say now, so that a trial may have gone to a test project. Once per trial. Honours Idempotency-Key.',
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
