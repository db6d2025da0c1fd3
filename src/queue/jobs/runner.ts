import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { takeWork } from '../../base/take-work.ts';
import type { AcceptedBatch } from '../../wire/batch/door.ts';
import { createDatabaseClock, type DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { JobKind, Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { AppInstances } from './app-instances.ts';
import { pruneJobs, redate } from './prune-jobs.ts';
import type { InstalledPlugins } from './open-app.ts';
import { asError, type RunOutcome } from './outcome.ts';
import { claim, renew, type Job } from './queue.ts';
import { runJob, type RunJobDeps } from './run-job.ts';
import { createSchedule, type Schedule } from './schedule.ts';
import { settle, type SettleDeps } from './settle.ts';

export interface JobRunnerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Of leases, schedules and of when a job is due; default that of `db`. */
  readonly databaseClock?: DatabaseClock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** The door into the event log. */
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  readonly log: Log;
  /** Aborting stops taking jobs, tells the running ones, and gives back what they did not finish. */
  readonly signal: AbortSignal;
  /** Left out: only jobs of built-in plugins run here, and nothing is scheduled. */
  readonly installed?: InstalledPlugins;
  /** How often to look for work, default 1,000. */
  readonly pollMs?: number;
  /** How long a job is held without a sign of life, default 30,000. */
  readonly leaseMs?: number;
  /** First delay after a failure of a built-in import app, default 5,000; doubles up to 10 min. */
  readonly retryMs?: number;
}

export interface JobRunner {
  /** Resolves when everything has stopped after the signal. */
  readonly done: Promise<void>;
}

/**
 * Jobs that run side by side in one process, each of another config. What may take hours and what comes by itself have
 * places of their own, so that imports never hold up schedules and deliveries.
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

/** Runs the queued jobs of plugins, one per config at a time. A job whose process died is taken up again. */
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

/** Without a sandbox only what was started by somebody is taken: the rest waits for a process that has one. */
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
    onTrouble: (err) => log.error({ err }, 'jobs wait: the metadata store does not answer'),
  });
}

/** Never rejects: when the outcome cannot be written, the lease runs out and the job is taken up again. */
async function runHeld(deps: RunnerDeps, job: Job): Promise<void> {
  const lost = new AbortController();
  const letGo = keepJob(deps, job, lost);
  try {
    const began = performance.now();
    const config = await findAnyConfig(deps.db, job.configId, deps.clock.now());
    const outcome = await attempt(deps, job, config, AbortSignal.any([deps.signal, lost.signal]));
    await letGo();
    await settle(deps, { job, config, outcome, ms: performance.now() - began });
  } catch (error) {
    deps.log.error({ err: error, job: job.id }, 'the outcome of a job could not be written; it is taken up again');
  } finally {
    await letGo();
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
  await repeat(deps, 'the configs of plugins could not be followed', deps.pollMs, async () => {
    await apps.follow();
    await schedule.plan(apps.scheduled());
  });
}

async function keepQueue(deps: RunnerDeps): Promise<void> {
  let prunedAt = -Infinity;
  await repeat(deps, 'the queue of jobs could not be put in order', keepQueueEveryMs, async () => {
    const now = await deps.databaseClock.now();
    await redate(deps.db, now, deps.leaseMs);
    // Time that passed, not time of day: that may jump.
    if (performance.now() - prunedAt < pruneEveryMs) return;
    await pruneJobs(deps.db, now);
    prunedAt = performance.now();
  });
}

/** Until the service stops; of failures that follow one another the first is logged. */
async function repeat(deps: RunnerDeps, trouble: string, everyMs: number, work: () => Promise<void>): Promise<void> {
  let troubles = 0;
  while (!deps.signal.aborted) {
    try {
      await work();
      troubles = 0;
    } catch (error) {
      if (troubles++ === 0) deps.log.error({ err: error }, `${trouble}; trying again`);
    }
    await setTimeout(everyMs, undefined, { signal: deps.signal }).catch(() => undefined);
  }
}

/** Renews the lease until told to stop; when somebody else has taken the job, aborts the run here. */
function keepJob(
  { db, databaseClock, log, leaseMs }: RunnerDeps,
  job: Job,
  lost: AbortController,
): () => Promise<void> {
  return keepLease({
    leaseMs,
    renew: async () => renew(db, job, await databaseClock.now(), leaseMs),
    onLost: () => lost.abort(new Error('the job was taken up elsewhere')),
    onTrouble: (err) => log.warn({ err, job: job.id }, 'the lease of a job could not be renewed; trying again'),
  });
}
