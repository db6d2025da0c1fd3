import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { derivedId } from '../../base/ids.ts';
import { segmentBatchPaths, segmentMessagePaths } from '../contract/segment.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

/** Tests the Segment protocol on the real server: keys, conversion, rejections, and the records of the log. */
let capture: TestCapture;
beforeAll(async () => {
  capture = await startTestCapture();
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
const now = (): number => capture.test.clock.now();
const iso = (ms: number): string => new Date(ms).toISOString();

interface Sent {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly remoteAddress?: string;
}

function send(payload: string | Buffer | object, { url = '/v1/batch', headers, remoteAddress }: Sent = {}) {
  return capture.test.inject({
    method: 'POST',
    url,
    payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
    headers: headers ?? { authorization: basic(capture.token), 'content-type': 'application/json' },
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
  });
}

interface StoredEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Returns what the log received since the call began. */
async function storedBy(work: () => Promise<unknown>, lane: 'live' | 'historical' = 'live'): Promise<StoredEvent[]> {
  const before = (await capture.events(lane)).length;
  await work();
  return (await capture.events(lane)).slice(before) as StoredEvent[];
}

const accepted = { success: true };
const track = (messageId: string, more: object = {}): object => ({
  type: 'track',
  event: 'Order Done',
  userId: 'u1',
  messageId,
  properties: { total: 9.5 },
  ...more,
});

describe('messages', () => {
  it('are stored as the import of their archive stores them', async () => {
    const at = iso(now() - 60_000);
    const each = {
      userId: 'u1',
      anonymousId: 'a1',
      timestamp: at,
      context: { library: { name: 'lib', version: '1' } },
    };
    const events = await storedBy(async () => {
      const answer = await send({
        sentAt: iso(now()),
        batch: [
          { ...each, type: 'identify', messageId: 'm1', traits: { email: 'x@y.z' } },
          { ...each, type: 'track', messageId: 'm2', event: 'Order Done', properties: { total: 9.5 } },
          { ...each, type: 'page', messageId: 'm3', name: 'Home', properties: { path: '/' } },
          { ...each, type: 'screen', messageId: 'm4', name: 'Start' },
          { ...each, type: 'group', messageId: 'm5', groupId: 'g1', traits: { groupType: 'company', plan: 'pro' } },
          { ...each, type: 'alias', messageId: 'm6', previousId: 'old' },
        ],
      });
      expect(answer.json()).toEqual(accepted);
    });
    const library = { $lib: 'lib', $lib_version: '1' };
    expect(events.map(({ event, properties }) => [event, properties])).toEqual([
      ['$identify', { ...library, $anon_distinct_id: 'a1', $set: { email: 'x@y.z' } }],
      ['Order Done', { ...library, $anon_distinct_id: 'a1', total: 9.5 }],
      ['$pageview', { ...library, $anon_distinct_id: 'a1', name: 'Home', path: '/' }],
      ['$screen', { ...library, $anon_distinct_id: 'a1', $screen_name: 'Start' }],
      [
        '$groupidentify',
        {
          ...library,
          $anon_distinct_id: 'a1',
          $group_type: 'company',
          $group_key: 'g1',
          $group_set: { plan: 'pro' },
          $groups: { company: 'g1' },
        },
      ],
      ['$create_alias', { ...library, $anon_distinct_id: 'a1', alias: 'old' }],
    ]);
    expect(events.map(({ uuid }) => uuid)).toEqual([1, 2, 3, 4, 5, 6].map((n) => derivedId('segment', `m${n}`)));
    expect(new Set(events.map(({ distinct_id: id, timestamp }) => `${id} ${timestamp}`))).toEqual(
      new Set([`u1 ${at}`]),
    );
  });

  it.each(Object.entries(segmentMessagePaths))('%s takes a message without a type as %s', async (url, type) => {
    const more = { previousId: 'old', groupId: 'g', event: 'Order Done' };
    const events = await storedBy(() => send({ userId: 'u1', messageId: `${url}1`, ...more }, { url: `${url}/` }));
    const names = { track: 'Order Done', identify: '$identify', page: '$pageview', screen: '$screen' };
    const others = { group: '$groupidentify', alias: '$create_alias' };
    expect(events.map(({ event }) => event)).toEqual([{ ...names, ...others }[type]]);
  });

  it.each(segmentBatchPaths)('%s takes a batch', async (url) => {
    const events = await storedBy(() => send({ batch: [track(`${url}1`), track(`${url}2`)] }, { url }));
    expect(events).toHaveLength(2);
  });

  it('that are sent again have the same uuid, and one that a request repeats is stored once', async () => {
    const batch = [track('again'), track('again'), track('other')];
    const first = await storedBy(() => send({ batch }));
    const second = await storedBy(() => send({ batch }));
    expect(first.map(({ uuid }) => uuid)).toEqual([derivedId('segment', 'again'), derivedId('segment', 'other')]);
    expect(second.map(({ uuid }) => uuid)).toEqual(first.map(({ uuid }) => uuid));
  });

  it('may be an array, as a webhook sends them', async () => {
    expect(await storedBy(() => send([track('array1'), track('array2')]))).toHaveLength(2);
  });

  it('without an id are different events, unless they are history', async () => {
    const batch = [track(''), { ...track(''), messageId: undefined }];
    const timestamp = '2020-01-02T03:04:05.678Z';
    const uuids = async (sent: object, lane?: 'historical'): Promise<number> =>
      new Set((await storedBy(() => send(sent, {}), lane)).map(({ uuid }) => uuid)).size;
    expect(await uuids({ batch })).toBe(2);
    const history = { historical_migration: true, batch: batch.map((each) => Object.assign(each, { timestamp })) };
    const twice = [
      await storedBy(() => send(history), 'historical'),
      await storedBy(() => send(history), 'historical'),
    ];
    expect(twice[0]?.map(({ uuid }) => uuid)).toEqual(twice[1]?.map(({ uuid }) => uuid));
  });

  it('keep every digit', async () => {
    await send(
      '{"batch":[{"type":"track","event":"e","userId":1234567890123456789,"properties":{"n":12345678901234567890,"d":0.1234567890123456789}}]}',
    );
    const record = (await capture.records()).at(-1);
    expect(Buffer.from(record?.body ?? []).toString()).toContain('"n":12345678901234567890,"d":0.1234567890123456789');
    expect((await capture.events()).at(-1)).toMatchObject({ distinct_id: '1234567890123456789' });
  });

  it('are historical if the batch says so', async () => {
    const batch = [track('history', { timestamp: '2020-01-02T03:04:05.678Z' })];
    const events = await storedBy(() => send({ historical_migration: true, batch }), 'historical');
    expect(events.map(({ timestamp }) => timestamp)).toEqual(['2020-01-02T03:04:05.678Z']);
  });
});

describe('times', () => {
  const timestamp = '2049-01-01T10:00:00.000Z';
  const timesOf = async (message: object, batch: object = {}): Promise<unknown> => {
    const events = await storedBy(() => send({ ...batch, batch: [track('', message)] }));
    return [events[0]?.timestamp, (await capture.records()).at(-1)?.header.sentAt];
  };

  it('are those of the client, and sentAt of the batch or of its first message corrects its clock later', async () => {
    const sentAt = '2049-01-01T10:00:05.000Z';
    expect(await timesOf({ timestamp }, { sentAt })).toEqual([timestamp, Date.parse(sentAt)]);
    expect(await timesOf({ timestamp, sentAt })).toEqual([timestamp, Date.parse(sentAt)]);
    expect(await timesOf({ timestamp })).toEqual([timestamp, undefined]);
  });

  it('of messages that another service received and forwards are corrected already', async () => {
    const forwarded = { timestamp, sentAt: '2049-01-01T09:00:00.000Z', receivedAt: '2049-01-01T10:00:01.000Z' };
    expect(await timesOf(forwarded)).toEqual([timestamp, undefined]);
    expect(await timesOf(forwarded, { sentAt: '2049-01-01T10:00:05.000Z' })).toEqual([timestamp, undefined]);
  });

  it('may be in originalTimestamp alone; beside it, timestamp is what the caller set', async () => {
    expect(await timesOf({ originalTimestamp: timestamp })).toEqual([timestamp, undefined]);
    expect(await timesOf({ originalTimestamp: '2049-02-02T10:00:00Z', timestamp })).toEqual([timestamp, undefined]);
  });

  it('are those of receipt if the message has none', async () => {
    expect(await timesOf({})).toEqual([undefined, undefined]);
  });
});

describe('the context', () => {
  const propertiesOf = async (message: object, batch: object = {}): Promise<StoredEvent['properties'] | undefined> =>
    (await storedBy(() => send({ ...batch, batch: [track('', message)] }, { remoteAddress: '203.0.113.7' })))[0]
      ?.properties;

  it('of the batch applies to messages that do not say otherwise', async () => {
    const context = { locale: 'de', timezone: 'Europe/Berlin' };
    expect(await propertiesOf({ context: { locale: 'fr' } }, { context })).toMatchObject({
      $locale: 'fr',
      $timezone: 'Europe/Berlin',
    });
  });

  it.each([
    ['a browser', { context: { userAgent: 'Mozilla/5.0' } }, '203.0.113.7'],
    ['an app', { context: { device: { id: 'd' } } }, '203.0.113.7'],
    ['a browser of RudderStack', { channel: 'web' }, '203.0.113.7'],
    ['a server', { context: { library: { name: 'analytics-python' } } }, undefined],
    ['a server that forwards the user agent', { channel: 'server', context: { userAgent: 'Mozilla/5.0' } }, undefined],
    ['a server that forwards the address', { channel: 'server', context: { ip: '198.51.100.1' } }, '198.51.100.1'],
  ])('of %s: the sender is the visitor or not', async (_name, message, ip) => {
    expect((await propertiesOf(message))?.['$ip']).toBe(ip);
    expect((await capture.records()).at(-1)?.header.ip).toBeUndefined();
  });
});

describe('the write key', () => {
  const message = (): object => track('');
  it.each([
    ['the user name of Basic authentication', () => ({ headers: { authorization: basic(capture.token) } })],
    ['X-Write-Key with a secret', () => ({ headers: { 'x-write-key': `${capture.token}:secret` } })],
    ['the query', () => ({ headers: {}, url: `/beacon/v1/batch?writeKey=${capture.token}` })],
  ])('may be %s', async (_name, sent) => {
    expect((await send({ batch: [message()] }, sent())).json()).toEqual(accepted);
  });

  it('may be in the batch or in its messages', async () => {
    const sent = { headers: { 'content-type': 'text/plain' } };
    const writeKey = capture.token;
    expect((await send({ writeKey, batch: [message()] }, sent)).json()).toEqual(accepted);
    expect((await send({ batch: [{ ...message(), writeKey }] }, sent)).json()).toEqual(accepted);
    expect((await send({ ...message(), writeKey }, { ...sent, url: '/v1/t' })).json()).toEqual(accepted);
    const large = { writeKey, batch: [track('', { properties: { text: 'x'.repeat(400_000) } })] };
    expect((await send(large, sent)).json()).toEqual(accepted);
  });

  it('is required: without one, or with an unknown or a personal one, nothing is stored', async () => {
    const events = await storedBy(async () => {
      const none = await send({ batch: [message()] }, { headers: {} });
      expect([none.statusCode, none.json().code, none.json().attr]).toEqual([401, 'not_authenticated', 'writeKey']);
      for (const key of ['phc_unknown', 'phx_personal']) {
        const answer = await send({ batch: [message()] }, { headers: { authorization: basic(key) } });
        expect([answer.statusCode, answer.json().code]).toEqual([401, 'authentication_failed']);
      }
    });
    expect(events).toEqual([]);
  });
});

describe('invalid messages', () => {
  it('cost no other: they are listed, and kept as dead letters with their bytes', async () => {
    const batch = [
      { type: 'track', userId: 'u1', messageId: 'b1' },
      track('good'),
      { type: 'video', userId: 'u1' },
      'text',
      { type: 'track', event: 'e', messageId: 'b2' },
      track('long', { event: 'x'.repeat(201) }),
    ];
    const events = await storedBy(async () => {
      const answer = await send({ batch });
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toMatchObject({
        success: true,
        rejected: [
          { index: 0, code: 'invalid_event', detail: 'expected the name of the event in "event"', attr: 'batch[0]' },
          { index: 2, code: 'invalid_event' },
          { index: 3, code: 'invalid_event' },
          { index: 4, code: 'invalid_event', detail: 'expected userId or anonymousId' },
          { index: 5, code: 'event_name_too_long' },
        ],
      });
    });
    expect(events).toHaveLength(6);
    expect(events[0]).toEqual(['expected the name of the event in "event"', batch[0]]);
    expect((await capture.records()).at(-1)).toMatchObject({ header: { events: 1 } });
  });

  it('are refused with 400 if there is no other', async () => {
    const events = await storedBy(async () => {
      const answer = await send({ type: 'track', userId: 'u1' }, { url: '/v1/track' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ detail: 'expected the name of the event in "event"' });
      expect((await send({ batch: [] })).statusCode).toBe(400);
      expect((await send('{"batch":[{]}')).json()).toMatchObject({ code: 'parse_error' });
    });
    expect(events).toEqual([]);
  });

  it('that are too deep or too large are refused without being parsed', async () => {
    const deep = `{"type":"track","event":"e","userId":"u","properties":{"a":${'['.repeat(500)}${']'.repeat(500)}}}`;
    const answer = await send(`{"batch":[${deep},${JSON.stringify(track('beside'))}]}`);
    expect(answer.json()).toMatchObject({ success: true, rejected: [{ index: 0, code: 'event_too_deep' }] });
    const large = await send({ batch: [track('', { properties: { text: 'x'.repeat(1_000_001) } })] });
    expect([large.statusCode, large.json().code]).toEqual([413, 'request_too_large']);
  });
});

describe('arbitrary JSON as messages', () => {
  const loose = fc.record(
    {
      type: fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias', 'other', null),
      event: fc.oneof(fc.string(), fc.jsonValue()),
      userId: fc.oneof(fc.string(), fc.integer(), fc.constant(null)),
      anonymousId: fc.jsonValue(),
      previousId: fc.string(),
      groupId: fc.jsonValue(),
      messageId: fc.oneof(fc.constantFrom('a', 'b', ''), fc.jsonValue()),
      timestamp: fc.jsonValue(),
      sentAt: fc.jsonValue(),
      context: fc.jsonValue(),
      traits: fc.jsonValue(),
      properties: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );

  it('is stored or rejected with a reason, and every message is accounted for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(loose, fc.jsonValue()), { minLength: 1, maxLength: 6 }), async (batch) => {
        const before = (await capture.events()).length;
        const { statusCode, body } = await send({ batch, context: batch[0], sentAt: batch[0] });
        const stored = (await capture.events()).length - before;
        const { rejected = [] } = JSON.parse(body) as { readonly rejected?: readonly { readonly detail: string }[] };
        // Only a message whose id the request repeats is not stored, or all if none is valid.
        const ids = batch.map((message, index) => String((message as StoredMessage | null)?.messageId ?? index));
        const repeated = ids.filter((id, index) => id !== '' && ids.indexOf(id) !== index).length;
        const fewest = statusCode === 200 ? batch.length - repeated : 0;
        const most = statusCode === 200 ? batch.length : 0;
        expect([200, 400]).toContain(statusCode);
        expect(rejected.filter(({ detail }) => detail === '')).toEqual([]);
        expect([stored >= fewest, stored <= most]).toEqual([true, true]);
      }),
      { numRuns: 150 },
    );
  });
});

