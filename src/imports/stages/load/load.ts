import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import type { DayState, StoredDay } from '../../run/import-day.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { DeliverFrameDeps } from './deliver-frame.ts';
import type { LoadProgress } from './load-progress.ts';
import type { PendingFacts } from './pending-facts.ts';
import type { FrameSource } from './read-table.ts';

/** A load that is under way. */
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
  /** Of facts of persons, about. */
  readonly sliceFacts: number;
  doubtOf(day: StoredDay): Doubt;
  /** Makes durable how far a day has come, and shows it. */
  save(day: StoredDay, change: Partial<DayState>): Promise<void>;
}

/** What attached months say of persons and groups, to be delivered yet. */
export interface LoadPending {
  readonly current: PendingFacts;
  /** Makes it durable. */
  save(pending: PendingFacts): Promise<void>;
}

/**
 * Which frames of a day the target may have already: those that were under way when the load stopped, or any, after a retry. `attached`:
 * their rows may all be there, which says nothing of persons and groups, so that all of them are sent.
 */
export type Doubt = 'none' | 'beyond-cursor' | 'all' | 'attached';

/** The cursor is written after so many frames, or so much time. */
export const commitFrames = 8;
const commitMs = 250;

/** Whether a cursor is to be written; `frames`: those that came since the last time. */
export function createDue(clock: Clock): { isDue(frames: number): boolean; written(): void } {
  let writtenAt = clock.now();
  return {
    isDue: (frames) => frames >= commitFrames || clock.now() - writtenAt >= commitMs,
    written: () => {
      writtenAt = clock.now();
    },
  };
}
