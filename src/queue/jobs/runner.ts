import { isoMicros, type Clock } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import { takeWork } from '../../base/take-work.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { createDatabaseClock, type DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { JobKind } from '../../stores/metadata/tables/plugins.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { AppInstances, type ScheduledApp } from './app-instances.ts';
import { pruneJobs, redate } from './prune-jobs.ts';
import type { InstalledPlugins } from './open-app.ts';
import { asError, scheduledTasks, labelOf, type RunOutcome, type ScheduledTask } from './outcome.ts';
import { claim, renew, enqueue, lockConfigOfJob, fail, postpone, release, remove, succeed, type Job } from './queue.ts';
import { runJob, type RunJobDeps } from './run-job.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordErrors } from '../../plugins/services/errors.ts';
import type { InstanceServices } from '../../plugins/sandbox/sandbox.ts';
import { countRun, reportFailure, reportSuccess, shownError, toPluginFailure } from './report.ts';

interface JobRunnerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** The clock of leases, schedules and due times. Default: that of `db`. */
  readonly databaseClock?: DatabaseClock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** Appends a batch to the event log. */
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  readonly log: Log;
  /** Aborting stops claiming jobs, notifies the running ones and releases what they did not finish. */
  readonly signal: AbortSignal;
  /** When omitted, only jobs of built-in plugins run here, and nothing is scheduled. */
  readonly installed?: InstalledPlugins;
  /** Poll interval in ms, default 1,000. */
  readonly pollMs?: number;
  /** Lease time of a job in ms, default 30,000. */
  readonly leaseMs?: number;
  /** First delay after a failure of a built-in import app in ms, default 5,000; doubles up to 10 min. */
  readonly retryMs?: number;
}

interface JobRunner {
  /** Resolves when everything has stopped after the signal. */
  readonly done: Promise<void>;
}

/**
 * Jobs that run concurrently in one process, each of another config. Long-running jobs and automatic ones have separate
 * pools, so that imports never delay schedules and deliveries.
 */
const pools: readonly { readonly kinds: readonly JobKind[]; readonly atOnceMax: number }[] = [
  { kinds: ['started', 'enqueued'], atOnceMax: 8 },
  { kinds: ['scheduled', 'delivery'], atOnceMax: 8 },
];
const keepQueueEveryMs = 60_000;
const pruneEveryMs = 600_000;

interface RunnerDeps extends RunJobDeps, SettleDeps {
  readonly databaseClock: DatabaseClock;
  readonly signal: AbortSignal;
  readonly pollMs: number;
  readonly leaseMs: number;
}

/** Runs queued plugin jobs, one per config at a time. A job whose process died is claimed again. */
export function startJobRunner(deps: JobRunnerDeps): JobRunner {
  const { db, clock, log, installed, databaseClock = createDatabaseClock(db) } = deps;
  const apps = installed === undefined ? undefined : new AppInstances({ db, clock, log, ...installed });
  const ready: RunnerDeps = {
    ...deps,
    databaseClock,
    apps,
    services: installed?.services,
    pollMs: deps.pollMs ?? 1000,
    leaseMs: deps.leaseMs ?? 30_000,
    retryMs: deps.retryMs ?? 5000,
  };
  const loops = [keepQueue(ready), ...pools.map((pool) => runPool(ready, kindsHere(pool.kinds, apps), pool.atOnceMax))];
  if (apps !== undefined) loops.push(followApps(ready, apps, createSchedule({ db, clock: databaseClock })));
  const stop = async (): Promise<void> => {
    await Promise.all(loops);
    await apps?.close();
  };
  return { done: stop() };
}

/** Without a sandbox only jobs that users started are claimed; the others wait for a process that has one. */
function kindsHere(kinds: readonly JobKind[], apps: AppInstances | undefined): readonly JobKind[] {
  return apps === undefined ? kinds.filter((kind) => kind === 'started') : kinds;
}

async function runPool(deps: RunnerDeps, kinds: readonly JobKind[], atOnceMax: number): Promise<void> {
  if (kinds.length === 0) return;
  const { db, databaseClock, leaseMs, pollMs, signal, log } = deps;
  await takeWork({
    claim: async () => claim(db, await databaseClock.now(), leaseMs, kinds),
    work: (job) => runHeld(deps, job),
    atOnceMax,
    pollMs,
    signal,
    onTrouble: (err) => log.error({ err }, 'failed to claim jobs; retrying'),
  });
}