interface StoredMessage {
  readonly messageId?: unknown;
}

describe('libraries', () => {
  it('of RudderStack for Node send gzip as a form', async () => {
    const body = gzipSync(JSON.stringify({ batch: [track('gzip')], sentAt: iso(now()) }));
    const headers = {
      authorization: basic(capture.token),
      'content-type': 'application/x-www-form-urlencoded',
      'content-encoding': 'gzip',
    };
    expect(await storedBy(() => send(body, { headers }))).toHaveLength(1);
  });

  it('in pages of any origin may send, and load their settings', async () => {
    const origin = 'https://shop.example';
    const preflight = await capture.test.inject({
      method: 'OPTIONS',
      url: '/v1/t',
      headers: { origin, 'access-control-request-headers': 'authorization,anonymousid' },
    });
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'authorization,anonymousid',
    });
    const url = `/v1/projects/${capture.token}/settings`;
    const settings = await capture.test.inject({
      method: 'GET',
      url,
      headers: { origin, host: 'events.example:8000' },
    });
    expect(settings.headers['access-control-allow-origin']).toBe(origin);
    expect(settings.json()).toMatchObject({
      integrations: {
        'Segment.io': { apiKey: capture.token, apiHost: 'events.example:8000/v1', protocol: 'http' },
      },
    });
    const rudder = `/sourceConfig/?p=npm&writeKey=${capture.token}`;
    const config = await capture.test.inject({ method: 'GET', url: rudder, headers: { origin } });
    expect(config.headers['access-control-allow-origin']).toBe(origin);
    expect(config.json()).toMatchObject({ source: { enabled: true, destinations: [] } });
    for (const path of ['/v1/projects/phc_unknown/settings', '/sourceConfig?writeKey=phc_unknown']) {
      expect((await capture.test.inject({ method: 'GET', url: path })).statusCode).toBe(401);
    }
  });
});
