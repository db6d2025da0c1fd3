import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../test/support/draw.ts';
import { createRunSize, type RunSize } from './run-size.ts';

const options = { first: 500, min: 20, max: 20_000, msMax: 400 } as const;

/** Runs as large as may be, and what each of them takes; the sizes of the last ones. */
function sizesAfter(size: RunSize, msOf: (events: number) => number, runs = 60): number[] {
  return Array.from({ length: runs }, () => {
    const { events } = size;
    size.took(events, msOf(events));
    return size.events;
  }).slice(-10);
}

describe('the size of runs', () => {
  it.each([
    ['fast', 0.05, 8000],
    ['ordinary', 1, 400],
    ['slow', 10, 40],
    ['so slow that not even the fewest are done in time', 100, 20],
  ])('is what fits where events are %s', (_name, msEach, expected) => {
    for (const events of sizesAfter(createRunSize(options), (count) => count * msEach)) {
      expect(events / expected).toBeCloseTo(1, 1);
    }
  });

  it('does not become small where a run takes long whatever is in it', () => {
    const random = seededRandom(5);
    const sizes = sizesAfter(createRunSize(options), (events) => 300 + 1200 * random() + events * 0.2);
    expect(Math.min(...sizes)).toBeGreaterThan(200);
  });

  it('is small after one run when events have become slow, and large again when they are fast', () => {
    const size = createRunSize(options);
    sizesAfter(size, (events) => events * 0.1);
    size.took(size.events, size.events * 50);
    expect(size.events).toBe(20);
    expect(sizesAfter(size, (events) => events * 0.1).at(-1)).toBe(4000);
  });

  it('one run is no more than four seconds of what it was before, though it takes long whatever is in it', () => {
    const [last = 0] = sizesAfter(createRunSize(options), (events) => 100 + events).slice(-1);
    expect(last).toBeLessThan(4000);
  });
});
