import { gzipSync } from 'node:zlib';
import lz from 'lz-string';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apiErrors } from '../contract/errors.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

let capture: TestCapture;
let token: string;
let seen = 0;

beforeAll(async () => {
  capture = await startTestCapture();
  ({ token } = capture);
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});
beforeEach(async () => {
  seen = (await capture.records()).length;
});

const event = { event: 'signed up', distinct_id: 'u1' };
const post = (path: string, payload: string | Buffer, headers: Record<string, string> = {}) =>
  capture.test.inject({
    method: 'POST',
    url: path,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });
const batchOf = (events: readonly unknown[], more: object = {}): string =>
  JSON.stringify({ api_key: token, batch: events, ...more });
/** Returns the events appended to the log in this test. */
async function taken(): Promise<unknown[]> {
  const records = (await capture.records()).length - seen;
  return records === 0 ? [] : (await capture.events()).slice(-1);
}

describe('paths', () => {
  const known = ['/batch', '/i/v0/e', '/e', '/track', '/engage', '/capture', '/i/v0/ai/batch'];
  const paths = known.flatMap((path) => [path, `${path}/`]);
  it.each(paths)(
    'POST %s accepts a batch, an array and a single event with exactly 200 and {"status":"Ok"}',
    async (path) => {
      const bodies = [
        batchOf([event]),
        JSON.stringify([{ ...event, token }]),
        JSON.stringify({ ...event, api_key: token }),
      ];
      for (const body of bodies) {
        const answer = await post(path, body);
        expect([answer.statusCode, answer.body]).toEqual([200, '{"status":"Ok"}']);
        expect(answer.headers['content-type']).toContain('application/json');
      }
      expect((await capture.records()).length - seen).toBe(3);
    },
  );

  it.each(paths)('GET %s accepts events in data=, OPTIONS answers the preflight, PUT is 405', async (path) => {
    const data = Buffer.from(JSON.stringify({ ...event, api_key: token })).toString('base64');
    expect((await capture.test.inject({ url: `${path}?data=${encodeURIComponent(data)}` })).statusCode).toBe(200);
    const headers = { origin: 'https://shop.example', 'access-control-request-headers': 'content-type,x-a' };
    const options = await capture.test.inject({ method: 'OPTIONS', url: path, headers });
    expect([options.statusCode, options.body]).toEqual([200, '{"status":"Ok"}']);
    expect(options.headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'content-type,x-a',
    });
    const put = await capture.test.inject({ method: 'PUT', url: path });
    expect([put.statusCode, put.headers['allow']]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  });

  it.each(paths)('HEAD %s answers a probe and accepts no event', async (path) => {
    const data = Buffer.from(JSON.stringify({ ...event, api_key: token })).toString('base64');
    for (const url of [path, `${path}?data=${encodeURIComponent(data)}`]) {
      const answer = await capture.test.inject({ method: 'HEAD', url });
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
    }
    expect(await taken()).toEqual([]);
  });

  it('sends CORS headers with errors, so that a page can read them', async () => {
    const answer = await post('/batch/', 'no json', { origin: 'https://shop.example' });
    expect(answer.statusCode).toBe(400);
    expect(answer.headers['access-control-allow-origin']).toBe('https://shop.example');
  });

  it('answers recordings with what to do', async () => {
    const answer = await post('/s/', '{}');
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
    expect(answer.json().detail).toContain('disable_session_recording');
  });

  it('answers beacon=1 with 204 and no body', async () => {
    const answer = await post('/e/?beacon=1', batchOf([event]));
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
  });
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('bodies', () => {
  const json = (): Buffer => Buffer.from(batchOf([event]));
  const b64 = (bytes: Buffer): string => bytes.toString('base64');
  const plain = { 'content-type': 'text/plain' };
  const cases: readonly [name: string, path: string, body: () => string | Buffer, headers: Record<string, string>][] = [
    ['plain JSON', '/batch/', json, {}],
    ['gzip with Content-Encoding', '/batch/', () => gzipSync(json()), { 'content-encoding': 'gzip' }],
    ['gzip without any hint', '/i/v0/e/', () => gzipSync(json()), plain],
    ['gzip-js in the query', '/e/?compression=gzip-js&ip=1&ver=1.0', () => gzipSync(json()), plain],
    ['a wrong hint about gzip', '/e/?compression=gzip', json, plain],
    ['base64', '/e/', () => b64(json()), plain],
    ['base64 in a form', '/e/', () => `data=${encodeURIComponent(b64(json()))}&compression=base64`, form],
    ['unescaped base64 in a form', '/e/', () => `data=${b64(json())}`, form],
    [
      'gzip in base64 in a form',
      '/e/',
      () => `compression=gzip&data=${encodeURIComponent(b64(gzipSync(json())))}`,
      form,
    ],
    ['JSON in a form', '/e/', () => `data=${encodeURIComponent(json().toString())}`, form],
    ['base64 twice on an old path', '/track/', () => `data=${encodeURIComponent(b64(Buffer.from(b64(json()))))}`, form],
    ['lz64', '/e/?compression=lz64', () => lz.compressToBase64(json().toString()), plain],
    [
      'lz64 in a form',
      '/e/',
      () => `compression=lz-string&data=${encodeURIComponent(lz.compressToBase64(json().toString()))}`,
      form,
    ],
    ['JSON declared as a form', '/batch/', json, form],
    ['JSON surrounded by white space', '/batch/', () => ` \r\n\t${json().toString()}\n`, {}],
  ];
  it.each(cases)('accepts %s', async (_name, path, body, headers) => {
    const answer = await post(path, body(), headers);
    expect([answer.statusCode, answer.body]).toEqual([200, '{"status":"Ok"}']);
    expect(await taken()).toEqual([event]);
  });

  it('keeps gzip of JSON as received, and every other form as JSON', async () => {
    const packed = gzipSync(json());
    await post('/batch/', packed);
    await post('/e/', b64(packed));
    const [first, second] = (await capture.records()).slice(-2);
    expect(first?.header.encoding).toBe('gzip');
    expect(Buffer.from(first?.body ?? []).equals(packed)).toBe(true);
    expect(second?.header.encoding).toBe('identity');
    expect(Buffer.from(second?.body ?? []).equals(json())).toBe(true);
  });

  it('reads a non-empty data= of the query instead of the body, with pluses that became spaces', async () => {
    const text = JSON.stringify({ ...event, api_key: token, properties: { x: '>>>???' } });
    const data = Buffer.from(text).toString('base64').replaceAll('+', ' ');
    const answer = await post(`/e/?data=${encodeURIComponent(data)}`, 'ignored');
    expect(answer.statusCode).toBe(200);
    expect(await taken()).toMatchObject([{ properties: { x: '>>>???' } }]);
  });
});

describe('bodies that cannot be read', () => {
  const damaged = (change: (bytes: Buffer) => Buffer): Buffer => change(gzipSync(Buffer.from('[{"event":"a"}]')));
  const refusals: readonly [
    name: string,
    body: string | Buffer,
    headers: Record<string, string>,
    status: number,
    detail: string,
  ][] = [
    ['an empty body', '', {}, 400, 'expected a body or "data" in the query, got: neither'],
    ['truncated JSON', '{"batch":[', {}, 400, 'failed to parse request: expected'],
    ['a number', '5', {}, 400, 'failed to parse request: expected a batch object'],
    ['truncated gzip', damaged((bytes) => bytes.subarray(0, -6)), {}, 400, 'invalid GZIP data: unexpected end'],
    [
      'gzip with a wrong checksum',
      damaged((bytes) => Buffer.concat([bytes.subarray(0, -8), Buffer.alloc(4), bytes.subarray(-4)])),
      {},
      400,
      'invalid GZIP data: incorrect data check',
    ],
    [
      'gzip with a false size',
      damaged((bytes) => Buffer.concat([bytes.subarray(0, -4), Buffer.from([255, 255, 255, 255])])),
      {},
      400,
      'invalid GZIP data: incorrect length',
    ],
    [
      'gzip with trailing text',
      damaged((bytes) => Buffer.concat([bytes, Buffer.from('zz')])),
      {},
      400,
      'invalid GZIP data',
    ],
    ['gzip with trailing zeros', damaged((bytes) => Buffer.concat([bytes, Buffer.alloc(8)])), {}, 400, '8 more bytes'],
    ['declared gzip that is not gzip', 'hello', { 'content-encoding': 'gzip' }, 400, 'invalid GZIP data'],
    ['an unsupported encoding', 'hello', { 'content-encoding': 'br' }, 415, 'got: br'],
    ['a form without data', 'compression=gzip', form, 400, 'expected "data" in the form'],
    ['a form with another field', 'hello=1', form, 400, 'expected form data in POST request payload'],
    ['invalid UTF-8', Buffer.from('[{"event":"\xff"}]', 'latin1'), {}, 400, 'UTF-8'],
    ['a JSON string', '"[]"', {}, 400, 'not JSON inside a string'],
  ];
  it.each(refusals)('refuses %s', async (_name, body, headers, status, detail) => {
    const answer = await post('/batch/', body, headers);
    expect([answer.statusCode, answer.json().detail]).toEqual([status, expect.stringContaining(detail)]);
    expect(await taken()).toEqual([]);
  });

  it('refuses damaged lz64', async () => {
    const answer = await post('/e/?compression=lz64', 'AAAA');
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'parse_error']);
  });
});

