import type { Clock } from '../../../base/clock.ts';
import type { LeasedRun, Segment } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';

/** Shows how far the check is. Records are counted while they are converted, bytes again while days are made. */
export interface CheckProgress {
  /** A segment is done, now or before an interruption. */
  segment(segment: Pick<Segment, 'records' | 'continued' | 'rawBytes'>): void;
  part(): void;
  day(): void;
  finish(result: Pick<CheckResult, 'totals' | 'problem_codes'>): void;
}

export interface CheckSize {
  readonly parts: number;
  readonly records: number;
  readonly bytes: number;
}

const rateWindowMs = 30_000;
const pointsMax = 600;

export function createCheckProgress(leased: LeasedRun, clock: Clock, size: CheckSize): CheckProgress {
  const startedAt = leased.run.progress.check?.startedAt ?? clock.now();
  const points: { at: number; done: number }[] = [{ at: clock.now(), done: 0 }];
  let done = 0;
  let bytes = 0;
  let partsDone = 0;
  const show = (finished?: Pick<CheckResult, 'totals' | 'problem_codes'>): void => {
    const now = clock.now();
    points.push({ at: now, done });
    while (points.length > 2 && ((points[1]?.at ?? now) < now - rateWindowMs || points.length > pointsMax))
      points.shift();
    const progress = {
      stage: 'check',
      partsDone,
      partsTotal: size.parts,
      done,
      total: size.records,
      bytes,
      bytesTotal: size.bytes,
      startedAt,
      rate: rateOf(points[0], now, done),
      lastProgressAt: now,
    } as const;
    if (finished === undefined) leased.progress(progress);
    else leased.progress({ ...progress, finishedAt: now, ...problemsOf(finished) }, finished.totals);
  };
  return {
    segment: ({ records, continued = 0, rawBytes }) => {
      done += records - continued;
      bytes += rawBytes;
      show();
    },
    part: () => {
      partsDone += 1;
      show();
    },
    day: () => show(),
    finish: show,
  };
}

function problemsOf({ problem_codes: problems }: Pick<CheckResult, 'problem_codes'>) {
  return problems === undefined ? {} : { problems };
}

function rateOf(first: { readonly at: number; readonly done: number } | undefined, now: number, done: number): number {
  if (first === undefined || now <= first.at) return 0;
  return Math.round(((done - first.done) * 1000) / (now - first.at));
}
