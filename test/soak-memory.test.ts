/** The judgement of `npm run prove -- soak`. */
import { describe, expect, it } from 'vitest';
import { fitLine, type Sample } from '../tools/prove/soak/fit.ts';
import { createHeaps } from '../tools/prove/soak/heaps.ts';
import { growthOf } from '../tools/prove/soak/memory.ts';
import { seededRandom } from './support/draw.ts';

const noise = seededRandom(7);
/** Of a normal distribution with a standard deviation of 1. */
const normal = (): number => Math.sqrt(-2 * Math.log(1 - noise())) * Math.cos(2 * Math.PI * noise());
const samplesOf = (count: number, value: (hours: number) => number): Sample[] =>
  Array.from({ length: count }, (_, index) => ({ hours: index / count, value: value(index / count) }));

describe('the line through samples of memory', () => {
  it('of a straight line is that line, without an error', () => {
    const { perHour, standardError } = fitLine(samplesOf(100, (hours) => 200 + 12.5 * hours));
    expect(perHour).toBeCloseTo(12.5, 9);
    expect(standardError).toBeCloseTo(0, 9);
  });

  it('of four samples that were calculated by hand', () => {
    // Mean 2.5 h and 3.5; Σxy = 7, Σxx = 5; residuals 0.6, -1.8, 1.8, -0.6, which do not resemble the one before.
    const values = [2, 1, 6, 5];
    const { perHour, standardError } = fitLine(values.map((value, index) => ({ hours: index + 1, value })));
    expect(perHour).toBeCloseTo(1.4, 9);
    expect(standardError).toBeCloseTo(Math.sqrt((0.6 ** 2 + 1.8 ** 2) / 5), 1);
  });

  it('is found through noise, and its error is as large as what the slopes of many series differ by', () => {
    const wandering = (): ((hours: number) => number) => {
      let last = 0;
      return (hours) => 300 + 40 * hours + (last = 0.8 * last + 3 * normal());
    };
    const lines = Array.from({ length: 400 }, () => fitLine(samplesOf(300, wandering())));
    const mean = lines.reduce((all, { perHour }) => all + perHour, 0) / lines.length;
    const spread = Math.sqrt(lines.reduce((all, { perHour }) => all + (perHour - 40) ** 2, 0) / lines.length);
    const error = lines.reduce((all, { standardError }) => all + standardError, 0) / lines.length;
    expect(Math.abs(mean - 40)).toBeLessThan(0.5);
    expect(error / spread).toBeGreaterThan(0.85);
    expect(error / spread).toBeLessThan(1.15);
  });

  it('needs three samples', () => {
    expect(() => fitLine(samplesOf(2, () => 1))).toThrow('three samples');
  });
});

describe('excessive growth', () => {
  const growing = (perHour: number, deviation: number): Sample[] =>
    samplesOf(300, (hours) => 300 + perHour * hours + deviation * normal());
  const nothing = { service: [], store: [], plugins: [], live: [], outside: [] };
  const isTooMuch = (store: Sample[]): boolean[] =>
    growthOf({ ...nothing, store }, 0.2, 60).map((growth) => growth.isTooMuch);

  it.each([
    ['grows by more than is allowed', 100, 5, [true]],
    ['grows by less than is allowed', 30, 5, [false]],
    ['grows by less than its error', 100, 1000, [false]],
    ['shrinks', -100, 5, [false]],
  ])('of a process that %s', (_name, perHour, deviation, expected) => {
    expect(isTooMuch(growing(perHour, deviation))).toEqual(expected);
  });

  it.each([
    ['service', false],
    ['plugins', true],
    ['live', true],
    ['outside', true],
  ] as const)('growth of %s is judged: %s', (what, expected) => {
    const [growth] = growthOf({ ...nothing, [what]: growing(100, 5) }, 0.2, 60);
    expect(growth).toMatchObject({ what, isTooMuch: expected });
  });

  it('the warm-up is ignored', () => {
    expect(isTooMuch(samplesOf(300, (hours) => 300 + 200 * Math.min(hours, 0.2) + normal()))).toEqual([false]);
  });
});

describe('the heaps of a process', () => {
  it('are parsed from the output of V8, thread by thread, in any pieces', () => {
    const text = [
      'Millrace is ready at http://127.0.0.1:8000',
      '[7:0xa1]    10 ms: Scavenge 11.5 (20.0) -> 6.9 (20.0) MB, pooled: 6 MB, 5.28 / 0.06 ms  (average mu = 0.995) task; ',
      '[7:0xa1]    20 ms: Mark-Compact 8.7 (17.8) -> 3.0 (17.0) MB, pooled: 1 MB, 13.26 / 0.04 ms  (+ 12.5 ms in 72 steps) task',
      '[7:0xb2]    25 ms: Mark-Compact (reduce) 75.6 (173.6) -> 30.0 (169.0) MB, pooled: 0 MB, 7.93 / 0.04 ms  task',
      '[7:0xb2]    30 ms: Scavenge 40.0 (169.0) -> 32.0 (180.0) MB, pooled: 2 MB, 7.93 / 0.04 ms  task',
      '',
    ].join('\n');
    const heaps = createHeaps();
    expect([heaps.liveBytes(), heaps.heldBytes()]).toEqual([undefined, 0]);
    for (const letter of text) heaps.read(letter);
    const megabytes = (bytes: number | undefined): number => (bytes ?? 0) / 1024 / 1024;
    expect(megabytes(heaps.liveBytes())).toBe(33);
    expect(megabytes(heaps.heldBytes())).toBe(17 + 1 + 180 + 2);
  });
});