describe('project keys', () => {
  const withToken = (more: object, properties: object = {}) => JSON.stringify({ ...event, ...more, properties });
  it.each([
    ['token', () => withToken({ token })],
    ['$token', () => withToken({ $token: token })],
    ['api_key', () => withToken({ api_key: token })],
    ['properties.token', () => withToken({}, { token })],
    ['one of an array', () => `[${withToken({})},${withToken({ api_key: token })},${withToken({}, { token })}]`],
    ['the root, which wins over the events', () => batchOf([{ ...event, api_key: 'phc_other' }])],
    ['white space around it', () => withToken({ token: ` ${token}\n` })],
  ])('finds the key in %s', async (_place, body) => {
    expect((await post('/e/', body())).statusCode).toBe(200);
  });

  it.each([
    ['no key', () => withToken({}), 'not_authenticated', 'event submitted without an api_key'],
    [
      'several keys',
      () => `[${withToken({ token })},${withToken({ token: 'phc_b' })}]`,
      'authentication_failed',
      'inconsistent api_key values',
    ],
    ['an unknown key', () => withToken({ token: 'phc_unknown' }), 'authentication_failed', 'project API key'],
    ['an empty key', () => withToken({ token: ' ' }), 'authentication_failed', 'API key is not valid: empty'],
    [
      'a long key',
      () => withToken({ token: 'x'.repeat(65) }),
      'authentication_failed',
      'API key is not valid: too_long',
    ],
    [
      'a key that is not ASCII',
      () => withToken({ token: 'phc_ä' }),
      'authentication_failed',
      'API key is not valid: not_ascii',
    ],
    [
      'a personal key',
      () => withToken({ token: 'phx_secret' }),
      'authentication_failed',
      'API key is not valid: personal_api_key',
    ],
    ['a key with NUL', () => withToken({ token: 'a\0b' }), 'authentication_failed', 'API key is not valid: null_byte'],
    ['a number', () => withToken({ token: 5 }), 'authentication_failed', 'project API key'],
  ])('refuses %s with 401 and never repeats the key', async (_name, body, code, detail) => {
    const answer = await post('/e/', body());
    expect([answer.statusCode, answer.json().code]).toEqual([401, code]);
    expect(answer.json().detail).toContain(detail);
    expect(answer.body).not.toMatch(/phx_secret|phc_unknown/);
    expect(await taken()).toEqual([]);
  });
});

