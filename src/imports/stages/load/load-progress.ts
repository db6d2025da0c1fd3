import type { Clock } from '../../../base/clock.ts';
import { type LeasedRun } from '../../run/leased-run.ts';
import { isAdmitted, isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { CheckResult } from '../../run/results.ts';
import { createRate } from '../rate.ts';
import { byMonth } from './read-table.ts';

/** Progress of the load over all days. */
export interface LoadProgress {
  /** Events rejected by the check or the target. */
  readonly rejected: () => number;
  /** Updates a day, and shows it. */
  set(day: StoredDay): void;
  /** Adds a delivered slice of facts. */
  slice(): void;
  show(): void;
  finish(): void;
}

export function createLoadProgress(
  leased: LeasedRun,
  clock: Clock,
  check: CheckResult,
  before: readonly StoredDay[],
): LoadProgress {
  const days = new Map(before.map((day) => [day.day, day]));
  const sum = (of: (day: StoredDay) => number): number => days.values().reduce((total, day) => total + of(day), 0);
  const startedAt = leased.run.progress.load?.startedAt ?? clock.now();
  const rate = createRate(clock);
  let { lastProgressAt, slices } = leased.run.progress.load ?? {};
  const rejectedByTarget = (): number => sum((day) => day.rejected);
  const show = (finishedAt?: number): void => {
    const rejected = rejectedByTarget();
    leased.progress(
      {
        stage: 'load',
        partsDone: sum((day) => (isLoaded(day) ? 1 : 0)),
        partsTotal: days.size,
        done: sum(doneOf),
        total: sum((day) => day.events),
        bytes: sum(bytesDone),
        bytesTotal: sum((day) => day.bytes),
        startedAt,
        rate: rate.perSecond(),
        ...(lastProgressAt === undefined ? {} : { lastProgressAt }),
        ...(slices === undefined ? {} : { slices }),
        ...(finishedAt === undefined ? {} : { finishedAt }),
      },
      {
        loaded: byMonth([...days.values()])
          .values()
          .reduce((total, month) => total + loadedIn(month), 0),
        rejected: check.totals.rejected + rejected,
        rejected_events: (check.totals.rejected_events ?? 0) + rejected,
      },
    );
  };
  return {
    rejected: () => check.totals.rejected + rejectedByTarget(),
    set: (day) => {
      const known = days.get(day.day);
      rate.add(Math.max(0, doneOf(day) - (known === undefined ? 0 : doneOf(known))));
      days.set(day.day, day);
      lastProgressAt = clock.now();
      show();
    },
    slice: () => {
      slices = (slices ?? 0) + 1;
      lastProgressAt = clock.now();
      show();
    },
    show: () => show(),
    finish: () => show(clock.now()),
  };
}

function doneOf({ accepted, rejected }: StoredDay): number {
  return accepted + rejected;
}

function bytesDone(day: StoredDay): number {
  return isLoaded(day) ? day.bytes : Math.round((day.bytes * doneOf(day)) / day.events);
}

/** Admitted events do not count before their month can be attached. */
function loadedIn(month: readonly StoredDay[]): number {
  const canBeAttached = month.every((day) => isLoaded(day) || isAdmitted(day));
  return month.reduce((sum, day) => sum + (canBeAttached || day.framesLoaded > 0 ? day.accepted : 0), 0);
}
