import { describe, expect, it } from 'vitest';
import { createLaneLimits, type LaneLimits } from './lane-limits.ts';

function besideLive(eventsMax: number): LaneLimits {
  const limits = createLaneLimits(eventsMax, () => 1000);
  limits.record('live', 10, 1);
  return limits;
}

describe('the size of historical windows', () => {
  it('beside live events: as much as half a second allows, but enough for efficient inserts', () => {
    const limits = besideLive(100_000);
    expect(limits.of('historical').events).toBe(50_000);
    limits.record('historical', 50_000, 900);
    expect(limits.of('historical').events).toBe(25_000);
    limits.record('historical', 25_000, 9000);
    expect(limits.of('historical').events).toBe(20_000);
    for (let i = 0; i < 5; i++) limits.record('historical', limits.of('historical').events, 10);
    expect(limits.of('historical').events).toBe(100_000);
  });

  it('without live events: the maximum, and small again as soon as a live event arrives', () => {
    let now = 0;
    const limits = createLaneLimits(100_000, () => now);
    limits.record('historical', 100_000, 1500);
    expect(limits.of('historical').events).toBe(100_000);
    limits.record('live', 1, 5);
    expect(limits.of('historical').events).toBe(30_000);
    now += 30_001;
    expect(limits.of('historical').events).toBe(100_000);
  });

  it('small windows do not change the size unless they are slow, and live windows are not limited', () => {
    const limits = besideLive(100_000);
    limits.record('historical', 10, 1);
    expect(limits.of('historical').events).toBe(50_000);
    limits.record('historical', 10, 5000);
    expect(limits.of('historical').events).toBe(20_000);
    limits.record('live', 100_000, 5000);
    expect(limits.of('live').events).toBe(100_000);
  });

  it('with asynchronous transformations: full windows without live events, short ones beside them', () => {
    let now = 0;
    const limits = createLaneLimits(100_000, () => now);
    expect([limits.waitedMsMax('live'), limits.waitedMsMax('historical')]).toEqual([800, 5000]);
    limits.record('live', 1, 5);
    expect([limits.waitedMsMax('live'), limits.waitedMsMax('historical')]).toEqual([800, 800]);
    now += 30_001;
    expect(limits.waitedMsMax('historical')).toBe(5000);
  });

  it('never more than the setting', () => {
    const limits = besideLive(7);
    limits.record('historical', 7, 5000);
    expect([limits.of('historical').events, limits.of('live').events]).toEqual([7, 7]);
  });
});