describe('events that are not valid', () => {
  const uuid = '0191c7a0-0000-7000-8000-000000000001';
  const deep = JSON.parse('['.repeat(65) + ']'.repeat(65)) as unknown;
  const cases: readonly [name: string, bad: unknown, code: string, attr: string][] = [
    ['no name', { distinct_id: 'u' }, 'missing_event_name', '.event'],
    ['an empty name', { ...event, event: '' }, 'missing_event_name', '.event'],
    ['a null name', { ...event, event: null }, 'missing_event_name', '.event'],
    ['a numeric name', { ...event, event: 5 }, 'invalid_event_name', '.event'],
    ['a long name', { ...event, event: 'é'.repeat(201) }, 'event_name_too_long', '.event'],
    ['no distinct_id', { event: 'a' }, 'missing_distinct_id', '.distinct_id'],
    ['a null distinct_id', { event: 'a', distinct_id: null }, 'missing_distinct_id', '.distinct_id'],
    ['an empty distinct_id', { event: 'a', distinct_id: '' }, 'missing_distinct_id', '.distinct_id'],
    ['a blank distinct_id', { event: 'a', distinct_id: ' \t\u00a0' }, 'missing_distinct_id', '.distinct_id'],
    ['an invalid uuid', { ...event, uuid: 'x' }, 'invalid_event_uuid', '.uuid'],
    ['a numeric uuid', { ...event, uuid: 7 }, 'invalid_event_uuid', '.uuid'],
    ['a uuid with a missing digit', { ...event, uuid: uuid.slice(1) }, 'invalid_event_uuid', '.uuid'],
    ['properties that are an array', { ...event, properties: [1] }, 'malformed_event_properties', '.properties'],
    ['$set that is a string', { ...event, $set: 'x' }, 'malformed_event_properties', '.$set'],
    ['$set_once that is a number', { ...event, $set_once: 1 }, 'malformed_event_properties', '.$set_once'],
    ['an offset that is a string', { ...event, offset: '5' }, 'invalid_event_offset', '.offset'],
    [
      '$cookieless_mode that is a string',
      { ...event, properties: { $cookieless_mode: 'yes' } },
      'invalid_cookieless_mode',
      '.properties.$cookieless_mode',
    ],
    ['null', null, 'invalid_event', ''],
    ['a string', 'x', 'invalid_event', ''],
    ['an event that is too deep', { ...event, properties: { deep } }, 'event_too_deep', ''],
    ['an event that is too large', { ...event, properties: { x: 'y'.repeat(1_000_000) } }, 'event_too_large', ''],
  ];

  it.each(cases)('one bad event is rejected alone: %s', async (_name, bad, code, attr) => {
    const answer = await post('/batch/', batchOf([event, bad, event]));
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      status: 'Ok',
      rejected: [{ index: 1, code, attr: `batch[1]${attr}`, detail: expect.any(String) }],
    });
    expect((await capture.records()).at(-1)?.header.events).toBe(2);
  });

  it.each(cases)('a request with only a bad event is refused: %s', async (_name, bad, code, attr) => {
    const answer = await post('/batch/', batchOf([bad]));
    const tooLarge = code === 'event_too_large';
    expect(answer.statusCode).toBe(tooLarge ? 413 : 400);
    expect(answer.json()).toMatchObject({
      attr: `batch[0]${attr}`,
      code: expect.any(String),
      type: expect.any(String),
      // The same form as `rejected` of a 200 response.
      errors: [{ index: 0, code, attr: `batch[0]${attr}`, detail: expect.any(String) }],
    });
    expect(Object.hasOwn(apiErrors, answer.json().code)).toBe(true);
    expect(await taken()).toEqual([]);
  });

  it.each([
    ['a number as distinct_id', { event: 'a', distinct_id: 23 }],
    ['an object as distinct_id', { event: 'a', distinct_id: { a: 1 } }],
    ['the id under its other name', { event: 'a', $distinct_id: 'x' }],
    ['the id in the properties', { event: 'a', properties: { distinct_id: 'x' } }],
    ['a long distinct_id', { event: 'a', distinct_id: 'x'.repeat(300) }],
    ['null properties', { ...event, properties: null }],
    ['an empty uuid', { ...event, uuid: '' }],
    ['a uuid in capitals', { ...event, uuid: uuid.toUpperCase() }],
    ['a uuid without dashes', { ...event, uuid: uuid.replaceAll('-', '') }],
    ['a uuid in braces', { ...event, uuid: `{${uuid}}` }],
    ['a uuid as urn, with white space', { ...event, uuid: `\turn:uuid:${uuid} ` }],
    ['null for optional fields', { ...event, uuid: null, offset: null, $set: null, $set_once: null, timestamp: null }],
    ['an invalid timestamp', { ...event, timestamp: 'not a date' }],
    ['a number as timestamp', { ...event, timestamp: 1_700_000_000 }],
    ['a name of 200 characters', { ...event, event: 'é'.repeat(200) }],
    ['unknown fields', { ...event, type: 'capture', library: 'x', context: {} }],
    ['a null cookieless mode', { ...event, properties: { $cookieless_mode: null } }],
  ])('accepts %s', async (_name, good) => {
    const answer = await post('/batch/', batchOf([good]));
    expect([answer.statusCode, answer.body]).toEqual([200, '{"status":"Ok"}']);
  });

  it('lists every rejected event if none is valid', async () => {
    const answer = await post('/batch/', batchOf([{ event: 'a' }, { distinct_id: 'u' }]));
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({
      type: 'validation_error',
      code: 'required',
      attr: 'batch[0].distinct_id',
      detail: expect.stringContaining('event submitted without a distinct_id'),
      errors: [
        { index: 0, code: 'missing_distinct_id', attr: 'batch[0].distinct_id' },
        { index: 1, code: 'missing_event_name', attr: 'batch[1].event' },
      ],
    });
  });

  it('lists the first thousand rejected events and their total', async () => {
    const many = Array.from({ length: 1500 }, () => ({ event: 'a' }));
    const taken = await post('/batch/', batchOf([event, ...many]));
    expect([taken.statusCode, taken.json().rejected.length, taken.json().rejected_total]).toEqual([200, 1000, 1500]);
    const refused = await post('/batch/', batchOf(many));
    expect([refused.statusCode, refused.json().errors.length]).toEqual([400, 1000]);
    expect(refused.json().detail).toContain('1500 of 1500 not valid');
  });

  it('stores nothing under Prefer: handling=strict if one event is bad', async () => {
    const answer = await post('/batch/', batchOf([event, { event: 'a' }]), { prefer: 'handling=strict' });
    expect([answer.statusCode, answer.json().attr]).toEqual([400, 'batch[1].distinct_id']);
    expect(answer.json().errors).toMatchObject([{ index: 1, code: 'missing_distinct_id' }]);
    expect(await taken()).toEqual([]);
    const good = await post('/batch/', batchOf([event]), { prefer: 'handling=strict' });
    expect([good.statusCode, good.headers['preference-applied']]).toEqual([200, 'handling=strict']);
  });

  it('locates a rejected event by index in an array and by field alone', async () => {
    const array = await post('/e/', JSON.stringify([{ ...event, token }, { event: 'a' }]));
    expect(array.json().rejected).toMatchObject([{ index: 1, attr: '[1].distinct_id' }]);
    const single = await post('/e/', JSON.stringify({ event: 'a', token }));
    expect([single.statusCode, single.json().attr]).toEqual([400, 'distinct_id']);
  });

  it.each([['[]'], ['{"batch":[],"api_key":"phc_x"}']])('refuses %s: no event', async (body) => {
    const answer = await post('/batch/', body);
    expect([answer.statusCode, answer.json().detail]).toEqual([400, 'expected at least one event, got: none']);
  });

  it('refuses an object without a name, except at /engage, where it becomes $identify', async () => {
    const body = JSON.stringify({ distinct_id: 'u', $set: { plan: 'pro' }, token });
    const refused = await post('/e/', body);
    expect([refused.statusCode, refused.json().detail]).toEqual([
      400,
      expect.stringContaining('missing event name attribute'),
    ]);
    expect((await post('/engage/', body)).statusCode).toBe(200);
    expect(await taken()).toEqual([{ event: '$identify', distinct_id: 'u', $set: { plan: 'pro' }, token }]);
    await post('/engage', JSON.stringify({ event: null, distinct_id: 'u', token }));
    expect((await capture.events()).at(-1)).toEqual({ event: '$identify', distinct_id: 'u', token });
  });

  it.each([
    ['properties', { properties: [] }],
    ['properties, with space', { properties: '[ ]' }],
    ['$set', { $set: [] }],
    ['$set_once', { $set_once: [] }],
  ])('accepts [] as an empty map, as PHP writes it, in %s', async (_name, more) => {
    const body = batchOf([{ ...event, ...more }, event]).replace('"[ ]"', '[ \n ]');
    expect((await post('/batch/', body)).body).toBe('{"status":"Ok"}');
  });

  it('drops $performance_event, alone and among others', async () => {
    const noise = { event: '$performance_event', distinct_id: 'u' };
    expect((await post('/e/', batchOf([noise]))).body).toBe('{"status":"Ok"}');
    expect(await taken()).toEqual([]);
    await post('/e/', batchOf([noise, event, noise], { sent_at: '2026-11-20T09:59:50Z' }));
    const record = (await capture.records()).at(-1);
    expect(JSON.parse(Buffer.from(record?.body ?? []).toString())).toMatchObject({ batch: [event], api_key: token });
    expect(record?.header.sentAt).toBe(Date.parse('2026-11-20T09:59:50Z'));
  });
});

