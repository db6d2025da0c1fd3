import { describe, expect, it } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { requireKnownKey, unknownBodyBytesMax } from './known-key.ts';

const padding = ' '.repeat(3 * unknownBodyBytesMax);
const filler = `"x":"${'é'.repeat(unknownBodyBytesMax)}"`;

/** What happens to a body in a service with one project; `asked`: how many keys were looked up. */
async function judge(json: string): Promise<{ status: number; asked: number }> {
  let asked = 0;
  const projectOf = async (token: string): Promise<number> => {
    asked++;
    if (token === 'phc_known') return 1;
    throw new ApiError('authentication_failed', 'unknown');
  };
  try {
    await requireKnownKey(Buffer.from(json), { projectOf });
    return { status: 200, asked };
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, asked };
    throw error;
  }
}

describe('a large body', () => {
  it.each([
    ['in front', `{"api_key":"phc_known",${filler},${filler}}`],
    ['at the end, as Python has it', `{${filler},${filler},"historical_migration":false,"api_key": "phc_known"}`],
    ['in the first event, as browsers have it', `[{"event":"a","properties":{"token" : "phc_known",${filler}}}]`],
    ['behind other tokens', `{"batch":[{"token":"mine"},{"token":"yours"}],${filler},"token":"phc_known"}`],
    ['before other tokens', `{"token":"phc_known",${filler},"batch":[{"token":"mine"},{"token":"yours"}]}`],
  ])('with its key %s is read', async (_name, json) => {
    expect((await judge(json)).status).toBe(200);
  });

  it.each([
    ['with no key', `{${filler}}`],
    ['with an unknown key', `{"api_key":"phc_other",${filler}}`],
    ['with a key in the middle', `{${filler},${padding}"api_key":"phc_known",${filler},${filler}}`],
  ])('%s is refused before it is read', async (_name, json) => {
    expect((await judge(json)).status).toBe(401);
  });

  it('has only a few keys looked up', async () => {
    const keys = Array.from({ length: 100_000 }, (_, n) => `"api_key":"k${n}"`).join(',');
    const { status, asked } = await judge(`{${keys}}`);
    expect([status, asked < 100]).toEqual([401, true]);
  });

  it('is not refused for a key that cannot be looked up: that is 503', async () => {
    const projectOf = async (): Promise<number> => {
      throw new ApiError('unavailable', 'away');
    };
    const body = Buffer.from(`{"api_key":"phc_known",${filler}}`);
    await expect(requireKnownKey(body, { projectOf })).rejects.toMatchObject({ status: 503 });
  });
});

it('a small body is left to the scanner, whatever it holds', async () => {
  expect(await judge('nonsense')).toEqual({ status: 200, asked: 0 });
});
