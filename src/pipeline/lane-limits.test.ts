import { describe, expect, it } from 'vitest';
import { createLaneLimits } from './lane-limits.ts';

describe('how much history is taken at once', () => {
  it('as much as half a second allows, never so little that inserts get inefficient', () => {
    const limits = createLaneLimits(100_000);
    expect(limits.of('historical').events).toBe(50_000);
    limits.took('historical', 50_000, 900);
    expect(limits.of('historical').events).toBe(25_000);
    limits.took('historical', 25_000, 9000);
    expect(limits.of('historical').events).toBe(20_000);
    for (let i = 0; i < 5; i++) limits.took('historical', limits.of('historical').events, 10);
    expect(limits.of('historical').events).toBe(100_000);
  });

  it('small windows say nothing, unless they are slow; live ones are not bounded', () => {
    const limits = createLaneLimits(100_000);
    limits.took('historical', 10, 1);
    expect(limits.of('historical').events).toBe(50_000);
    limits.took('historical', 10, 5000);
    expect(limits.of('historical').events).toBe(20_000);
    limits.took('live', 100_000, 5000);
    expect(limits.of('live').events).toBe(100_000);
  });

  it('never more than the setting', () => {
    const limits = createLaneLimits(7);
    limits.took('historical', 7, 5000);
    expect([limits.of('historical').events, limits.of('live').events]).toEqual([7, 7]);
  });
});
