import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeEach(async () => {
  isolate = await openTestIsolate({
    service: (op) =>
      op === 'api'
        ? { status: 201, statusText: 'Created', headers: { 'x-a': 'b' }, url: '/api', body: Buffer.from('{"ok":true}') }
        : null,
    outbound: (request) =>
      Promise.resolve({
        status: 200,
        statusText: 'OK',
        headers: {},
        url: request.url,
        body: Buffer.from(JSON.stringify(request)),
      }),
  });
});

afterEach(() => isolate.close());

describe('posthog.capture', () => {
  it('takes time and person from the properties, and sets the sending library', async () => {
    await isolate.run(`posthog.capture('seen', { distinct_id: 'u1', timestamp: new Date(0), a: 1, $set: { b: 2 } })`);
    const properties = {
      a: 1,
      $set: { b: 2 },
      distinct_id: 'u1',
      $lib: 'posthog-plugin-server',
      $lib_version: expect.any(String),
    };
    expect(isolate.asked).toEqual([
      ['capture', [{ event: 'seen', distinctId: 'u1', timestamp: '1970-01-01T00:00:00.000Z', properties }]],
    ]);
  });

  it('defaults to the present time and the person of the plugin', async () => {
    await isolate.run(`posthog.capture('seen')`);
    expect(isolate.asked).toMatchObject([
      [
        'capture',
        [
          {
            distinctId: 'Test plugin',
            timestamp: '2026-01-02T03:04:05.000Z',
            properties: { distinct_id: 'Test plugin' },
          },
        ],
      ],
    ]);
  });

  it.each([
    [`posthog.capture('')`, 'expected the name of an event, got an empty text'],
    [`posthog.capture(5)`, 'expected the name of an event, got a value of type number'],
    [`posthog.capture('a', { timestamp: 'soon' })`, 'expected a timestamp that can be read as a time'],
    [`posthog.capture('x'.repeat(2000))`, 'at most 1000 characters'],
  ])('%s is refused', async (code, message) => {
    await expect(isolate.run(code)).rejects.toThrow(message);
    expect(isolate.asked).toEqual([]);
  });
});

describe('posthog.api', () => {
  it.each([
    [`get('/api/x', { data: { a: 'b c' } })`, { method: 'GET', path: '/api/x?a=b%20c', headers: {}, body: null }],
    [`get('api/x?y=1', { data: { a: 1 } })`, { method: 'GET', path: '/api/x?y=1&a=1', headers: {}, body: null }],
    [
      `post('/api/x', { data: { a: 1 } })`,
      { method: 'POST', path: '/api/x', headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
    ],
    [
      `put('/api/x', { headers: { 'X-A': 'b' } })`,
      { method: 'PUT', path: '/api/x', headers: { 'X-A': 'b' }, body: null },
    ],
    [`delete('/api/x/1')`, { method: 'DELETE', path: '/api/x/1', headers: {}, body: null }],
  ])('%s asks this service', async (call, request) => {
    const code = `posthog.api.${call}.then(async (response) => [response.status, response.ok, response.headers.get('X-A'), await response.json()])`;
    expect(await isolate.run(code)).toEqual([201, true, 'b', { ok: true }]);
    expect(isolate.asked).toEqual([['api', [request]]]);
  });

  it('a host without keys means this service', async () => {
    await isolate.run(`posthog.api.get('/api/x', { host: 'https://other.example' })`);
    expect(isolate.asked).toEqual([['api', [{ method: 'GET', path: '/api/x', headers: {}, body: null }]]]);
  });

  it('with a host and keys it is a request to that host, with these keys', async () => {
    const options = `{ host: 'https://other.example/', projectApiKey: 'phc_1', personalApiKey: 'phx_1', data: { a: 1 } }`;
    const code = `posthog.api.post('/api/x', ${options}).then((response) => response.json())`;
    expect(await isolate.run(code)).toMatchObject({
      url: 'https://other.example/api/x?token=phc_1',
      method: 'POST',
      headers: { authorization: 'Bearer phx_1', 'content-type': 'application/json' },
    });
    expect(isolate.asked).toEqual([]);
  });

  it.each(['projectApiKey', 'personalApiKey'])('%s alone is refused', async (key) => {
    await expect(isolate.run(`posthog.api.get('/api/x', { ${key}: 'k' })`)).rejects.toThrow('give both');
  });
});