/** Never rejects: when the outcome cannot be written, the lease expires and the job is claimed again. */
async function runHeld(deps: RunnerDeps, job: Job): Promise<void> {
  const lost = new AbortController();
  const releaseLease = keepJob(deps, job, lost);
  try {
    const began = performance.now();
    const config = await findAnyConfig(deps.db, job.configId, deps.clock.now());
    const outcome = await attempt(deps, job, config, AbortSignal.any([deps.signal, lost.signal]));
    await releaseLease();
    await settle(deps, { job, config, outcome, ms: performance.now() - began });
  } catch (error) {
    deps.log.error({ err: error, job: job.id }, 'failed to record job outcome; the job will run again');
  } finally {
    await releaseLease();
  }
}

async function attempt(
  deps: RunnerDeps,
  job: Job,
  config: StoredConfig | undefined,
  signal: AbortSignal,
): Promise<RunOutcome> {
  try {
    return await runJob(deps, job, config, signal);
  } catch (error) {
    return { kind: 'postponed', error: asError(error), delayMs: deps.retryMs };
  }
}

/** Follows the configs and plans their schedules. */
async function followApps(deps: RunnerDeps, apps: AppInstances, schedule: Schedule): Promise<void> {
  const follow = async (): Promise<void> => {
    await apps.follow();
    await schedule.plan(apps.scheduled());
  };
  const onTrouble = (err: unknown): void => deps.log.error({ err }, 'failed to follow plugin configs; retrying');
  await repeat(deps.pollMs, follow, { signal: deps.signal, onTrouble });
}

async function keepQueue(deps: RunnerDeps): Promise<void> {
  let prunedAt = -Infinity;
  const prune = async (): Promise<void> => {
    const now = await deps.databaseClock.now();
    await redate(deps.db, now, deps.leaseMs);
    // Elapsed time and not time of day, which may jump.
    if (performance.now() - prunedAt < pruneEveryMs) return;
    await pruneJobs(deps.db, now);
    prunedAt = performance.now();
  };
  const onTrouble = (err: unknown): void => deps.log.error({ err }, 'failed to prune jobs; retrying');
  await repeat(keepQueueEveryMs, prune, { signal: deps.signal, onTrouble });
}

/** Renews the lease until released. Aborts the run here when another process has claimed the job. */
function keepJob(
  { db, databaseClock, log, leaseMs }: RunnerDeps,
  job: Job,
  lost: AbortController,
): () => Promise<void> {
  return keepLease({
    leaseMs,
    renew: async () => renew(db, job, await databaseClock.now(), leaseMs),
    onLost: () => lost.abort(new Error('the job was claimed by another process')),
    onTrouble: (err) => log.warn({ err, job: job.id }, 'failed to renew job lease; retrying'),
  });
}

/** Ticks are at multiples of these since the epoch: full minutes, full hours, midnight UTC. */
const everyMs = {
  runEveryMinute: 60_000,
  runEveryHour: 3_600_000,
  runEveryDay: 86_400_000,
} as const satisfies Record<ScheduledTask, number>;

/**
 * Turns schedules into jobs. Every process plans; a unique key per config, task and tick makes it one job. A tick is skipped
 * while the task's previous run is queued or running. After an outage only the latest tick is made up for.
 */
interface Schedule {
  /** Call it every second. */
  plan(apps: readonly ScheduledApp[]): Promise<void>;
}

interface ScheduleDeps {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
}

export function createSchedule({ db, clock }: ScheduleDeps): Schedule {
  /** The last tick decided in this process, by config and task: a skipped tick stays skipped. */
  let decided = new Map<string, number>();
  return {
    async plan(apps) {
      const now = await clock.now();
      const next = new Map<string, number>();
      for (const app of apps) {
        for (const task of scheduledTasks.filter((name) => app.tasks.includes(name))) {
          const tick = Math.floor(now / everyMs[task]) * everyMs[task];
          const key = `${app.configId}:${task}`;
          const known = decided.get(key);
          if (known !== tick && isAfter(tick, app.updatedAt, now)) await decide(db, app, { task, tick, now });
          next.set(key, tick);
        }
      }
      decided = next;
    },
  };
}

/** A task begins with the first tick after its config's last change. A change in the future dates from before the clock was set back. */
function isAfter(tick: number, updatedAt: string, now: number): boolean {
  const changed = Date.parse(updatedAt);
  return tick >= changed || changed > now;
}

interface Tick {
  readonly task: ScheduledTask;
  /** ms since the epoch. */
  readonly tick: number;
  readonly now: number;
}

function decide(db: Metadata, app: ScheduledApp, { task, tick, now }: Tick): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockConfigOfJob(tx, app.configId);
    if (!(await isEnabled(tx, app.configId)) || (await isInProgress(tx, app.configId, task))) return;
    await enqueue(tx, {
      projectId: app.projectId,
      configId: app.configId,
      kind: 'scheduled',
      type: task,
      operation: 'schedule',
      payload: { tick: isoMicros(tick) },
      uniqueKey: `tick:${app.configId}:${task}:${isoMicros(tick)}`,
      runAt: Math.min(tick, now),
      now,
    });
  });
}

