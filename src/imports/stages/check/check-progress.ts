import type { Clock } from '../../../base/clock.ts';
import type { LeasedRun, Segment } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';

/** Reports the progress of the check. Records are counted while they are converted. */
export interface CheckProgress {
  /** Records the number of lines read in a segment. Lower numbers, from a segment that is checked again, are ignored. */
  within(segment: CountedSegment, lines: number): void;
  /** Records that a segment is done, now or before an interruption. */
  segment(segment: CountedSegment): void;
  part(): void;
  day(): void;
  finish(result: Pick<CheckResult, 'totals' | 'problem_codes'>): void;
}

type CountedSegment = Pick<Segment, 'records' | 'continued' | 'rawBytes'>;

interface CheckSize {
  readonly parts: number;
  readonly records: number;
  readonly bytes: number;
}

const rateWindowMs = 30_000;
const pointsMax = 600;

export function createCheckProgress(leased: LeasedRun, clock: Clock, size: CheckSize): CheckProgress {
  const startedAt = leased.run.progress.check?.startedAt ?? clock.now();
  const points: { at: number; done: number }[] = [{ at: clock.now(), done: 0 }];
  const begun = new Map<CountedSegment, Counted>();
  const whole = { done: 0, bytes: 0 };
  let partsDone = 0;
  const show = (finished?: Pick<CheckResult, 'totals' | 'problem_codes'>): void => {
    const now = clock.now();
    const { done, bytes } = sumOf([whole, ...begun.values()]);
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
    within: (segment, lines) => {
      const counted = countedOf(segment, lines);
      if (counted.bytes <= (begun.get(segment)?.bytes ?? 0)) return;
      begun.set(segment, counted);
      show();
    },
    segment: (segment) => {
      const { done, bytes } = countedOf(segment, segment.records);
      begun.delete(segment);
      whole.done += done;
      whole.bytes += bytes;
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

interface Counted {
  readonly done: number;
  readonly bytes: number;
}

/** Never exceeds the counts of the finished segment, so that reported progress only grows. */
function countedOf({ records, continued = 0, rawBytes }: CountedSegment, lines: number): Counted {
  const share = records === 0 ? 1 : Math.min(1, lines / records);
  return { done: Math.min(lines, records - continued), bytes: Math.floor(rawBytes * share) };
}

function sumOf(all: readonly Counted[]): Counted {
  const sum = { done: 0, bytes: 0 };
  for (const { done, bytes } of all) {
    sum.done += done;
    sum.bytes += bytes;
  }
  return sum;
}

function problemsOf({ problem_codes: problems }: Pick<CheckResult, 'problem_codes'>) {
  return problems === undefined ? {} : { problems };
}

function rateOf(first: { readonly at: number; readonly done: number } | undefined, now: number, done: number): number {
  if (first === undefined || now <= first.at) return 0;
  return Math.round(((done - first.done) * 1000) / (now - first.at));
}
