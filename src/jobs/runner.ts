import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { backoffMs } from '../base/retry.ts';
import type { AcceptedBatch } from '../batch/door.ts';
import type { JobKind, Metadata } from '../metadata/database.ts';
import { findAnyConfig, type StoredConfig } from '../plugins/configs/stored-config.ts';
import type { PluginRegistry } from '../plugins/plugin-registry.ts';
import type { Log } from '../telemetry/log.ts';
import { AppInstances } from './app-instances.ts';
import { pruneJobs, redate } from './prune-jobs.ts';
import type { InstalledPlugins } from './open-app.ts';
import { asError, type RunOutcome } from './outcome.ts';
import { claim, renew, type Job } from './queue.ts';
import { runJob, type RunParts } from './run-job.ts';
import { createSchedule, type Schedule } from './schedule.ts';
import { settle, type SettleParts } from './settle.ts';

export interface JobRunnerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
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

interface Parts extends RunParts, SettleParts {
  readonly signal: AbortSignal;
  readonly pollMs: number;
  readonly leaseMs: number;
}

/** Runs the queued jobs of plugins, one per config at a time. A job whose process died is taken up again. */
export function startJobRunner(deps: JobRunnerDeps): JobRunner {
  const { db, clock, log, installed } = deps;
  const apps = installed === undefined ? undefined : new AppInstances({ db, clock, log, ...installed });
  const parts: Parts = {
    ...deps,
    apps,
    services: installed?.services,
    pollMs: deps.pollMs ?? 1000,
    leaseMs: deps.leaseMs ?? 30_000,
    retryMs: deps.retryMs ?? 5000,
  };
  const loops = [keepQueue(parts), ...pools.map((pool) => runPool(parts, kindsHere(pool.kinds, apps), pool.atOnceMax))];
  if (apps !== undefined) loops.push(followApps(parts, apps, createSchedule({ db, clock })));
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

async function runPool(parts: Parts, kinds: readonly JobKind[], atOnceMax: number): Promise<void> {
  if (kinds.length === 0) return;
  const running = new Set<Promise<void>>();
  let wake = new AbortController();
  let troubles = 0;
  while (!parts.signal.aborted) {
    let job: Job | undefined;
    try {
      if (running.size < atOnceMax) job = await claim(parts.db, parts.clock.now(), parts.leaseMs, kinds);
      troubles = 0;
    } catch (error) {
      if (troubles++ === 0) parts.log.error({ err: error }, 'jobs wait: the metadata store does not answer');
    }
    if (job !== undefined) {
      const run = runHeld(parts, job).finally(() => {
        running.delete(run);
        // Another job of the same config may be due now.
        wake.abort();
      });
      running.add(run);
      continue;
    }
    const waitMs = backoffMs(troubles, parts.pollMs, 10_000);
    const signal = AbortSignal.any([parts.signal, wake.signal]);
    await setTimeout(waitMs, undefined, { signal }).catch(() => undefined);
    if (wake.signal.aborted) wake = new AbortController();
  }
  await Promise.all(running);
}

/** Never rejects: when the outcome cannot be written, the lease runs out and the job is taken up again. */
async function runHeld(parts: Parts, job: Job): Promise<void> {
  const lost = new AbortController();
  const stopBeating = keepLease(parts, job, lost);
  try {
    const began = performance.now();
    const config = await findAnyConfig(parts.db, job.configId, parts.clock.now());
    const outcome = await attempt(parts, job, config, AbortSignal.any([parts.signal, lost.signal]));
    await stopBeating();
    await settle(parts, { job, config, outcome, ms: performance.now() - began });
  } catch (error) {
    parts.log.error({ err: error, job: job.id }, 'the outcome of a job could not be written; it is taken up again');
  } finally {
    await stopBeating();
  }
}

async function attempt(
  parts: Parts,
  job: Job,
  config: StoredConfig | undefined,
  signal: AbortSignal,
): Promise<RunOutcome> {
  try {
    return await runJob(parts, job, config, signal);
  } catch (error) {
    return { kind: 'postponed', error: asError(error), delayMs: parts.retryMs };
  }
}

/** Follows the configs and plans their schedules. */
async function followApps(parts: Parts, apps: AppInstances, schedule: Schedule): Promise<void> {
  await repeat(parts, 'the configs of plugins could not be followed', parts.pollMs, async () => {
    await apps.follow();
    await schedule.plan(apps.scheduled());
  });
}

async function keepQueue(parts: Parts): Promise<void> {
  let prunedAt = -Infinity;
  await repeat(parts, 'the queue of jobs could not be put in order', keepQueueEveryMs, async () => {
    await redate(parts.db, parts.clock.now(), parts.leaseMs);
    // Time that passed, not time of day: that may jump.
    if (performance.now() - prunedAt < pruneEveryMs) return;
    await pruneJobs(parts.db, parts.clock.now());
    prunedAt = performance.now();
  });
}

/** Until the service stops; of failures that follow one another the first is logged. */
async function repeat(parts: Parts, trouble: string, everyMs: number, work: () => Promise<void>): Promise<void> {
  let troubles = 0;
  while (!parts.signal.aborted) {
    try {
      await work();
      troubles = 0;
    } catch (error) {
      if (troubles++ === 0) parts.log.error({ err: error }, `${trouble}; trying again`);
    }
    await setTimeout(everyMs, undefined, { signal: parts.signal }).catch(() => undefined);
  }
}

/** Renews the lease until told to stop; when somebody else has taken the job, aborts the run here. */
function keepLease(parts: Parts, job: Job, lost: AbortController): () => Promise<void> {
  const stop = new AbortController();
  const beat = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await setTimeout(parts.leaseMs / 3, undefined, { signal: stop.signal }).catch(() => undefined);
      if (stop.signal.aborted) return;
      try {
        if (await renew(parts.db, job, parts.clock.now(), parts.leaseMs)) continue;
        lost.abort(new Error('the job was taken up elsewhere'));
        return;
      } catch (error) {
        parts.log.warn({ err: error, job: job.id }, 'the lease of a job could not be renewed; trying again');
      }
    }
  };
  const beating = beat();
  return async () => {
    stop.abort();
    await beating;
  };
}
