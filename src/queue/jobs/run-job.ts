import { backoffMs } from '../../base/retry.ts';
import type { Clock } from '../../base/clock.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import { isImportSource, type ImportAppPlugin, type PluginJob } from '../../plugins/plugin.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import type { CallTarget, SandboxInstance } from '../../plugins/sandbox/sandbox.ts';
import { AppSetupError, type AppInstances } from './app-instances.ts';
import { deliver } from './deliveries.ts';
import { missingOf } from './open-app.ts';
import { asError, HopelessError, isAborted, isWorthRetry } from './outcome.ts';
import { pluginAttemptsMax, pluginRetryDelayMs, type RunOutcome } from './outcome.ts';
import type { Job } from './queue.ts';

const retryDelayMsMax = 600_000;
/** Minimum delay of a job whose plugin's setup is retried soon. */
const postponedMsMin = 1000;

export interface RunJobDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** Appends a batch to the event log. */
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  /** `undefined` means that this process runs only built-in plugins. */
  readonly apps: AppInstances | undefined;
  /** First delay after a failure of a built-in import app, in ms; doubles up to 10 min. */
  readonly retryMs: number;
}

/** Makes one attempt at a job. Rejects only when the metadata store does not answer. */
export async function runJob(
  deps: RunJobDeps,
  job: Job,
  config: StoredConfig | undefined,
  signal: AbortSignal,
): Promise<RunOutcome> {
  if (job.attempts > job.attemptsMax) return failed('the process ended in every attempt');
  if (config === undefined) return failed('the config was deleted');
  const obstacle = job.kind === 'started' ? '' : obstacleOf(config);
  if (obstacle !== '') return { kind: 'skipped', reason: obstacle };
  if (config.plugin.versionId !== null) return runInstalled(deps, job, config, signal);
  const code = deps.registry.get(config.plugin.slug);
  if (code === undefined) return failed(`this program has no plugin "${config.plugin.slug}"`);
  return runBuiltIn(
    deps,
    job,
    { config, jobs: code.kind === 'import-app' && !isImportSource(code) ? code.jobs : {} },
    signal,
  );
}

function failed(sentence: string): RunOutcome {
  return { kind: 'failed', error: new HopelessError(sentence) };
}

/** Returns why a job that no user started does not run; empty when it may. */
function obstacleOf(config: StoredConfig): string {
  if (config.deleted) return 'the config is in the bin';
  if (!config.enabled) return 'the config is disabled';
  return missingOf(config);
}

async function runBuiltIn(
  deps: RunJobDeps,
  job: Job,
  of: { readonly config: StoredConfig; readonly jobs: ImportAppPlugin['jobs'] | Record<string, PluginJob> },
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { plugin, settings } = of.config;
  const jobs: Readonly<Record<string, PluginJob>> = of.jobs;
  const named = Object.hasOwn(jobs, job.type) ? jobs[job.type] : undefined;
  if (named === undefined) return failed(noJob(of.config, job));
  const missing = missingOf(of.config);
  if (missing !== '') return failed(missing);
  try {
    await named.run({
      projectId: job.projectId,
      settings: withDefaults(plugin.fields, settings),
      payload: job.payload,
      accept: deps.accept,
      signal,
    });
    // A stop is assumed to come before the end: repeating is harmless, a loss would not be.
    return { kind: signal.aborted ? 'stopped' : 'done' };
  } catch (thrown) {
    const error = asError(thrown);
    if (signal.aborted && !(error instanceof HopelessError)) return { kind: 'stopped' };
    const failures = [{ error }];
    if (!isWorthRetry(error, job.attempts)) return { kind: 'failed', error, failures };
    return { kind: 'retry', error, failures, delayMs: backoffMs(job.attempts - 1, deps.retryMs, retryDelayMsMax) };
  }
}

async function runInstalled(
  deps: RunJobDeps,
  job: Job,
  config: StoredConfig,
  signal: AbortSignal,
): Promise<RunOutcome> {
  if (deps.apps === undefined) return failed('this process runs no installed plugins');
  try {
    return await deps.apps.use(config, (instance) => runOn(instance, job, config, signal));
  } catch (thrown) {
    return cannotBegin(job, asError(thrown), signal);
  }
}

async function runOn(
  instance: SandboxInstance,
  job: Job,
  config: StoredConfig,
  signal: AbortSignal,
): Promise<RunOutcome> {
  if (job.kind === 'delivery')
    return deliver(instance, job, withDefaults(config.plugin.fields, config.settings), signal);
  const target = targetOf(instance, job);
  if (target === undefined) return failed(noJob(config, job));
  try {
    await instance.call(target, { signal });
    return { kind: 'done', counts: { succeeded: 1, failed: 0 } };
  } catch (thrown) {
    return afterFailure(job, asError(thrown));
  }
}

/** Resolves a job before a scheduled task of the same name; tasks can also be started by hand. */
function targetOf({ described }: SandboxInstance, job: Job): CallTarget | undefined {
  const { type: name, payload } = job;
  if (job.kind !== 'scheduled' && described.jobs.includes(name)) return { kind: 'job', name, payload };
  if (job.kind !== 'enqueued' && described.scheduledTasks.includes(name)) return { kind: 'scheduled', name };
  return undefined;
}

function noJob({ plugin }: StoredConfig, { type }: Job): string {
  return `plugin "${plugin.name}" has no job "${type}"`;
}

/** As published: only a RetryError is retried, and a scheduled task runs again at its next tick. */
function afterFailure(job: Job, error: Error): RunOutcome {
  if (isAborted(error)) return { kind: 'stopped' };
  const failures = [{ error }];
  const hasMore = job.kind !== 'scheduled' && job.attempts < pluginAttemptsMax;
  if (!hasMore || !isWorthRetry(error, job.attempts)) {
    return { kind: 'failed', error, failures, counts: { succeeded: 0, failed: 1 } };
  }
  const more = { attemptsMax: pluginAttemptsMax };
  return { kind: 'retry', error, delayMs: pluginRetryDelayMs(job.attempts), failures, more };
}

/** The instance is not available. A setup failure of a kept instance is already recorded. */
function cannotBegin(job: Job, error: Error, signal: AbortSignal): RunOutcome {
  if (signal.aborted) return { kind: 'stopped' };
  if (error instanceof HopelessError) return { kind: 'failed', error };
  if (!(error instanceof AppSetupError)) return afterFailure(job, error);
  const { retryInMs } = error;
  if (retryInMs !== undefined) return { kind: 'postponed', error, delayMs: Math.max(postponedMsMin, retryInMs) };
  const events = (job.payload as { readonly events?: readonly unknown[] }).events;
  const counts = { succeeded: 0, failed: job.kind === 'delivery' ? (events?.length ?? 1) : 1 };
  return { kind: 'skipped', reason: `the plugin could not be set up: ${error.message}`, counts };
}