async function isEnabled(tx: Queries, configId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('plugin_configs')
    .select('id')
    .where('id', '=', configId)
    .where('enabled', '=', 1)
    .where('deleted', '=', 0)
    .executeTakeFirst();
  return row !== undefined;
}

async function isInProgress(tx: Queries, configId: number, task: ScheduledTask): Promise<boolean> {
  const row = await tx
    .selectFrom('jobs')
    .select('id')
    .where('kind', '=', 'scheduled')
    .where('state', 'in', ['queued', 'running'])
    .where('config_id', '=', configId)
    .where('type', '=', task)
    .executeTakeFirst();
  return row !== undefined;
}

interface SettleDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Decides when postponed work is due, and the times shown. */
  readonly databaseClock: DatabaseClock;
  readonly log: Log;
  readonly services: ((config: StoredConfig) => Pick<InstanceServices, 'log'>) | undefined;
}

interface Attempt {
  readonly job: Job;
  readonly config: StoredConfig | undefined;
  readonly outcome: RunOutcome;
  /** Duration of the attempt. */
  readonly ms: number;
}

/** Records the outcome of an attempt (the job, the config's error, metrics and errors) in one transaction. */
async function settle(deps: SettleDeps, attempt: Attempt): Promise<void> {
  const now = await deps.databaseClock.now();
  const { job, config, outcome } = attempt;
  const isOurs = await deps.db.transaction().execute(async (tx) => {
    // The config is locked first, as in queue.ts: another order of locks could deadlock.
    const isThere = await lockConfigOfJob(tx, job.configId);
    // The lease is checked next: without it nothing is written.
    if (!(await writeJob(tx, attempt, now))) return false;
    if (config === undefined || !isThere) return true;
    await writeReport(tx, attempt, now);
    const { counts, failures = [] } = outcome;
    if (counts !== undefined) await countRun(tx, config, { ...counts, ms: attempt.ms }, now);
    const method = job.type;
    const shown = failures.map((failure) => toPluginFailure(config, failure, { method, now }));
    await recordErrors(tx, shown);
    return true;
  });
  logOutcome(deps, attempt, isOurs);
}

/** Returns false if the lease is lost. */
function writeJob(tx: Queries, { job, config, outcome }: Attempt, now: number): Promise<boolean> {
  switch (outcome.kind) {
    case 'done':
      return job.kind === 'delivery' ? remove(tx, job) : succeed(tx, job, now);
    case 'stopped':
      return release(tx, job, outcome.more?.payload);
    case 'postponed': {
      const { delayMs } = outcome;
      return postpone(tx, job, { now, delayMs, error: shownError(outcome.error, config) });
    }
    case 'skipped':
      return fail(tx, job, { error: outcome.reason, now, delayMs: 0, final: true });
    case 'retry':
    case 'failed': {
      const delayMs = outcome.kind === 'retry' ? outcome.delayMs : 0;
      const final = outcome.kind === 'failed';
      return fail(tx, job, { error: shownError(outcome.error, config), now, delayMs, final, ...outcome.more });
    }
  }
}

async function writeReport(tx: Queries, { job, config, outcome }: Attempt, now: number): Promise<void> {
  const what = labelOf(job);
  if (outcome.kind === 'done') await reportSuccess(tx, job.configId, what, now);
  if (outcome.kind !== 'retry' && outcome.kind !== 'failed') return;
  await reportFailure(tx, job.configId, { what, text: shownError(outcome.error, config), now });
}

function logOutcome({ log, clock, services }: SettleDeps, { job, config, outcome }: Attempt, isOurs: boolean): void {
  const about = { job: job.id, type: job.type, config: job.configId, attempt: job.attempts };
  if (!isOurs) {
    log.warn(about, 'lease lost; outcome discarded');
    return;
  }
  // Ticks and deliveries run all day, so they log at debug level.
  if (outcome.kind === 'done') {
    log[job.kind === 'started' ? 'info' : 'debug'](about, 'job done');
    return;
  }
  if (outcome.kind === 'stopped') return;
  const reason = outcome.kind === 'skipped' ? outcome.reason : shownError(outcome.error, config);
  log.warn({ ...about, reason }, outcome.kind === 'postponed' ? 'job postponed' : 'job failed');
  if (config === undefined || services === undefined || outcome.kind === 'postponed') return;
  const message = `${labelOf(job)} failed: ${reason}`;
  const source = outcome.kind === 'skipped' ? 'SYSTEM' : 'PLUGIN';
  services(config).log({ time: clock.now(), level: 'ERROR', source, message, instanceId: job.id });
}
