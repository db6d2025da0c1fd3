import { SettingsError } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { Job } from './queue.ts';

/** The result of an attempt at a job, with the counts of events that passed through the config. */
export type RunOutcome = Ending & {
  readonly counts?: { readonly succeeded: number; readonly failed: number };
  /** For the config's error list. */
  readonly failures?: readonly Failure[];
};

type Ending =
  | { readonly kind: 'done' }
  /** Retried after `delayMs` while attempts remain. */
  | { readonly kind: 'retry'; readonly error: Error; readonly delayMs: number; readonly more?: More }
  | { readonly kind: 'failed'; readonly error: Error; readonly more?: More }
  /** Could not begin; this does not count as an attempt. */
  | { readonly kind: 'postponed'; readonly error: Error; readonly delayMs: number }
  /** Not run for a reason that is not the config's fault, for example because it was disabled. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The service is stopping. */
  | { readonly kind: 'stopped'; readonly more?: More };

interface More {
  /** The remaining work. */
  readonly payload?: JsonObject;
  /** New total of attempts for the job. */
  readonly attemptsMax?: number;
}

export interface Failure {
  readonly error: Error;
  /** The event that failed. */
  readonly event?: JsonObject;
}

/** A failure that a retry cannot fix, for example a missing setting. */
export class HopelessError extends Error {
  override name = 'HopelessError';
}

/** Attempts of a plugin's job that requests a retry, as published. */
export const pluginAttemptsMax = 15;
/** Attempts after a crash of the plugin process, which another config may have caused. */
const crashAttemptsMax = 3;
const pluginRetryMs = 3000;

/** 3 s, 6 s, 12 s …: the published back-off for plugin jobs. `attempt` counts from 1. */
export function pluginRetryDelayMs(attempt: number): number {
  return pluginRetryMs * 2 ** (attempt - 1);
}

/** A RetryError requests a retry; after a crash the culprit is unknown, so a few retries are allowed. */
export function isWorthRetry(error: unknown, attempt: number): boolean {
  if (!(error instanceof SandboxError)) return !(error instanceof HopelessError || error instanceof SettingsError);
  return error.retry || (error.kind === 'crashed' && attempt < crashAttemptsMax);
}

export function isAborted(error: unknown): boolean {
  return error instanceof SandboxError && error.kind === 'aborted';
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The scheduled tasks of plugins. Other `runEvery…` names have no schedule, as published. */
export const scheduledTasks = ['runEveryMinute', 'runEveryHour', 'runEveryDay'] as const;
export type ScheduledTask = (typeof scheduledTasks)[number];

/** Returns the name of a job in errors, logs and records. */
export function labelOf(job: Pick<Job, 'kind' | 'type'>): string {
  const speaksForItself = job.kind === 'delivery' || scheduledTasks.some((name) => name === job.type);
  return speaksForItself ? job.type : `job "${job.type}"`;
}
