import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askFramework, askOverHttp, type Asked } from '../../../test/support/both-ways.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

type Sent = Omit<Asked, 'method' | 'body'> & { readonly body: string | Buffer };

const id = { 'x-request-id': 'the same' };
let capture: TestCapture;
let port: number;

beforeAll(async () => {
  const settings = { captureBodyBytesMax: 2000, captureInflatedBytesMax: 10_000, trustProxy: true };
  capture = await startTestCapture({ settings });
  port = Number(new URL(await capture.url()).port);
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

const overHttp = (sent: Sent) => askOverHttp(port, { method: 'POST', ...sent, headers: { ...id, ...sent.headers } });
const throughFramework = (sent: Sent) =>
  askFramework(capture.test, { method: 'POST', ...sent, headers: { ...id, ...sent.headers } });

const event = { event: 'a', distinct_id: 'u' };
const json = { 'content-type': 'application/json' };
const browser = {
  origin: 'https://shop.example',
  'access-control-request-headers': 'x-a',
  'content-type': 'text/plain;charset=UTF-8',
};
const v1 = {
  ...json,
  'user-agent': 'test/1',
  'posthog-sdk-info': 'test/1',
  'posthog-attempt': '1',
  'posthog-request-id': 'their-own',
  'posthog-request-timestamp': '2026-01-01T00:00:00Z',
};

const cases: readonly (readonly [string, (token: string) => Sent])[] = [
  [
    'a batch',
    (token) => ({ path: '/batch/', body: JSON.stringify({ api_key: token, batch: [event] }), headers: json }),
  ],
  [
    "a browser's gzip",
    (token) => ({
      path: '/e/?compression=gzip-js&_=1700000000000',
      body: gzipSync(JSON.stringify({ ...event, api_key: token })),
      headers: browser,
    }),
  ],
  [
    'a body without content type',
    (token) => ({ path: '/capture', body: JSON.stringify({ ...event, api_key: token }) }),
  ],
  [
    'a beacon',
    (token) => ({ path: '/e/?beacon=1', body: JSON.stringify({ ...event, api_key: token }), headers: browser }),
  ],
  [
    'a batch with a rejected event',
    (token) => ({ path: '/batch', body: JSON.stringify({ api_key: token, batch: [event, {}] }), headers: json }),
  ],
  [
    'a refused batch with strict handling',
    (token) => ({
      path: '/batch',
      body: JSON.stringify({ api_key: token, batch: [event, {}] }),
      headers: { ...json, prefer: 'handling=strict' },
    }),
  ],
  [
    'an accepted batch with strict handling',
    (token) => ({
      path: '/batch',
      body: JSON.stringify({ api_key: token, batch: [event] }),
      headers: { ...json, prefer: 'handling=strict' },
    }),
  ],
  ['an unknown key', () => ({ path: '/batch', body: JSON.stringify({ api_key: 'phc_no', batch: [event] }) })],
  ['no key', () => ({ path: '/e', body: JSON.stringify(event), headers: browser })],
  ['a body that is not JSON', () => ({ path: '/e', body: 'nothing', headers: json })],
  ['an empty body', () => ({ path: '/e', body: '', headers: json })],
  ['a broken gzip', () => ({ path: '/e', body: gzipSync('{}').subarray(0, 20), headers: browser })],
  ['an unsupported encoding', () => ({ path: '/e', body: '{}', headers: { ...json, 'content-encoding': 'br' } })],
  ['a body that is too large', () => ({ path: '/batch', body: `{"a":"${'x'.repeat(3000)}"}`, headers: browser })],
  ['a body that is far too large', () => ({ path: '/batch', body: `{"a":"${'x'.repeat(5000)}"}`, headers: browser })],
  [
    'a body that is too large when unpacked',
    () => ({ path: '/batch', body: gzipSync('x'.repeat(20_000)), headers: browser }),
  ],
  [
    'v1 without its headers',
    () => ({ path: '/i/v1/analytics/events', body: '{}', headers: { ...json, 'user-agent': 'a' } }),
  ],
  ['v1 without a key', () => ({ path: '/i/v1/analytics/events', body: '{"batch":[]}', headers: v1 })],
  [
    'v1',
    (token) => ({
      path: '/i/v1/analytics/events/',
      body: JSON.stringify({
        created_at: '2026-01-01T00:00:00Z',
        batch: [{ ...event, uuid: '0192f0c1-1111-7000-8000-000000000000', timestamp: '2026-01-01T00:00:00Z' }],
      }),
      headers: { ...v1, authorization: `Bearer ${token}` },
    }),
  ],
];

describe('a response is the same, sent directly or through the framework:', () => {
  it.each(cases)('%s', async (_name, make) => {
    const sent = make(capture.token);
    const before = capture.test.framed();
    const direct = await overHttp(sent);
    expect(capture.test.framed()).toBe(before);
    expect(direct).toEqual(await throughFramework(sent));
    expect(capture.test.framed()).toBe(before + 1);
    expect(direct).toMatchObject({ headers: { 'x-request-id': 'the same' } });
  });
});

describe('an unusual request is passed to the framework:', () => {
  it.each([
    ['an invalid content type', { ...json, 'content-type': 'a b c' }],
    ['an unexpected content type', { ...json, 'content-type': 'image/png' }],
  ])('%s', async (_name, headers) => {
    const sent = { path: '/e', body: JSON.stringify({ ...event, api_key: capture.token }), headers };
    const before = capture.test.framed();
    expect(await overHttp(sent)).toEqual(await throughFramework(sent));
    expect(capture.test.framed()).toBe(before + 2);
  });
});

it('records the same sender and counts the same metrics either way', async () => {
  const counted = async () => {
    const values = await capture.metrics.values('millrace_http_requests_total');
    const found = values.find(({ labels }) => labels['route'] === '/e' && labels['status'] === '200');
    return found === undefined ? 0 : found.value;
  };
  const headers = { ...json, 'x-forwarded-for': '198.51.100.1, 203.0.113.7, 10.0.0.1' };
  const sent = { path: '/e/', body: JSON.stringify({ ...event, api_key: capture.token }), headers };
  const before = await counted();
  await overHttp(sent);
  expect((await counted()) - before).toBe(1);
  await throughFramework(sent);
  const framework = (await capture.test.app.inject('/metrics')).body;
  expect(framework).toMatch(/millrace_http_requests_total\{route="\/e",method="POST",status="200"\} \d/);
  const headersOf = (await capture.records()).slice(-2).map(({ header }) => header);
  expect(headersOf.map(({ ip, requestId }) => [ip, requestId])).toEqual([
    ['203.0.113.7', 'the same'],
    ['203.0.113.7', 'the same'],
  ]);
});
