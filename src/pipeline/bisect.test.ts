import { describe, expect, it } from 'vitest';
import { bisect, InconclusiveError } from './poison-search.ts';

function range(poison: readonly number[]) {
  let probes = 0;
  const probe = async (from: number, to: number): Promise<boolean> => {
    probes += 1;
    return !poison.some((at) => at >= from && at < to);
  };
  return { probe, probes: () => probes };
}

describe('finding the poison events of a range', () => {
  it.each([[[0]], [[999]], [[3, 4, 500]], [[]]])('%j of 1000', async (poison) => {
    const { probe, probes } = range(poison);
    expect([...(await bisect(1000, probe))].sort((a, b) => a - b)).toEqual(poison);
    expect(probes()).toBeLessThan(100);
  });

  it.each([1, 2, 1000])('no event is poison if the store refuses all %i of them', async (count) => {
    const { probe, probes } = range(Array.from({ length: count }, (_, at) => at));
    await expect(bisect(count, probe)).rejects.toThrow(InconclusiveError);
    expect(probes()).toBeLessThanOrEqual(40);
  });

  it('no event is poison if the store becomes unavailable during the search', async () => {
    const { probe } = range([700]);
    let calls = 0;
    await expect(bisect(1000, async (from, to) => ++calls < 4 && probe(from, to))).rejects.toThrow(InconclusiveError);
  });

  it('an event that failed only temporarily is not poison', async () => {
    let isDown = true;
    const probe = async (from: number, to: number): Promise<boolean> => {
      if (to - from === 1 && from === 5) isDown = !isDown;
      return !(from <= 5 && to > 5 && (to - from > 1 || !isDown));
    };
    expect(await bisect(8, probe)).toEqual([]);
  });

  it('an empty range has no poison events', async () => {
    expect(await bisect(0, async () => false)).toEqual([]);
  });
});
