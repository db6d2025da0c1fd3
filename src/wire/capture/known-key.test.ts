import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { requireKnownKey, unknownBodyBytesMax } from './known-key.ts';

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
