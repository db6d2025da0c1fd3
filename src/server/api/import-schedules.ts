import { isoMicros } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { overlapMinutesDefault } from '../../wire/contract/import-schedule-limits.ts';
import {
  importSchedulePageSchema,
  importScheduleSchema,
  importScheduleSetSchema,
  importScheduleUpdateSchema,
  type ImportScheduleRecord,
  type ImportScheduleSet,
} from '../../wire/contract/import-schedules.ts';
import { importRunSchema } from '../../wire/contract/import-runs.ts';
import { pageOf, pageQuerySchema, toPage } from '../../wire/contract/pagination.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { latestRun } from '../../imports/run/latest-runs.ts';
import { namesOfConfigs } from '../../imports/run/list-runs.ts';
import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import { refuseTimeless, settleRun, startWindow, zoneOf } from '../../imports/schedules/advance.ts';
import {
  deleteSchedule,
  listSchedules,
  findSchedule,
  lockSchedule,
  saveSchedule,
  type Schedule,
} from '../../imports/schedules/schedule.ts';
import { nextDue, type Timing } from '../../imports/schedules/timing.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { shownName } from '../../plugins/configs/config-record.ts';
import type { Work } from '../../plugins/configs/save-changes.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { configsBase, family, ownerOf, recordRun, requireSource, type ImportRouteDeps } from './import-runs-deps.ts';
import { changing, requireConfig } from './plugin-configs-deps.ts';

const tag = 'Import schedules';
const path = `${configsBase}/:id/schedule`;

/** Routes of the schedules of import apps. */
export function importScheduleRoutes(deps: ImportRouteDeps): ApiRoute[] {
  return [...readRoutes(deps), setRoute(deps), ...changeRoutes(deps), runRoute(deps)];
}

function readRoutes({ db, clock }: ImportRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/import_schedules',
      scope: 'plugin:read',
      tag,
      summary: 'List the schedules of import apps',
      query: pageQuerySchema,
      responses: { 200: importSchedulePageSchema },
      handler: async ({ project, query, url, rawQuery }) => {
        const page = pageOf(query);
        const { count, schedules } = await listSchedules(db, project().id, page);
        return { status: 200, body: toPage(url, rawQuery, page, count, await toRecords(db, schedules)) };
      },
    }),
    apiRoute({
      method: 'GET',
      path,
      scope: 'plugin:read',
      tag,
      summary: 'Retrieve the schedule of an import app',
      params: pluginConfigIdSchema,
      responses: { 200: importScheduleSchema },
      handler: async ({ project, params: { id } }) => {
        await requireConfig(db, { projectId: project().id, family, id, now: clock.now() });
        return { status: 200, body: await toRecord(db, orNotFound(await findSchedule(db, id))) };
      },
    }),
  ];
}

function setRoute(deps: ImportRouteDeps): ApiRoute {
  return apiRoute({
    method: 'PUT',
    path,
    scope: 'plugin:write',
    tag,
    summary: 'Set the schedule of an import app',
    description:
      'Each run covers what is new since the last completed one. Only for sources that can be queried by time. Omitted fields are ' +
      'reset to their defaults, except `from`. Honours Idempotency-Key.',
    params: pluginConfigIdSchema,
    body: importScheduleSetSchema,
    responses: { 200: importScheduleSchema },
    handler: changing(deps, async (work, { params, body }) => {
      const { config, source } = await requireSource(deps.registry, work, params.id);
      refuseTimeless(source);
      const before = await lockSchedule(work.tx, config.id);
      const after = await scheduleOf(work, config.id, body, before);
      await saveSchedule(work.tx, after);
      await record(work, config, {
        activity: before === undefined ? 'schedule_created' : 'schedule_updated',
        before,
        after,
      });
      return { status: 200, body: await toRecord(work.tx, after) };
    }),
  });
}

function changeRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const common = { path, scope: 'plugin:write', tag, params: pluginConfigIdSchema } as const;
  return [
    apiRoute({
      ...common,
      method: 'PATCH',
      summary: 'Pause or resume the schedule of an import app',
      description: 'A current run continues; pause it separately. Honours Idempotency-Key.',
      body: importScheduleUpdateSchema,
      responses: { 200: importScheduleSchema },
      handler: changing(deps, async (work, { params, body: { paused } }) => {
        const { config, schedule: before } = await requireSchedule(work, params.id);
        const after = { ...before, paused, updatedAt: isoMicros(work.now) };
        await saveSchedule(work.tx, after);
        await record(work, config, { activity: paused ? 'schedule_paused' : 'schedule_resumed', before, after });
        return { status: 200, body: await toRecord(work.tx, after) };
      }),
    }),
    apiRoute({
      ...common,
      method: 'DELETE',
      summary: 'Delete the schedule of an import app',
      description: 'A current run continues, and imported events are kept.',
      responses: { 204: null },
      handler: changing(deps, async (work, { params }) => {
        const { config, schedule: before } = await requireSchedule(work, params.id);
        await deleteSchedule(work.tx, config.id);
        await record(work, config, { activity: 'schedule_deleted', before });
        return { status: 204 };
      }),
    }),
  ];
}

