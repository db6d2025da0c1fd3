import { describe, expect, it } from 'vitest';
import { openCheckProblems } from './check-problems.ts';
import { noTotals, type Run } from './run.ts';

type Problems = NonNullable<NonNullable<Run['progress']['check']>['problems']>;

function run(problems: Problems | undefined, options: Partial<Run['options']> = {}, rejected = 3): Run {
  const check = { stage: 'check', partsDone: 1, done: 100, bytes: 0, rate: 0, ...(problems && { problems }) } as const;
  return {
    progress: { check },
    options: { rejectedMax: 0, ...options },
    totals: { ...noTotals, records: 100, events: 97, rejected },
  } as unknown as Run;
}

describe('why a checked run must not be loaded', () => {
  it('is unknown before the check, and for a check by an older version', () => {
    expect(openCheckProblems({ ...run([]), progress: {} })).toBeNull();
    expect(openCheckProblems(run(undefined))).toBeNull();
    expect(openCheckProblems(run([], {}, 0))).toEqual([]);
  });

  it('is settled by the required tolerance, and not by less', () => {
    expect(openCheckProblems(run(['too_many_rejected'], { rejectedMax: 0.02 }))).toEqual(['too_many_rejected']);
    expect(openCheckProblems(run(['too_many_rejected'], { rejectedMax: 0.03 }))).toEqual([]);
    // The target has rejected more than the check.
    expect(openCheckProblems(run([], { rejectedMax: 0.02 }))).toEqual(['too_many_rejected']);
  });

  it('is settled by loading in addition to an earlier run; nothing settles that there is nothing to load', () => {
    expect(openCheckProblems(run(['stored_before'], {}, 0))).toEqual(['stored_before']);
    expect(openCheckProblems(run(['stored_before'], { again: true }, 0))).toEqual([]);
    expect(openCheckProblems(run(['no_events'], { again: true, rejectedMax: 1 }))).toEqual(['no_events']);
    expect(openCheckProblems(run(['no_events']))).toEqual(['no_events']);
  });
});
