import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { AcceptedBatch } from '../capture/accept.ts';
import type { Metadata } from '../metadata/database.ts';
import { healthOf } from '../plugin-configs/health.ts';
import { setConfigError } from '../plugin-configs/set-error.ts';
import { attachedKeys, findAnyConfig, type StoredConfig } from '../plugin-configs/stored-config.ts';
import { missingRequired, withDefaults } from '../plugins/check-settings.ts';
import { withoutSecrets } from '../plugins/mask-secrets.ts';
import { SettingsError, type PluginJob } from '../plugins/plugin.ts';
import type { PluginRegistry } from '../plugins/registry.ts';
import type { Log } from '../telemetry/log.ts';
import { claim, fail, release, renew, succeed, attemptsMax, delayMsMax, type Job } from './queue.ts';

export interface JobRunnerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** The door into the event log. */
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  readonly log: Log;
  /** Aborting stops taking jobs, tells the running ones, and gives back what they did not finish. */
  readonly signal: AbortSignal;
  /** How often to look for work, default 1,000. */
  readonly pollMs?: number;
  /** How long a job is held without a sign of life, default 30,000. */
  readonly leaseMs?: number;
  /** First delay after a failure, default 5,000; doubles up to 10 min. */
  readonly retryMs?: number;
}

export interface JobRunner {
  /** Resolves when everything has stopped after the signal. */
  readonly done: Promise<void>;
}

/** Jobs of different configs that run side by side in one process. */
const jobsAtOnceMax = 2;

/** A failure that a repetition cannot cure, e.g. a missing setting. */
class HopelessError extends Error {
  override name = 'HopelessError';
}

/** Runs the queued jobs of import apps, one per config at a time. A job whose process died is taken up again. */
export function startJobRunner(deps: JobRunnerDeps): JobRunner {
  const worker = async (): Promise<void> => {
    let troubles = 0;
    while (!deps.signal.aborted) {
      let worked = false;
      try {
        worked = await runNext(deps);
        troubles = 0;
      } catch (error) {
        // The metadata store is in trouble. The lease of a job in hand runs out, then it is taken up again.
        if (troubles++ === 0) deps.log.error({ err: error }, 'jobs wait: the metadata store does not answer');
      }
      if (!worked) await pause(backoffMs(troubles, deps.pollMs ?? 1000, 10_000), deps.signal);
    }
  };
  const workers = Array.from({ length: jobsAtOnceMax }, worker);
  return { done: Promise.all(workers).then(() => undefined) };
}

/** False: there was nothing to do. */
async function runNext(deps: JobRunnerDeps): Promise<boolean> {
  const { db, clock, leaseMs = 30_000 } = deps;
  const job = await claim(db, clock.now(), leaseMs);
  if (job === undefined) return false;
  const config = await findAnyConfig(db, job.configId, clock.now());
  const error = await attempt(deps, job, config, leaseMs);
  // Stopped before the end as far as anyone can tell: repeating is harmless, a loss would not be.
  if (deps.signal.aborted && !(error instanceof HopelessError)) await release(db, job);
  else await settle(deps, job, config, error);
  return true;
}

/** The error that ended the attempt, undefined when it ended well. */
async function attempt(
  deps: JobRunnerDeps,
  job: Job,
  config: StoredConfig | undefined,
  leaseMs: number,
): Promise<Error | undefined> {
  const lost = new AbortController();
  const stopBeating = keepLease(deps, job, leaseMs, lost);
  try {
    if (job.attempts > attemptsMax) throw new HopelessError('the process ended each time that the job ran');
    const { run, settings } = prepare(deps, job, config);
    await run({
      projectId: job.projectId,
      settings,
      payload: job.payload,
      accept: deps.accept,
      signal: AbortSignal.any([deps.signal, lost.signal]),
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    await stopBeating();
  }
}

function prepare(deps: JobRunnerDeps, job: Job, config: StoredConfig | undefined) {
  if (config === undefined) throw new HopelessError('the config was deleted');
  const { plugin, settings } = config;
  const code = deps.registry.get(plugin.slug);
  if (code === undefined) throw new HopelessError(`this program has no plugin "${plugin.slug}"`);
  const jobs: Readonly<Record<string, PluginJob>> = code.kind === 'import-app' ? code.jobs : {};
  const named = Object.hasOwn(jobs, job.type) ? jobs[job.type] : undefined;
  if (named === undefined) throw new HopelessError(`plugin "${plugin.name}" has no job "${job.type}"`);
  if (missingRequired(code.fields, settings, attachedKeys(config)).length > 0)
    throw new HopelessError(healthOf(config));
  return { run: named.run, settings: withDefaults(code.fields, settings) };
}

async function settle(
  deps: JobRunnerDeps,
  job: Job,
  config: StoredConfig | undefined,
  error: Error | undefined,
): Promise<void> {
  const { db, clock, log, retryMs = 5000 } = deps;
  const now = clock.now();
  const about = { job: job.id, type: job.type, config: job.configId, attempt: job.attempts };
  if (error === undefined) {
    await db.transaction().execute(async (tx) => {
      if (await succeed(tx, job, now)) await setConfigError(tx, job.configId, '', now);
    });
    log.info(about, 'job done');
    return;
  }
  const text =
    config === undefined ? error.message : withoutSecrets(error.message, config.plugin.fields, config.settings);
  const final = error instanceof HopelessError || error instanceof SettingsError;
  const delayMs = backoffMs(job.attempts - 1, retryMs, delayMsMax);
  await db.transaction().execute(async (tx) => {
    if (!(await fail(tx, job, { error: text, now, delayMs, final }))) return;
    await setConfigError(tx, job.configId, `job "${job.type}" failed: ${text}`.slice(0, 1000), now);
  });
  log.warn({ ...about, reason: text }, 'job failed');
}

/** Renews the lease until told to stop; when somebody else has taken the job, aborts the run here. */
function keepLease(deps: JobRunnerDeps, job: Job, leaseMs: number, lost: AbortController): () => Promise<void> {
  const stop = new AbortController();
  const beat = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await pause(leaseMs / 3, stop.signal);
      if (stop.signal.aborted) return;
      try {
        if (await renew(deps.db, job, deps.clock.now(), leaseMs)) continue;
        lost.abort(new Error('the job was taken up elsewhere'));
        return;
      } catch (error) {
        deps.log.warn({ err: error, job: job.id }, 'the lease of a job could not be renewed; trying again');
      }
    }
  };
  const beating = beat();
  return async () => {
    stop.abort();
    await beating;
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