function runRoute(deps: ImportRouteDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: `${path}/run`,
    scope: 'plugin:write',
    tag,
    summary: 'Start the next run of a schedule now',
    description:
      'Imports what is new up to now, even if the schedule is paused. One run at a time. Honours Idempotency-Key.',
    params: pluginConfigIdSchema,
    responses: { 201: importRunSchema },
    handler: changing(deps, async (work, { params, url }) => {
      const { tx } = work;
      const { config, source } = await requireSource(deps.registry, work, params.id);
      const schedule = await settleRun(tx, (await requireSchedule(work, params.id)).schedule);
      if (schedule.run !== null) {
        throw new ApiError('conflict', `Run ${schedule.run.id} of the schedule has not ended: cancel it or wait.`);
      }
      const now = await readDatabaseTime(tx);
      if (schedule.coveredTo >= now)
        throw new ApiError('conflict', 'The schedule starts later: there is nothing to import yet.');
      const { run, started } = await startWindow(tx, { schedule, config, source, to: now, now });
      await saveSchedule(tx, { ...schedule, run, error: '' });
      await recordRun(work, ownerOf(config), 'run', started);
      const location = `${url.replace(/\/schedule\/run\/?$/, '')}/runs/${started.id}/`;
      return { status: 201, body: toRunRecord(started, now), headers: { location } };
    }),
  });
}

async function requireSchedule(
  work: Work,
  id: number,
): Promise<{ readonly config: StoredConfig; readonly schedule: Schedule }> {
  const config = await requireConfig(work.tx, { ...work, family, id });
  return { config, schedule: orNotFound(await lockSchedule(work.tx, config.id)) };
}

/** Combines the request with the progress of the existing schedule. */
async function scheduleOf(
  { tx, projectId, now: here }: Work,
  configId: number,
  body: ImportScheduleSet,
  before: Schedule | undefined,
): Promise<Schedule> {
  const timing = timingOf(body);
  const now = await readDatabaseTime(tx);
  const time = isoMicros(here);
  const given = body.from === undefined ? undefined : timeOf(body.from);
  return {
    configId,
    projectId,
    timing,
    overlapMinutes: body.overlap_minutes ?? overlapMinutesDefault,
    paused: body.paused ?? false,
    beginsAt: given ?? before?.beginsAt ?? now,
    coveredTo: given ?? before?.coveredTo ?? now,
    dueAt: nextDue(timing, now, await zoneOf(tx, projectId)),
    run: runBefore(before, given),
    error: '',
    createdAt: before?.createdAt ?? time,
    updatedAt: time,
  };
}

/** A run started before covers nothing of a schedule that is reset. */
function runBefore(before: Schedule | undefined, given: number | undefined): Schedule['run'] {
  const run = before?.run ?? null;
  return run === null || given === undefined ? run : { ...run, to: Math.min(run.to, given) };
}

function timingOf({ every_minutes: everyMinutes, daily_at: dailyAt }: ImportScheduleSet): Timing {
  if (everyMinutes !== undefined && dailyAt === undefined) return { everyMinutes };
  if (dailyAt !== undefined && everyMinutes === undefined) return { dailyAt };
  throw new ApiError('invalid_input', 'Expected either every_minutes or daily_at.', { attr: 'every_minutes' });
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time) && /^\d{4}-/.test(text)) return time;
  throw new ApiError('invalid_input', 'Expected a time in ISO 8601, such as 2026-01-31T00:00:00Z.', { attr: 'from' });
}

async function toRecord(db: Queries, schedule: Schedule): Promise<ImportScheduleRecord> {
  const names = await namesOfConfigs(db, [schedule]);
  const { run, projectId, configId } = schedule;
  const [own, last] = await Promise.all([run && getRun(db, run.id), latestRun(db, { projectId, configId })]);
  return recordOf(schedule, { name: names.get(configId) ?? '', own: own ?? undefined, last });
}

async function toRecords(db: Queries, schedules: readonly Schedule[]): Promise<ImportScheduleRecord[]> {
  return Promise.all(schedules.map((schedule) => toRecord(db, schedule)));
}

interface OfSchedule {
  readonly name: string;
  /** Its current run. */
  readonly own: Run | undefined;
  readonly last: Run | undefined;
}

function recordOf(schedule: Schedule, { name, own, last }: OfSchedule): ImportScheduleRecord {
  const { timing, run } = schedule;
  return {
    plugin_config: schedule.configId,
    config_name: name,
    every_minutes: 'everyMinutes' in timing ? timing.everyMinutes : null,
    daily_at: 'dailyAt' in timing ? timing.dailyAt : null,
    overlap_minutes: schedule.overlapMinutes,
    paused: schedule.paused,
    covered_to: isoMicros(schedule.coveredTo),
    next_at: schedule.paused ? null : isoMicros(schedule.dueAt),
    run: run?.id ?? null,
    run_state: own?.state ?? null,
    last_run: last === undefined ? null : lastRunOf(last),
    error: schedule.error,
    created_at: schedule.createdAt,
    updated_at: schedule.updatedAt,
  };
}

function lastRunOf({ id, state, options, createdAt, finishedAt }: Run): ImportScheduleRecord['last_run'] {
  const times = { created_at: isoMicros(createdAt), finished_at: finishedAt === null ? null : isoMicros(finishedAt) };
  return { id, state, scheduled: options.scheduled ?? false, ...times };
}

async function record(
  { tx, actor, projectId, now }: Work,
  config: StoredConfig,
  {
    activity,
    before,
    after,
  }: { readonly activity: string; readonly before?: Schedule | undefined; readonly after?: Schedule },
): Promise<void> {
  const item = { scope: 'PluginConfig', itemId: config.id, name: shownName(config) } as const;
  await recordChange(tx, actor, {
    ...item,
    projectId,
    activity,
    before: before && fieldsOf(before),
    after: after && fieldsOf(after),
    now,
  });
}

function fieldsOf({ timing, overlapMinutes, paused, coveredTo }: Schedule) {
  const when = 'everyMinutes' in timing ? { every_minutes: timing.everyMinutes } : { daily_at: timing.dailyAt };
  return { ...when, overlap_minutes: overlapMinutes, paused, covered_to: isoMicros(coveredTo) };
}
