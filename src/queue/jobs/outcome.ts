import { SettingsError } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { Job } from './queue.ts';

/** What an attempt at a job ended in, with what passed through the config on the way. */
export type RunOutcome = Ending & {
  readonly counts?: { readonly succeeded: number; readonly failed: number };
  /** For the list of errors. */
  readonly failures?: readonly Failure[];
};

type Ending =
  | { readonly kind: 'done' }
  /** Once more after `delayMs`, while there are attempts. */
  | { readonly kind: 'retry'; readonly error: Error; readonly delayMs: number; readonly more?: More }
  | { readonly kind: 'failed'; readonly error: Error; readonly more?: More }
  /** It could not begin: costs no attempt. */
  | { readonly kind: 'postponed'; readonly error: Error; readonly delayMs: number }
  /** It does not run, and the config is not to blame: it was disabled, say. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The service stops. */
  | { readonly kind: 'stopped'; readonly more?: More };

interface More {
  /** What is left to do. */
  readonly payload?: JsonObject;
  /** Attempts that the job may have in all. */
  readonly attemptsMax?: number;
}

export interface Failure {
  readonly error: Error;
  /** The event that it happened with. */
  readonly event?: JsonObject;
}

/** A failure that a repetition cannot cure, e.g. a missing setting. */
export class HopelessError extends Error {
  override name = 'HopelessError';
}

/** Attempts of a plugin's job that asks for another one, as published. */
export const pluginAttemptsMax = 15;
/** A process of plugins that ended may have been ended by another config: so often it is tried again. */
const crashAttemptsMax = 3;
const pluginRetryMs = 3000;

/** 3 s, 6 s, 12 s …: the published back-off of plugins' jobs. `attempt` counts from 1. */
export function pluginRetryDelayMs(attempt: number): number {
  return pluginRetryMs * 2 ** (attempt - 1);
}

/** A RetryError says so itself; after a crash nobody knows who was guilty. */
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

/** Plugins' scheduled tasks that have a schedule; other `runEvery…` names have none, as published. */
export const scheduledTasks = ['runEveryMinute', 'runEveryHour', 'runEveryDay'] as const;
export type ScheduledTask = (typeof scheduledTasks)[number];

/** How errors, logs and the record name what ran. */
export function labelOf(job: Pick<Job, 'kind' | 'type'>): string {
  const speaksForItself = job.kind === 'delivery' || scheduledTasks.some((name) => name === job.type);
  return speaksForItself ? job.type : `job "${job.type}"`;
}