describe('what is written to the log', () => {
  it.each([
    ['the body', '/batch/', { sent_at: '2026-11-20T09:59:50.5Z' }, Date.parse('2026-11-20T09:59:50.5Z')],
    ['the query', `/batch/?_=${Date.parse('2026-11-20T09:59:50Z')}`, {}, Date.parse('2026-11-20T09:59:50Z')],
    ['nowhere if it is in seconds', '/batch/?_=1795167590', {}, undefined],
    ['nowhere if it cannot be parsed', '/batch/', { sent_at: 'soon' }, undefined],
  ])('reads sent_at from %s', async (_place, path, more, expected) => {
    expect((await post(path, batchOf([event], more))).statusCode).toBe(200);
    expect((await capture.records()).at(-1)?.header.sentAt).toBe(expected);
  });

  it('contains project, time of receipt, sender and request id', async () => {
    await post('/batch/', batchOf([event, event]), { 'x-request-id': 'req-1' });
    expect((await capture.records()).at(-1)?.header).toMatchObject({
      projectId: capture.test.project.id,
      receivedAt: capture.test.clock.now(),
      ip: '127.0.0.1',
      events: 2,
      requestId: 'req-1',
    });
  });

  it('sends history to its own lane only by the flag in the batch root', async () => {
    const old = { ...event, timestamp: '2020-01-01T00:00:00Z' };
    expect((await post('/batch/', batchOf([old], { historical_migration: true }))).statusCode).toBe(200);
    expect((await capture.events('historical')).at(-1)).toEqual(old);
    expect(await taken()).toEqual([]);
    await post('/e/', JSON.stringify({ ...old, token, historical_migration: true }));
    expect((await capture.records()).length - seen).toBe(1);
  });

  it.each([['not a date'], ['1899-12-31T23:59:59Z'], ['2026-11-21T09:00:01Z'], ['2021-02-30'], ['']])(
    'refuses the timestamp %j in history',
    async (timestamp) => {
      const answer = await post('/batch/', batchOf([{ ...event, timestamp }], { historical_migration: true }));
      expect([answer.statusCode, answer.json().attr]).toEqual([400, 'batch[0].timestamp']);
    },
  );

  it('keeps hostile keys and strings byte for byte', async () => {
    const body = `{"api_key":"${token}","batch":[{"event":"a","distinct_id":"u","properties":{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"n":12345678901234567890,"e":1e999,"s":"\\ud800\\u0000","t":"\\n\\nTRUNCATE TABLE events"}}]}`;
    expect((await post('/batch/', body)).statusCode).toBe(200);
    expect(Buffer.from((await capture.records()).at(-1)?.body ?? []).toString()).toBe(body);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});
