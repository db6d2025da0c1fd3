import { describe, expect, it } from 'vitest';
import { createSpreads, type FoundSpread } from './spreads.ts';

function spreadsOf(answer: () => FoundSpread | Error | undefined) {
  let now = 0;
  let asked = 0;
  const find = async (): Promise<FoundSpread | undefined> => {
    asked += 1;
    const found = answer();
    if (found instanceof Error) throw found;
    return found;
  };
  const spreads = createSpreads({ find, clock: { now: () => now } });
  return {
    of: () => spreads.of(1),
    asked: () => asked,
    pass: (ms: number): void => {
      now += ms;
    },
  };
}

describe('over how many slots a project is spread', () => {
  it('is asked once in a few seconds, and seen within five', async () => {
    let spread = 1;
    const spreads = spreadsOf(() => ({ spread, before: 1, ageMs: 60_000 }));
    expect(await Promise.all([spreads.of(), spreads.of()])).toEqual([1, 1]);
    expect(spreads.asked()).toBe(1);
    spread = 4;
    spreads.pass(2501);
    expect(await spreads.of()).toBe(4);
  });

  it('is what it was for two seconds after it changed: consumers must have seen it before', async () => {
    let ageMs = 1300;
    const spreads = spreadsOf(() => ({ spread: 4, before: 2, ageMs }));
    expect(await spreads.of()).toBe(2);
    spreads.pass(701);
    ageMs = 2001;
    expect(await spreads.of()).toBe(4);
  });

  it('is remembered while the metadata store is away; without a memory the request is refused', async () => {
    let answer: FoundSpread | Error = { spread: 4, before: 1, ageMs: 60_000 };
    const spreads = spreadsOf(() => answer);
    await spreads.of();
    answer = new Error('away');
    spreads.pass(60_000);
    expect(await spreads.of()).toBe(4);
    await expect(spreadsOf(() => new Error('away')).of()).rejects.toMatchObject({ status: 503 });
    expect(await spreadsOf(() => undefined).of()).toBe(1);
  });
});
