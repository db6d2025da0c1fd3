import { describe, expect, it } from 'vitest';
import { createProjectKeys, type ProjectKeys } from './project-key.ts';

function setUp(more: { entriesMax?: number } = {}): {
  keys: ProjectKeys;
  asked: string[];
  advance(ms: number): void;
  known: Map<string, number>;
} {
  let now = 0;
  const asked: string[] = [];
  const known = new Map([['phc_a', 1]]);
  const keys = createProjectKeys({
    clock: { now: () => now },
    findProject: async (token) => {
      asked.push(token);
      return known.get(token);
    },
    ...more,
  });
  return {
    keys,
    asked,
    known,
    advance: (ms) => {
      now += ms;
    },
  };
}

describe('the cache of project keys', () => {
  it('asks once in a few seconds, also for many requests at once', async () => {
    const { keys, asked, advance } = setUp();
    expect(await Promise.all([keys.projectOf('phc_a'), keys.projectOf(' phc_a '), keys.projectOf('phc_a')])).toEqual([
      1, 1, 1,
    ]);
    await keys.projectOf('phc_a');
    expect(asked).toEqual(['phc_a']);
    advance(5001);
    await keys.projectOf('phc_a');
    expect(asked).toEqual(['phc_a', 'phc_a']);
  });

  it('a rotated key stops working, a new one starts, within seconds', async () => {
    const { keys, known, advance } = setUp();
    await keys.projectOf('phc_a');
    await expect(keys.projectOf('phc_b')).rejects.toMatchObject({ status: 401 });
    known.delete('phc_a');
    known.set('phc_b', 1);
    advance(5001);
    await expect(keys.projectOf('phc_a')).rejects.toMatchObject({ status: 401 });
    expect(await keys.projectOf('phc_b')).toBe(1);
  });

  it('a key that was rotated in this process stops at once, and the new one works at once', async () => {
    const { keys, known } = setUp();
    await expect(keys.projectOf('phc_a')).resolves.toBe(1);
    await expect(keys.projectOf('phc_b')).rejects.toMatchObject({ code: 'authentication_failed' });
    known.clear();
    known.set('phc_b', 1);
    keys.forget(1);
    await expect(keys.projectOf('phc_a')).rejects.toMatchObject({ code: 'authentication_failed' });
    await expect(keys.projectOf('phc_b')).resolves.toBe(1);
  });

  it('strangers with endless unknown keys neither grow it nor push known keys out', async () => {
    const { keys, asked } = setUp({ entriesMax: 10 });
    await keys.projectOf('phc_a');
    for (let i = 0; i < 100; i++) await expect(keys.projectOf(`phc_x${i}`)).rejects.toMatchObject({ status: 401 });
    await keys.projectOf('phc_a');
    expect(asked.filter((token) => token === 'phc_a')).toHaveLength(1);
    await expect(keys.projectOf('phc_x99')).rejects.toMatchObject({ status: 401 });
    await expect(keys.projectOf('phc_x0')).rejects.toMatchObject({ status: 401 });
    expect(asked.filter((token) => token === 'phc_x99')).toHaveLength(1);
    expect(asked.filter((token) => token === 'phc_x0')).toHaveLength(2);
  });
});
