import { describe, expect, it } from 'vitest';
import { createSpreads, type FoundSpread } from './spreads.ts';

function spreadsOf(response: () => FoundSpread | Error | undefined) {
  let now = 0;
  let lookups = 0;
  const find = async (): Promise<FoundSpread | undefined> => {
    lookups += 1;
    const found = response();
    if (found instanceof Error) throw found;
    return found;
  };
  const spreads = createSpreads({ find, clock: { now: () => now } });
  return {
    of: () => spreads.of(1),
    lookups: () => lookups,
    pass: (ms: number): void => {
      now += ms;
    },
  };
}

describe('the spread of a project', () => {
  it('is looked up once in a few seconds, and a change is seen within five', async () => {
    let spread = 1;
    const spreads = spreadsOf(() => ({ spread, before: 1, ageMs: 60_000 }));
    expect(await Promise.all([spreads.of(), spreads.of()])).toEqual([1, 1]);
    expect(spreads.lookups()).toBe(1);
    spread = 4;
    spreads.pass(2501);
    expect(await spreads.of()).toBe(4);
  });

  it('keeps its old value for two seconds after a change, so that consumers see the change first', async () => {
    let ageMs = 1300;
    const spreads = spreadsOf(() => ({ spread: 4, before: 2, ageMs }));
    expect(await spreads.of()).toBe(2);
    spreads.pass(701);
    ageMs = 2001;
    expect(await spreads.of()).toBe(4);
  });

  it('is kept while the metadata store is unavailable; an unknown one refuses the request', async () => {
    let response: FoundSpread | Error = { spread: 4, before: 1, ageMs: 60_000 };
    const spreads = spreadsOf(() => response);
    await spreads.of();
    response = new Error('timeout');
    spreads.pass(60_000);
    expect(await spreads.of()).toBe(4);
    await expect(spreadsOf(() => new Error('timeout')).of()).rejects.toMatchObject({ status: 503 });
    expect(await spreadsOf(() => undefined).of()).toBe(1);
  });
});
