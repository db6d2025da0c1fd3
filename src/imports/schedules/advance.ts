import { minuteMs } from '../../base/time.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import type { ImportSourcePlugin } from '../../plugins/plugin.ts';
import { getRun } from '../run/run-store.ts';
import type { Run, RunState } from '../run/run.ts';
import { sourceOf, startRun } from '../run/steering.ts';
import { lockSchedule, saveSchedule, type Schedule } from './schedule.ts';
import { lastDue, nextDue } from './timing.ts';

export interface AdvanceDeps {
  readonly db: Metadata;
  readonly registry: Pick<PluginRegistry, 'get'>;
}

/** States in which a run changes no more unless a user requests it. */
const ended: ReadonlySet<RunState> = new Set(['completed', 'failed', 'cancelled', 'undone']);

/**
 * Records how a run of the schedule ended, and starts the next one if it is due. Several processes may do this concurrently: each due
 * time starts one run. `now` in ms, by the clock of the database.
 */
export async function advanceSchedule({ db, registry }: AdvanceDeps, configId: number, now: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const locked = await lockSchedule(tx, configId);
    if (locked === undefined) return;
    const settled = await settleRun(tx, locked);
    const next = isDue(settled, now) ? await startDue(tx, registry, settled, now) : settled;
    if (next !== locked) await saveSchedule(tx, next);
  });
}

function isDue({ run, paused, dueAt }: Schedule, now: number): boolean {
  return run === null && !paused && dueAt <= now;
}

/** Marks a window as covered once its run is completed; the next window includes that of a failed run. */
export async function settleRun(tx: Queries, schedule: Schedule): Promise<Schedule> {
  const { run, coveredTo } = schedule;
  if (run === null) return schedule;
  const found = await getRun(tx, run.id);
  if (found !== undefined && !ended.has(found.state)) return schedule;
  const isDone = found?.state === 'completed';
  return { ...schedule, run: null, coveredTo: isDone ? Math.max(coveredTo, run.to) : coveredTo };
}

async function startDue(
  tx: Queries,
  registry: AdvanceDeps['registry'],
  schedule: Schedule,
  now: number,
): Promise<Schedule> {
  const zone = await zoneOf(tx, schedule.projectId);
  const { timing, coveredTo } = schedule;
  // One run covers missed times, up to the last of them.
  const to = lastDue(timing, now, zone);
  const later = { ...schedule, dueAt: nextDue(timing, now, zone), error: '' };
  if (to <= coveredTo) return later;
  try {
    const { config, source } = await sourceFor(tx, registry, schedule.configId, now);
    const { run } = await startWindow(tx, { schedule, config, source, to, now });
    return { ...later, run };
  } catch (error) {
    // Reported as a lasting condition (queue/notices), and retried at the next time.
    if (error instanceof ApiError) return { ...later, error: error.detail.slice(0, 1000) };
    throw error;
  }
}

interface WindowOrder {
  readonly schedule: Schedule;
  readonly config: StoredConfig;
  readonly source: ImportSourcePlugin;
  /** ms since the epoch. */
  readonly to: number;
  readonly now: number;
}

/** Starts a run for everything new up to `to`. @throws ApiError if the config's settings cannot work */
export async function startWindow(
  tx: Queries,
  { schedule, config, source, to, now }: WindowOrder,
): Promise<{ readonly run: NonNullable<Schedule['run']>; readonly started: Run }> {
  const from = Math.max(schedule.beginsAt, schedule.coveredTo - schedule.overlapMinutes * minuteMs);
  const payload = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const started = await startRun(source, { tx, config, payload, now, scheduled: true });
  return { run: { id: started.id, to }, started };
}

async function sourceFor(tx: Queries, registry: AdvanceDeps['registry'], configId: number, now: number) {
  const config = await findAnyConfig(tx, configId, now);
  const source = config && sourceOf(registry, config);
  if (config === undefined || source === undefined) throw new ApiError('conflict', 'The config has no import source.');
  refuseTimeless(source);
  return { config, source };
}

/** @throws ApiError if the source has no times to select by */
export function refuseTimeless({ name, range }: ImportSourcePlugin): void {
  if (range !== undefined) return;
  const detail =
    `"${name}" cannot select by time: each run would read all of it again. Schedules need a source that can, such as a ` +
    'database with a cursor column that is a time, Kafka, or the API of another service.';
  throw new ApiError('invalid_input', detail, { attr: 'plugin_config' });
}

export async function zoneOf(db: Queries, projectId: number): Promise<string> {
  const { timezone } = await db
    .selectFrom('projects')
    .select('timezone')
    .where('id', '=', projectId)
    .executeTakeFirstOrThrow();
  return timezone;
}
