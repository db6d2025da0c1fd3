import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

/** Tests the v1 endpoint on the real server: headers, results per event, and the records of the log. */
let capture: TestCapture;
beforeAll(async () => {
  capture = await startTestCapture({ settings: { captureInflatedBytesMax: 3_000_000 } });
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

/** Properties that the header adds to every event. */
const sdk = { $lib: 'test', $lib_version: '1.0.0' };
const requestId = '0191c7a0-0000-7000-8000-00000000ffff';
const uuid = (n: number): string => `0191c7a0-0000-7000-8000-${String(n).padStart(12, '0')}`;
const event = (n: number, more: object = {}): object => ({
  event: 'signed up',
  uuid: uuid(n),
  distinct_id: 'u1',
  timestamp: '2026-11-20T09:59:00.000Z',
  ...more,
});
const headers = (): Record<string, string> => ({
  authorization: `Bearer ${capture.token}`,
  'content-type': 'application/json; charset=utf-8',
  'user-agent': 'test/1',
  'posthog-sdk-info': 'test/1.0.0',
  'posthog-attempt': '1',
  'posthog-request-id': requestId,
  'posthog-request-timestamp': '2026-11-20T10:00:00.000Z',
});
const send = (payload: string | Buffer | object, more: Record<string, string | undefined> = {}) => {
  const merged = Object.entries({ ...headers(), ...more }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
  return capture.test.inject({
    method: 'POST',
    url: '/i/v1/analytics/events',
    payload: body,
    headers: Object.fromEntries(merged),
  });
};
const batch = (events: readonly unknown[], more: object = {}): object => ({
  created_at: '2026-11-20T10:00:00Z',
  batch: events,
  ...more,
});

describe('an accepted v1 request', () => {
  it('accepts every spelling of a uuid: the result has the one sent, the log the canonical one', async () => {
    const spelt = [uuid(1).replaceAll('-', ''), `{${uuid(2)}}`, `urn:uuid:${uuid(3)}`, uuid(4).toUpperCase()];
    const answer = await send(batch(spelt.map((each, n) => event(n + 1, { uuid: each }))));
    expect(Object.keys(answer.json().results).toSorted()).toEqual(spelt.toSorted());
    expect((await capture.events()).slice(-4).map((each) => (each as { uuid: string }).uuid)).toEqual(
      [1, 2, 3, 4].map(uuid),
    );
    const twice = await send(batch([event(1), event(1, { uuid: uuid(1).replaceAll('-', '') })]));
    expect([twice.statusCode, twice.json().error]).toEqual([400, 'duplicate_event_uuid']);
  });

  it('returns a result per event, in order, and appends a batch in the form of the pipeline', async () => {
    const answer = await send(batch([event(2, { properties: { a: 1 }, session_id: 's', window_id: 'w' }), event(1)]));
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe(`{"results":{"${uuid(2)}":{"result":"ok"},"${uuid(1)}":{"result":"ok"}}}`);
    expect(answer.headers['posthog-request-id']).toBe(requestId);
    expect((await capture.events()).slice(-2)).toEqual([
      event(2, { properties: { a: 1, $session_id: 's', $window_id: 'w', ...sdk } }),
      event(1, { properties: sdk }),
    ]);
    expect((await capture.records()).at(-1)?.header).toMatchObject({
      events: 2,
      sentAt: Date.parse('2026-11-20T10:00:00Z'),
      projectId: capture.test.project.id,
    });
  });

  it('drops bad events individually with a reason', async () => {
    const cases: readonly [object, string][] = [
      [{ event: '' }, 'missing_event_name'],
      [{ event: 'é'.repeat(101) }, 'event_name_too_long'],
      [{ distinct_id: ' ' }, 'missing_distinct_id'],
      [{ distinct_id: 'x'.repeat(201) }, 'distinct_id_too_large'],
      [{ timestamp: '2026-11-20' }, 'invalid_event_timestamp'],
      [{ timestamp: '2026-02-30T10:00:00Z' }, 'invalid_event_timestamp'],
      [{ properties: [1] }, 'malformed_event_properties'],
      [{ event: '$performance_event' }, 'performance_event_dropped'],
      [{ options: { process_person_profile: 'maybe' } }, 'invalid_options'],
      [{ options: { product_tour_id: 1.5 } }, 'invalid_options'],
      [{ options: [1] }, 'invalid_options'],
      [{ properties: { x: 'y'.repeat(1_000_000) } }, 'event_too_big'],
      [{ $set: 5, event: '' }, 'missing_event_name'],
    ];
    const answer = await send(batch([event(0), ...cases.map(([more], i) => event(i + 1, more))]));
    expect(answer.json().results).toEqual({
      [uuid(0)]: { result: 'ok' },
      ...Object.fromEntries(cases.map(([, details], i) => [uuid(i + 1), { result: 'drop', details }])),
    });
    expect((await capture.records()).at(-1)?.header.events).toBe(1);
  });

  it('keeps dropped events in the record, so that they become dead letters', async () => {
    await send(batch([event(0), event(1, { options: { cookieless_mode: 'x' } })]));
    expect((await capture.events()).at(-1)).toEqual([
      'invalid_options',
      event(1, { options: { cookieless_mode: 'x' } }),
    ]);
  });

  it('keeps of a dropped $performance_event only what the pipeline counts, so that it cannot be replayed', async () => {
    const noise = { event: '$performance_event', distinct_id: 'u', properties: { duration: 1 } };
    await send(batch([event(0), event(1, noise), event(2, { ...noise, distinct_id: ' ' })]));
    expect((await capture.events()).slice(-2)).toEqual([
      { event: '$performance_event', distinct_id: 'u', uuid: uuid(1) },
      { event: '$performance_event', distinct_id: uuid(2), uuid: uuid(2) },
    ]);
  });

  it('stores nothing if every event is dropped, and still answers 200', async () => {
    const before = (await capture.records()).length;
    const answer = await send(batch([event(1, { distinct_id: '' })]));
    expect([answer.statusCode, answer.json().results[uuid(1)].result]).toEqual([200, 'drop']);
    expect((await capture.records()).length).toBe(before);
  });

  it.each([
    [{ cookieless_mode: true }, { $cookieless_mode: true }],
    [{ disable_skew_correction: 1 }, { $ignore_sent_at: true }],
    [{ process_person_profile: '0' }, { $process_person_profile: false }],
    [{ process_person_profile: null, product_tour_id: 'tour' }, { $product_tour_id: 'tour' }],
    [{ product_tour_id: 7 }, { $product_tour_id: 7 }],
  ])('converts the options %j to properties', async (options, properties) => {
    await send(batch([event(1, { options })]));
    expect((await capture.events()).at(-1)).toEqual(event(1, { properties: { ...properties, ...sdk } }));
  });

  it('accepts a placeholder id without creating a person', async () => {
    const answer = await send(batch([event(1, { distinct_id: ' Guest ' })]));
    expect(answer.json().results[uuid(1)]).toEqual({ result: 'ok', details: 'person_processing_disabled' });
    expect((await capture.events()).at(-1)).toEqual(
      event(1, { distinct_id: 'Guest', properties: { $process_person_profile: false, ...sdk } }),
    );
  });

  it('takes the library of an event from the header unless the event names one', async () => {
    const properties = [{}, { $lib: 'test' }, { $lib: 'posthog-js', $lib_version: '2.0.0' }, { $lib: 'other' }];
    await send(batch(properties.map((own, i) => event(i, { properties: own }))));
    const stored = (await capture.events()).slice(-4) as { properties: object }[];
    expect(stored.map((each) => each.properties)).toEqual([sdk, sdk, properties[2], properties[3]]);
  });

  it('keeps properties byte for byte', async () => {
    const properties = '{ "n":12345678901234567890, "__proto__":{"x":1}, "s":"\\ud800" }';
    const text = JSON.stringify(batch([event(1, { session_id: 's', properties: 0 })])).replace(
      '"properties":0',
      `"properties":${properties}`,
    );
    expect((await send(text)).statusCode).toBe(200);
    const stored = Buffer.from((await capture.records()).at(-1)?.body ?? []).toString();
    expect(stored).toContain('{ "n":12345678901234567890, "__proto__":{"x":1}, "s":"\\ud800" ,"$session_id":"s"');
  });

  it('sends history to its lane', async () => {
    const answer = await send(batch([event(1, { timestamp: '2020-01-01T00:00:00Z' })], { historical_migration: true }));
    expect(answer.statusCode).toBe(200);
    expect(await capture.records('historical')).toHaveLength(1);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('accepts %s', async (encoding, compress) => {
    const answer = await send(compress(JSON.stringify(batch([event(1)]))), { 'content-encoding': encoding });
    expect(answer.statusCode).toBe(200);
  });
});

describe('a refused v1 request', () => {
  const text = (body: object): string => JSON.stringify(body);
  it.each<[string, () => string | Buffer, Record<string, string | undefined>, number, string]>([
    ['no Authorization', () => text(batch([event(1)])), { authorization: undefined }, 401, 'invalid_api_token'],
    [
      'an unknown key',
      () => text(batch([event(1)])),
      { authorization: 'Bearer phc_unknown' },
      401,
      'invalid_api_token',
    ],
    ['no attempt', () => text(batch([event(1)])), { 'posthog-attempt': undefined }, 400, 'missing_required_headers'],
    ['attempt 0', () => text(batch([event(1)])), { 'posthog-attempt': '0' }, 400, 'invalid_header_value'],
    [
      'an sdk without version',
      () => text(batch([event(1)])),
      { 'posthog-sdk-info': 'test' },
      400,
      'invalid_header_value',
    ],
    [
      'an invalid request id',
      () => text(batch([event(1)])),
      { 'posthog-request-id': 'x' },
      400,
      'invalid_header_value',
    ],
    [
      'an invalid request time',
      () => text(batch([event(1)])),
      { 'posthog-request-timestamp': 'now' },
      400,
      'invalid_header_value',
    ],
    [
      'another media type',
      () => text(batch([event(1)])),
      { 'content-type': 'text/plain' },
      415,
      'unsupported_media_type',
    ],
    ['another encoding', () => text(batch([event(1)])), { 'content-encoding': 'lzma' }, 415, 'unsupported_media_type'],
    ['a broken encoding', () => 'x', { 'content-encoding': 'gzip' }, 400, 'request_parsing_error'],
    [
      'a br bomb',
      () => brotliCompressSync(Buffer.alloc(5_000_000)),
      { 'content-encoding': 'br' },
      413,
      'payload_too_large',
    ],
    ['a broken br', () => 'x', { 'content-encoding': 'br' }, 400, 'request_parsing_error'],
    ['a gzip bomb', () => gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }, 413, 'payload_too_large'],
    ['an empty body', () => '', {}, 400, 'empty_body'],
    ['an empty batch', () => text(batch([])), {}, 400, 'empty_batch'],
    ['no created_at', () => text({ batch: [event(1)] }), {}, 400, 'invalid_batch'],
    ['a bad created_at', () => text(batch([event(1)], { created_at: 'x' })), {}, 400, 'invalid_batch'],
    ['an event without uuid', () => text(batch([event(1, { uuid: undefined })])), {}, 400, 'missing_event_uuid'],
    ['an event with a bad uuid', () => text(batch([event(1, { uuid: 'x' })])), {}, 400, 'invalid_event_uuid'],
    ['a uuid twice', () => text(batch([event(1), event(1)])), {}, 400, 'duplicate_event_uuid'],
    ['broken JSON', () => '{', {}, 400, 'request_parsing_error'],
    ['an array', () => text([event(1)]), {}, 400, 'request_parsing_error'],
  ])('%s', async (_name, body, more, status, error) => {
    const before = (await capture.records()).length;
    const answer = await send(body(), more);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toEqual({
      error,
      error_description: expect.any(String),
      error_uri: 'https://posthog.com/docs/api',
    });
    expect((await capture.records()).length).toBe(before);
  });

  it('names all missing headers together', async () => {
    const answer = await send(batch([event(1)]), { 'posthog-attempt': undefined, 'posthog-request-id': undefined });
    expect(answer.json().error_description).toMatch(/posthog-attempt.*posthog-request-id/);
  });

  it('asks clients to retry while the log is unavailable', async () => {
    capture.log.failAppends('disk full');
    const answer = await send(batch([event(1)]));
    capture.log.failAppends(undefined);
    expect([answer.statusCode, answer.json().error, answer.headers['retry-after']]).toEqual([
      503,
      'service_unavailable',
      '5',
    ]);
  });

  it('is 405 for another method', async () => {
    const answer = await capture.test.inject({ url: '/i/v1/analytics/events' });
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS']);
  });
});
