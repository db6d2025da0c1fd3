import { describe, expect, it } from 'vitest';
import { liveStages } from '../../wire/contract/live-events.ts';
import { Tap } from './tap.ts';
import type { Watch } from './watch.ts';

function watch(changes: Partial<Watch> = {}): Watch {
  const everything = { event: undefined, distinctId: undefined, steps: false, perSecond: 100 };
  return { id: 1, projectId: 7, stages: liveStages, ...everything, ...changes };
}

function tapOf(...watches: readonly Watch[]) {
  let now = 0;
  const tap = new Tap(() => now);
  tap.watch(watches);
  return { tap, wait: (ms: number) => void (now += ms) };
}

describe('a source for readers of the live stream', () => {
  it('is watched only in projects that a reader watches', () => {
    const { tap } = tapOf(watch());
    expect([tap.isWatched(7), tap.isWatched(8)]).toEqual([true, false]);
    tap.watch([]);
    expect(tap.isWatched(7)).toBe(false);
  });

  it.each([
    ['the stage', { stages: ['stored'] }],
    ['the event', { event: 'other' }],
    ['the distinct_id', { distinctId: 'other' }],
    ['the project', { projectId: 8 }],
  ] as const)('shows nothing to a reader that does not want %s, and counts nothing for it', (_what, changes) => {
    const { tap } = tapOf(watch(changes), watch({ id: 2 }));
    expect(tap.readersOf(7, 'dropped', 'a', 'p')).toEqual([2]);
    expect(tap.take().skipped).toEqual([]);
  });

  it('shows a limited number of events per stage and second, and counts the others', () => {
    const { tap, wait } = tapOf(watch({ perSecond: 2 }), watch({ id: 2 }));
    const seen = () => tap.readersOf(7, 'stored', 'a', 'p');
    expect([seen(), seen(), seen()]).toEqual([[1, 2], [1, 2], [2]]);
    expect(tap.readersOf(7, 'received', 'a', 'p')).toEqual([1, 2]);
    expect(tap.take().skipped).toEqual([{ watch: 1, stage: 'stored', count: 1 }]);
    expect(tap.take().skipped).toEqual([]);
    wait(1000);
    expect(seen()).toEqual([1, 2]);
  });

  it('a reader keeps its quota when others open and close', () => {
    const { tap } = tapOf(watch({ perSecond: 1 }));
    tap.readersOf(7, 'stored', 'a', 'p');
    tap.watch([watch({ perSecond: 1 }), watch({ id: 2 })]);
    expect(tap.readersOf(7, 'stored', 'a', 'p')).toEqual([2]);
  });
});
