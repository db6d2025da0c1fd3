import { describe, expect, it } from 'vitest';
import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import { exitCodes } from '../exit-codes.ts';
import { endOf } from './outcome.ts';
import type { RunView } from './run-view.ts';

function codeOf(
  verdict: VerifyResult['verdict'] | undefined,
  more: Partial<RunView> = {},
  notes?: CheckResult['notes'],
): number {
  const view = { state: 'completed', stages: 5, totals: { rejected: 0 }, ...more } as unknown as RunView;
  const none = { expected: 1, found: 1, cells: [], differences: [], truncated: 0 };
  const verify = verdict === undefined ? undefined : { ...none, verdict, detail: 'why' };
  const end = endOf(view, { verify, notes }, { paused: 'again', failed: 'again' });
  return end === undefined ? 0 : exitCodes[end.reason].code;
}

describe('the exit code of an import', () => {
  it.each([
    ['exact', 0],
    ['different', 7],
    ['exact_by_id', 9],
    ['unreadable', 10],
    [undefined, 0],
  ] as const)('depends on verification: %s is %d', (verdict, code) => {
    expect(codeOf(verdict)).toBe(code);
  });

  it('prefers rejected records to the verdict, and differences to both', () => {
    const rejected = { totals: { rejected: 2 } } as unknown as Partial<RunView>;
    expect(
      (['exact', 'exact_by_id', 'unreadable', 'different'] as const).map((each) => codeOf(each, rejected)),
    ).toEqual([3, 3, 3, 7]);
  });

  it('is 3 for a source that reports it is incomplete, although every event is stored; an assumed reading does not count', () => {
    const note = {
      of: 'matomo_actions_truncated',
      kind: 'incomplete',
      count: 1,
      amount: 2,
      samples: [],
      detail: 'x.',
    } as const;
    expect(codeOf('exact', {}, [note])).toBe(3);
    expect(codeOf('different', {}, [note])).toBe(7);
    expect(codeOf('exact', {}, [{ ...note, kind: 'assumed' }])).toBe(0);
  });

  it.each([
    ['paused', 75],
    ['failed', 1],
    ['cancelled', 1],
  ] as const)('of a run that is %s is %d, whatever the verdict', (state, code) => {
    expect(codeOf('exact', { state })).toBe(code);
  });
});
