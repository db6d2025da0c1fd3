import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import type { DayState, StoredDay } from '../../run/import-day.ts';
import { type LeasedRun, RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { DeliverFrameDeps } from './deliver-frame.ts';
import type { LoadProgress } from './load-progress.ts';
import type { FrameSource } from './read-table.ts';
import { StagingMissingError, stagingKeys, type Staging } from '../../staging.ts';

/** A load in progress. */
export interface Load extends DeliverFrameDeps, FrameSource {
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  readonly words?: AdviceWords;
  readonly leased: LeasedRun;
  readonly stop: () => void;
  readonly check: CheckResult;
  readonly progress: LoadProgress;
  readonly inFlight: number;
  readonly pending: LoadPending;
  /** Approximate number of facts of persons in a slice. */
  readonly sliceFacts: number;
  doubtOf(day: StoredDay): Doubt;
  /** Saves the progress of a day durably, and shows it. */
  save(day: StoredDay, change: Partial<DayState>): Promise<void>;
}

/** Pending facts of attached months about persons and groups. */
export interface LoadPending {
  readonly current: PendingFacts;
  /** Saves durably. */
  save(pending: PendingFacts): Promise<void>;
}

/**
 * Which frames of a day the target may have already: those that were in flight when the load stopped, or any, after a retry. `attached`:
 * all of their rows may be stored, but persons and groups may not be updated, so all are sent.
 */
export type Doubt = 'none' | 'beyond-cursor' | 'all' | 'attached';

/** The cursor is written after this many frames, or this much time. */
export const commitFrames = 8;
const commitMs = 250;

/** Decides when a cursor is written; `frames` counts those since the last time. */
export function createDue(clock: Clock): { isDue(frames: number): boolean; written(): void } {
  let writtenAt = clock.now();
  return {
    isDue: (frames) => frames >= commitFrames || clock.now() - writtenAt >= commitMs,
    written: () => {
      writtenAt = clock.now();
    },
  };
}

/**
 * Attached months whose facts about persons and groups are not completely delivered; their days count as loaded afterwards. Stored in
 * staging, so that an interrupted load continues with it.
 */
export interface PendingFacts {
  /** 202403 */
  readonly months: readonly number[];
  /** Delivered slices. */
  readonly slicesDone: number;
}

export const noFacts: PendingFacts = { months: [], slicesDone: 0 };

/** Reads pending facts. `hasBegun`: whether the load has admitted events; otherwise those of an earlier load are discarded. */
export async function openPendingFacts(staging: Staging, run: string, hasBegun: boolean): Promise<PendingFacts> {
  if (!hasBegun) await staging.remove(stagingKeys.pendingFacts(run));
  try {
    // writePendingFacts wrote it.
    return (await readJson(staging, stagingKeys.pendingFacts(run))) as PendingFacts;
  } catch (error) {
    if (error instanceof StagingMissingError) return noFacts;
    throw error;
  }
}

export async function writePendingFacts(staging: Staging, run: string, pending: PendingFacts): Promise<void> {
  await staging.write(stagingKeys.pendingFacts(run), [Buffer.from(JSON.stringify(pending))]);
}

/** Reads a small JSON file of a run. Throws StagingMissingError, or RunFailedError if it is damaged. */
export async function readJson(staging: Staging, key: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (cause) {
    throw new RunFailedError(
      `expected ${key} in ${staging.description} as an earlier stage wrote it, got: a damaged file`,
      { advice: 'startAgain', cause },
    );
  }
}
