import { beforeEach, describe, expect, it } from 'vitest';
import type { PluginCache } from '../host.ts';
import { createCacheStore, type CacheStore } from './cache-store.ts';

let now: number;
let store: CacheStore;
let cache: PluginCache;
beforeEach(() => {
  now = 1_000_000;
  store = createCacheStore({ bytesMax: 100_000, now: () => now });
  cache = store.of('geoip', 1);
});

describe('values', () => {
  it('are returned until they expire; 0 and undefined mean never', async () => {
    await cache.set('short', '1', 10);
    await cache.set('long', '2', 0);
    await cache.set('longest', '');
    now += 9999;
    expect(await cache.get('short')).toBe('1');
    now += 1;
    expect(await cache.get('short')).toBeUndefined();
    now += 1e12;
    expect([await cache.get('long'), await cache.get('longest')]).toEqual(['2', '']);
  });

  it('a new value resets the expiry, an increment keeps it', async () => {
    await cache.set('a', '1', 10);
    await cache.set('a', '1');
    await cache.set('b', '1', 10);
    expect(await cache.increment('b')).toBe(2);
    now += 10_000;
    expect([await cache.get('a'), await cache.get('b')]).toEqual(['1', undefined]);
    expect(await cache.increment('b')).toBe(1);
  });

  it('expire sets the expiry of an existing key', async () => {
    await cache.set('a', '1');
    expect([await cache.expire('a', 5), await cache.expire('b', 5)]).toEqual([true, false]);
    now += 5000;
    expect(await cache.get('a')).toBeUndefined();
    await cache.set('c', '1');
    expect([await cache.expire('c', 0), await cache.get('c')]).toEqual([true, undefined]);
  });

  it('are shared by a plugin in a project only', async () => {
    await cache.set('k', 'mine');
    expect(await store.of('geoip', 1).get('k')).toBe('mine');
    expect(await store.of('geoip', 2).get('k')).toBeUndefined();
    expect(await store.of('other', 1).get('k')).toBeUndefined();
    expect(await store.of('1 geoip', 1).get('k')).toBeUndefined();
  });

  it('concurrent increments all count', async () => {
    const sums = await Promise.all(Array.from({ length: 20 }, () => cache.increment('n')));
    expect(sums).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });
});

describe('lists', () => {
  it('behave as in Redis', async () => {
    expect(await cache.listPush('l', ['a', 'b', 'c'])).toBe(3);
    expect(await cache.listPush('l', ['d'])).toBe(4);
    expect(await cache.listRange('l', 0, -1)).toEqual(['d', 'c', 'b', 'a']);
    expect(await cache.listLength('l')).toBe(4);
    expect(await cache.listPop('l', 2)).toEqual(['d', 'c']);
    expect(await cache.listPop('l', 5)).toEqual(['b', 'a']);
    expect(await cache.listLength('l')).toBe(0);
    expect(await cache.listPop('l', 1)).toEqual([]);
    expect(await cache.expire('l', 1)).toBe(false);
  });

  it.each([
    [0, 0, ['a']],
    [1, 2, ['b', 'c']],
    [0, 100, ['a', 'b', 'c', 'd']],
    [-2, -1, ['c', 'd']],
    [-100, 1, ['a', 'b']],
    [2, 1, []],
    [4, 5, []],
    [0, -5, []],
  ])('from %i to %i', async (start, end, expected) => {
    await cache.listPush('l', ['d', 'c', 'b', 'a']);
    expect(await cache.listRange('l', start, end)).toEqual(expected);
  });

  it.each([
    [0, 3, 'b c'],
    [2, 2, 'b a c'],
    [-2, 2, 'a b c'],
    [9, 3, 'b c'],
  ])('removing with count %i takes %i away', async (count, gone, left) => {
    await cache.listPush('l', ['c', 'a', 'a', 'b', 'a'].slice());
    await cache.listPop('l', 0);
    expect(await cache.listRange('l', 0, -1)).toEqual(['a', 'b', 'a', 'a', 'c']);
    expect(await cache.listRemove('l', count, 'a')).toBe(gone);
    expect((await cache.listRange('l', 0, -1)).join(' ')).toBe(left);
  });

  it('keep their expiry when they change', async () => {
    await cache.listPush('l', ['a']);
    await cache.expire('l', 10);
    await cache.listPush('l', ['b']);
    now += 10_000;
    expect(await cache.listRange('l', 0, -1)).toEqual([]);
  });
});

describe('refusals with their messages', () => {
  it.each<[string, (cache: PluginCache) => Promise<unknown>, string]>([
    ['a list as text', (each) => each.get('list'), 'expected a text at "list", got: a list'],
    ['a text as list', (each) => each.listPush('text', ['x']), 'expected a list at "text", got: a text'],
    ['counting a list', (each) => each.increment('list'), 'expected a text at "list"'],
    ['counting a text', (each) => each.increment('text'), 'expected an integer at "text", got: another text'],
    ['a long key', (each) => each.set('k'.repeat(513), ''), 'a key of at most 512 characters, got: 513'],
    ['a long value', (each) => each.set('k', 'x'.repeat(1_000_001)), 'at most 1000000 characters'],
    ['a long push', (each) => each.listPush('l', Array(1001).fill('x')), 'at most 1000 values per push, got: 1001'],
    ['a negative age', (each) => each.set('k', '', -1), 'a time to live above 0 seconds, got: -1'],
    ['no age', (each) => each.set('k', '', Number.NaN), 'a time to live above 0 seconds, got: NaN'],
  ])('%s', async (_name, act, message) => {
    await cache.set('text', 'x');
    await cache.listPush('list', ['x']);
    await expect(act(cache)).rejects.toThrow(message);
  });
});

describe('memory', () => {
  it('keeps the most recently used entries', async () => {
    const value = 'x'.repeat(4000);
    for (let index = 0; index < 100; index += 1) {
      await cache.set(`k${index}`, value);
      expect(await cache.get('k0')).toBe(value);
    }
    const kept = await Promise.all(Array.from({ length: 100 }, async (_, index) => cache.get(`k${index}`)));
    const count = kept.filter((each) => each !== undefined).length;
    expect(count).toBe(12);
    expect(kept[99]).toBe(value);
    expect(kept[1]).toBeUndefined();
  });

  it('evicts from the largest user first', async () => {
    const quiet = store.of('quiet', 1);
    await quiet.set('k', 'kept');
    for (let index = 0; index < 1000; index += 1) await cache.listPush(`l${index % 7}`, ['x'.repeat(3000)]);
    expect(await quiet.get('k')).toBe('kept');
  });

  it('an entry larger than the memory is not kept, and evicts little else', async () => {
    await cache.set('huge', 'x'.repeat(100_000));
    expect(await cache.get('huge')).toBeUndefined();
    await cache.set('k', 'x');
    expect(await cache.get('k')).toBe('x');
  });
});
