import { describe, expect, it } from 'vitest';
import type { OutboundFetch } from '../outbound/outbound.ts';
import { emailScoring } from './email-scoring.ts';
import { testHost, testEvent, type Before } from '../../../test/support/transformation-host.ts';
import { transformBatch } from './transformation.fixture.ts';

const settings = { mailboxlayerApiKey: 'secret-key' };
const identify = (email: string): Before => ({ event: '$identify', properties: { $set: { email } } });

/** A stand-in for the service: records requests and returns the answers. */
function service(answer: (email: string) => unknown, status = 200) {
  const asked: string[] = [];
  let open = 0;
  let openMost = 0;
  const fetch: OutboundFetch = async ({ url }) => {
    openMost = Math.max(openMost, ++open);
    const query = new URL(url).searchParams;
    expect(query.get('access_key')).toBe('secret-key');
    const email = query.get('email') ?? '';
    asked.push(email);
    await new Promise((resolve) => setImmediate(resolve));
    open--;
    const given = answer(email);
    if (given instanceof Error) throw given;
    const body = Buffer.from(typeof given === 'string' ? given : JSON.stringify(given));
    return { status, statusText: '', headers: {}, body, url };
  };
  return { asked, fetch, openMost: () => openMost };
}

const good = (email: string) => ({ email, score: 0.8, did_you_mean: email.replace('gmial', 'gmail') });

describe('email scoring', () => {
  it('does what its example shows', async () => {
    const fetch: OutboundFetch = async ({ url }) => ({
      status: 200,
      statusText: 'OK',
      headers: {},
      body: Buffer.from('{"score": 0.8, "did_you_mean": ""}'),
      url,
    });
    const { settings: given, before, after } = emailScoring.example;
    expect(await transformBatch(emailScoring, given, [before], testHost({ fetch }))).toEqual([after]);
  });

  it('scores identified persons, by their distinct_id or e-mail, each address once', async () => {
    const { asked, fetch } = service(good);
    const results = await transformBatch(
      emailScoring,
      settings,
      [
        identify('a+b@gmial.com'),
        {
          event: '$identify',
          distinct_id: 'c@example.com',
          properties: { $set: { email: 'other@example.com', x: 1 } },
        },
        identify('a+b@gmial.com'),
        { event: 'other', distinct_id: 'd@example.com' },
        identify('no address'),
        { event: '$identify', properties: { $set: null } },
      ],
      testHost({ fetch }),
    );
    expect(asked).toEqual(['a+b@gmial.com', 'c@example.com']);
    const first = { email: 'a+b@gmial.com', email_score: 0.8, suggested_email_fix: 'a+b@gmail.com' };
    expect(results.map((result) => result?.properties)).toEqual([
      { $set: first },
      { $set: { email: 'other@example.com', x: 1, email_score: 0.8, suggested_email_fix: 'c@example.com' } },
      { $set: first },
      {},
      { $set: { email: 'no address' } },
      { $set: null },
    ]);
  });

  it('remembers scores without storing the address', async () => {
    const { asked, fetch } = service(good);
    const keys: string[] = [];
    const { cache } = testHost();
    const set = async (key: string, value: string, ttlSeconds?: number) => {
      keys.push(key);
      await cache.set(key, value, ttlSeconds);
    };
    const host = testHost({ fetch, cache: { ...cache, set } });
    for (let round = 0; round < 3; round++) await transformBatch(emailScoring, settings, [identify('a@b.ch')], host);
    expect(asked).toHaveLength(1);
    expect(keys).toHaveLength(1);
    expect(keys[0]).not.toContain('a@b.ch');
  });

  it('looks up a few at a time', async () => {
    const { asked, fetch, openMost } = service(good);
    const events = Array.from({ length: 23 }, (_, index) => identify(`p${index}@example.com`));
    await transformBatch(emailScoring, settings, events, testHost({ fetch }));
    expect(asked).toHaveLength(23);
    expect(openMost()).toBe(5);
  });

  it.each<[unknown, number, string]>([
    [new Error('no connection'), 200, 'the request to Mailboxlayer failed: no connection'],
    ['<html>', 200, 'not JSON'],
    [{}, 500, 'expected status 200 from Mailboxlayer, got: 500'],
    [{ success: false, error: { code: 101, type: 'invalid_access_key' } }, 200, 'no score: invalid_access_key'],
    [[], 200, 'response without a score'],
  ])('%j with status %i: the event fails and is unchanged', async (answer, status, message) => {
    const { asked, fetch } = service(() => answer, status);
    let now = 0;
    const run = emailScoring.create(settings, testHost({ fetch, now: () => now }));
    if (typeof run === 'function') throw new Error('expected batches');
    const events = [testEvent(identify('a@b.ch')), testEvent({ event: 'other' })];
    for (const at of [0, 59_000]) {
      now = at;
      const [failed, other] = await run.batch(events);
      expect(failed).toBeInstanceOf(Error);
      expect(String(failed)).toContain(message);
      expect(String(failed)).not.toContain('secret-key');
      expect(other).toBe(events[1]);
    }
    expect(events[0]?.properties).toEqual({ $set: { email: 'a@b.ch' } });
    expect(asked).toHaveLength(1);
    now = 61_000;
    await run.batch(events);
    expect(asked).toHaveLength(2);
  });

  it('refuses to start without a key', () => {
    expect(() => emailScoring.create({ mailboxlayerApiKey: ' ' }, testHost())).toThrow('expected the access key');
  });
});
