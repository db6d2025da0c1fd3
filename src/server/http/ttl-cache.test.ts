import { describe, expect, it } from 'vitest';
import { createTtlCache } from './auth.ts';

describe('createTtlCache', () => {
  it('keeps values for their time, at most as many as its size, and no missing ones', async () => {
    let now = 0;
    let loads = 0;
    const cache = createTtlCache<string>({ clock: { now: () => now }, ttlMs: 100, max: 2 });
    const load = (value: string | undefined) => async () => {
      loads += 1;
      return value;
    };
    await cache.through('none', load(undefined));
    await cache.through('none', load(undefined));
    expect(loads).toBe(2);
    await cache.through('a', load('1'));
    now = 99;
    expect(await cache.through('a', load('2'))).toBe('1');
    now = 100;
    expect(await cache.through('a', load('3'))).toBe('3');
    await cache.through('b', load('4'));
    await cache.through('c', load('5'));
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, '4', '5']);
  });

  it('does not keep a value that was removed during its load', async () => {
    const cache = createTtlCache<string>({ clock: { now: () => 0 }, ttlMs: 100, max: 2 });
    let arrive: (value: string) => void = () => undefined;
    const reading = cache.through('a', () => new Promise((resolve) => (arrive = resolve)));
    cache.delete((value) => value === 'old');
    arrive('old');
    expect(await reading).toBe('old');
    expect(cache.get('a')).toBeUndefined();
  });
});
