import { describe, expect, it } from 'vitest';
import { createProjectKeys, type ProjectKeys } from './project-key.ts';

function setUp(more: { entriesMax?: number } = {}): {
  keys: ProjectKeys;
  lookups: string[];
  advance(ms: number): void;
  known: Map<string, number>;
} {
  let now = 0;
  const lookups: string[] = [];
  const known = new Map([['phc_a', 1]]);
  const keys = createProjectKeys({
    clock: { now: () => now },
    findProject: async (token) => {
      lookups.push(token);
      return known.get(token);
    },
    ...more,
  });
  return {
    keys,
    lookups,
    known,
    advance: (ms) => {
      now += ms;
    },
  };
}

describe('the cache of project keys', () => {
  it('looks a key up once in a few seconds, even for concurrent requests', async () => {
    const { keys, lookups, advance } = setUp();
    expect(await Promise.all([keys.projectOf('phc_a'), keys.projectOf(' phc_a '), keys.projectOf('phc_a')])).toEqual([
      1, 1, 1,
    ]);
    await keys.projectOf('phc_a');
    expect(lookups).toEqual(['phc_a']);
    advance(5001);
    await keys.projectOf('phc_a');
    expect(lookups).toEqual(['phc_a', 'phc_a']);
  });

  it('replaces a rotated key by the new one within seconds', async () => {
    const { keys, known, advance } = setUp();
    await keys.projectOf('phc_a');
    await expect(keys.projectOf('phc_b')).rejects.toMatchObject({ status: 401 });
    known.delete('phc_a');
    known.set('phc_b', 1);
    advance(5001);
    await expect(keys.projectOf('phc_a')).rejects.toMatchObject({ status: 401 });
    expect(await keys.projectOf('phc_b')).toBe(1);
  });

  it('replaces a key rotated in this process immediately', async () => {
    const { keys, known } = setUp();
    await expect(keys.projectOf('phc_a')).resolves.toBe(1);
    await expect(keys.projectOf('phc_b')).rejects.toMatchObject({ code: 'authentication_failed' });
    known.clear();
    known.set('phc_b', 1);
    keys.forget(1);
    await expect(keys.projectOf('phc_a')).rejects.toMatchObject({ code: 'authentication_failed' });
    await expect(keys.projectOf('phc_b')).resolves.toBe(1);
  });

  it('unknown keys from strangers neither make it grow nor evict known keys', async () => {
    const { keys, lookups } = setUp({ entriesMax: 10 });
    await keys.projectOf('phc_a');
    for (let i = 0; i < 100; i++) await expect(keys.projectOf(`phc_x${i}`)).rejects.toMatchObject({ status: 401 });
    await keys.projectOf('phc_a');
    expect(lookups.filter((token) => token === 'phc_a')).toHaveLength(1);
    await expect(keys.projectOf('phc_x99')).rejects.toMatchObject({ status: 401 });
    await expect(keys.projectOf('phc_x0')).rejects.toMatchObject({ status: 401 });
    expect(lookups.filter((token) => token === 'phc_x99')).toHaveLength(1);
    expect(lookups.filter((token) => token === 'phc_x0')).toHaveLength(2);
  });
});
