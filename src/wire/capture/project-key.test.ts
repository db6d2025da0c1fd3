import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { createProjectKeys, requireKnownKey, unknownBodyBytesMax, type ProjectKeys } from './project-key.ts';

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

const padding = ' '.repeat(3 * unknownBodyBytesMax);
const filler = `"x":"${'é'.repeat(unknownBodyBytesMax)}"`;

/** Returns the status of a body in a service with one project, and how many keys were looked up. */
async function check(json: string): Promise<{ status: number; lookups: number }> {
  let lookups = 0;
  const projectOf = async (token: string): Promise<number> => {
    lookups++;
    if (token === 'phc_known') return 1;
    throw new ApiError('authentication_failed', 'unknown');
  };
  try {
    await requireKnownKey(Buffer.from(json), { projectOf });
    return { status: 200, lookups };
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, lookups };
    throw error;
  }
}

describe('a large body', () => {
  it.each([
    ['at the beginning', `{"api_key":"phc_known",${filler},${filler}}`],
    ['at the end, as Python sends it', `{${filler},${filler},"historical_migration":false,"api_key": "phc_known"}`],
    ['in the first event, as browsers send it', `[{"event":"a","properties":{"token" : "phc_known",${filler}}}]`],
    ['after other tokens', `{"batch":[{"token":"mine"},{"token":"yours"}],${filler},"token":"phc_known"}`],
    ['before other tokens', `{"token":"phc_known",${filler},"batch":[{"token":"mine"},{"token":"yours"}]}`],
  ])('with its key %s is accepted', async (_name, json) => {
    expect((await check(json)).status).toBe(200);
  });

  it.each([
    ['with no key', `{${filler}}`],
    ['with an unknown key', `{"api_key":"phc_other",${filler}}`],
    ['with a key in the middle', `{${filler},${padding}"api_key":"phc_known",${filler},${filler}}`],
  ])('%s is refused before it is scanned', async (_name, json) => {
    expect((await check(json)).status).toBe(401);
  });

  it('causes only a few look-ups', async () => {
    const keys = Array.from({ length: 100_000 }, (_, n) => `"api_key":"k${n}"`).join(',');
    const { status, lookups } = await check(`{${keys}}`);
    expect([status, lookups < 100]).toEqual([401, true]);
  });

  it('is answered 503 when its key cannot be looked up', async () => {
    const projectOf = async (): Promise<number> => {
      throw new ApiError('unavailable', 'timeout');
    };
    const body = Buffer.from(`{"api_key":"phc_known",${filler}}`);
    await expect(requireKnownKey(body, { projectOf })).rejects.toMatchObject({ status: 503 });
  });
});

it('a small body goes to the scanner without any look-up', async () => {
  expect(await check('nonsense')).toEqual({ status: 200, lookups: 0 });
});
