import type { Clock } from '../../../base/clock.ts';
import { type LeasedRun } from '../../run/leased-run.ts';
import { isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { CheckResult } from '../../run/results.ts';
import { createRate } from '../rate.ts';
import type { DeliveredFrame } from './deliver-frame.ts';

/** How far the load has come, over all days. */
export interface LoadProgress {
  /** Refused by the check or the target. */
  readonly rejected: () => number;
  add(delivered: Omit<DeliveredFrame, 'frame'> & { readonly bytes: number }): void;
  dayDone(): void;
  show(): void;
  finish(): void;
}

/** `bytesDone`: of the frames that were loaded before. */
export function createLoadProgress(
  leased: LeasedRun,
  clock: Clock,
  check: CheckResult,
  days: readonly StoredDay[],
  bytesDone: number,
): LoadProgress {
  const sum = (of: (day: StoredDay) => number): number => days.reduce((total, day) => total + of(day), 0);
  const startedAt = leased.run.progress.load?.startedAt ?? clock.now();
  const total = sum((day) => day.events);
  const bytesTotal = sum((day) => day.bytes);
  const rate = createRate(clock);
  let accepted = sum((day) => day.accepted);
  let rejected = sum((day) => day.rejected);
  let bytes = bytesDone;
  let partsDone = days.filter(isLoaded).length;
  let lastProgressAt = leased.run.progress.load?.lastProgressAt;
  const show = (finishedAt?: number): void =>
    leased.progress(
      {
        stage: 'load',
        partsDone,
        partsTotal: days.length,
        done: accepted + rejected,
        total,
        bytes,
        bytesTotal,
        startedAt,
        rate: rate.perSecond(),
        ...(lastProgressAt === undefined ? {} : { lastProgressAt }),
        ...(finishedAt === undefined ? {} : { finishedAt }),
      },
      {
        loaded: accepted,
        rejected: check.totals.rejected + rejected,
        rejected_events: (check.totals.rejected_events ?? 0) + rejected,
      },
    );
  return {
    rejected: () => check.totals.rejected + rejected,
    add: (delivered) => {
      accepted += delivered.accepted;
      rejected += delivered.rejected;
      bytes += delivered.bytes;
      lastProgressAt = clock.now();
      rate.add(delivered.accepted + delivered.rejected);
    },
    dayDone: () => {
      partsDone += 1;
    },
    show: () => show(),
    finish: () => show(clock.now()),
  };
}
