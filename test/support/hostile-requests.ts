import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** A request that shows no key of the service, made to cost as much as it can. */
export interface HostileRequest {
  readonly name: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Sent as chunks of so many bytes. */
  readonly chunkBytes?: number;
}

const mebi = 1024 * 1024;
const largestBody = 20_000_000;
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const text = { 'content-type': 'text/plain' };
const unknownKey = 'phc_unknown0000000000000000000000000';

/** `piece` again and again between the two ends, of about `bytes` in all. */
function filled(start: string, piece: string, end: string, bytes: number): Buffer {
  const count = Math.floor((bytes - start.length - end.length) / piece.length);
  return Buffer.concat([Buffer.from(start), Buffer.alloc(count * piece.length, piece), Buffer.from(end)]);
}

const event = '{"event":"e","distinct_id":"d"},';
const lastEvent = '{"event":"e","distinct_id":"d"}]';

/** Bodies of capture, by what is unusual about them. */
function captureBodies(bytes: number): readonly (readonly [string, Buffer])[] {
  return [
    ['events with an unknown key', filled(`{"api_key":"${unknownKey}","batch":[`, event, `${lastEvent}}`, bytes)],
    ['events without a key', filled('{"batch":[', event, `${lastEvent}}`, bytes)],
    ['one key again and again', filled('{', '"api_key":"a",', '"batch":[]}', bytes)],
    ['one escaped key again and again', filled('{', '"\\u0061pi_key":"a",', '"batch":[]}', bytes)],
    ['many different keys', differentKeys(bytes)],
    ['nested arrays', filled('{"batch":', '[', '', bytes)],
    ['nested objects', filled('', '{"a":', '', bytes)],
    ['empty objects', filled('[', '{},', '{}]', bytes)],
    ['escapes', filled('{"batch":["', '\\u0041', '"]}', bytes)],
    ['numbers', filled('{"batch":[', '1e9,', '1]}', bytes)],
    ['white space', filled('{"batch":[', ' \n', ']}', bytes)],
    ['bytes that are not UTF-8', filled('{"batch":["', 'aé', '\xff"]}', bytes)],
  ];
}

function differentKeys(bytes: number): Buffer {
  const parts = ['{'];
  for (let size = 1, n = 0; size < bytes; n++) size += parts.push(`"api_key":"a${n}",`) && 16;
  return Buffer.from(`${parts.join('')}"batch":[]}`);
}

/** An lz-string text whose phrases grow by one character each: little input, the longest output and the most copies. */
function lz64Bomb(bytes: number): Buffer {
  const codes: [value: number, width: number][] = [
    [0, 2],
    [0x61, 8],
  ];
  for (let phrases = 1, bits = 10; bits < bytes * 6; phrases += 1) {
    const width = 32 - Math.clz32(phrases + 3);
    codes.push([phrases + 3, width]);
    bits += width;
  }
  const bits = codes.flatMap(([value, width]) => Array.from({ length: width }, (_, i) => (value >>> i) & 1));
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  let out = '';
  for (let i = 0; i + 6 <= bits.length; i += 6) out += alphabet[Number.parseInt(bits.slice(i, i + 6).join(''), 2)];
  return Buffer.from(out);
}

function captureRequests(): HostileRequest[] {
  const path = '/batch/';
  const plain = captureBodies(largestBody).map(([name, body]) => ({
    name: `20 MB of ${name}`,
    path,
    headers: json,
    body,
  }));
  const below = captureBodies(250_000).map(([name, body]) => ({
    name: `250 kB of ${name}`,
    path,
    headers: json,
    body,
  }));
  const packed = captureBodies(90 * mebi).map(([name, body]) => ({
    name: `gzip of 90 MiB of ${name}`,
    path: '/i/v0/e/',
    headers: { ...json, 'content-encoding': 'gzip' },
    body: gzipSync(body, { level: 1 }),
  }));
  return [...plain, ...below, ...packed];
}

const v1Headers = {
  ...json,
  authorization: `Bearer ${unknownKey}`,
  'user-agent': 'a',
  'posthog-sdk-info': 'a/1',
  'posthog-attempt': '1',
  'posthog-request-id': '0199a7c4-6f3e-7c1a-9d55-2b1f0c6e8a10',
  'posthog-request-timestamp': '2026-01-31T12:00:00Z',
};

function encodedRequests(): HostileRequest[] {
  const zeros = Buffer.alloc(400 * mebi);
  const batch = filled(`{"api_key":"${unknownKey}","batch":[`, event, `${lastEvent}}`, 60 * mebi);
  const encoders = {
    gzip: gzipSync,
    br: (bytes: Buffer) => brotliQuickly(bytes),
    zstd: zstdCompressSync,
    deflate: deflateSync,
  };
  const v1 = Object.entries(encoders).map(([encoding, pack]) => ({
    name: `v1: ${encoding} of 60 MiB`,
    path: '/i/v1/analytics/events',
    headers: { ...v1Headers, 'content-encoding': encoding },
    body: pack(batch),
  }));
  const lying = gzipSync(zeros, { level: 1 });
  lying.writeUInt32LE(10, lying.length - 4);
  const gzipBase64 = Buffer.from(gzipSync(batch).toString('base64'));
  return [
    ...v1,
    { name: 'gzip bomb of 400 MiB', path: '/e/', headers: json, body: gzipSync(zeros, { level: 1 }) },
    { name: 'gzip bomb that claims 10 bytes', path: '/capture/', headers: json, body: lying },
    { name: 'gzip in base64', path: '/track/', headers: text, body: gzipBase64 },
    {
      name: 'gzip in base64 in a form',
      path: '/engage/',
      headers: form,
      body: Buffer.concat([Buffer.from('data='), gzipBase64]),
    },
    { name: 'base64 of 20 MB', path: '/e/', headers: text, body: Buffer.alloc(largestBody, 'A') },
    { name: 'base64 of 2 MB twice', path: '/e/', headers: text, body: Buffer.alloc(2 * mebi, Buffer.from('QUFB')) },
    ...[20_000, 500_000, 3_000_000].map((bytes) => ({
      name: `lz64 of ${bytes / 1000} kB`,
      path: '/e/?compression=lz64',
      headers: text,
      body: lz64Bomb(bytes),
    })),
    {
      name: 'lz64 in the query',
      method: 'GET',
      path: `/e/?compression=lz64&data=${lz64Bomb(12_000).toString().replaceAll('+', '%2B')}`,
    },
    { name: '20 MB of form fields', path: '/e/', headers: form, body: filled('data=a', '&a=b', '', largestBody) },
    { name: '2 MB of escapes in a form', path: '/e/', headers: form, body: filled('data=', '%41', '', 2 * mebi) },
    {
      name: 'flags of 20 MB',
      path: '/flags/?v=2',
      headers: json,
      body: filled('{"token":"x","a":[', '{},', '{}]}', largestBody),
    },
  ];
}

function brotliQuickly(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, { params: { 1: 1 } });
}

function apiRequests(): HostileRequest[] {
  const path = '/api/projects/1/pipeline_transformation_configs/';
  const large = filled('{"a":[', '{"a":1},', '{}]}', 19_000_000);
  const manyKeys = filled('{', '"a":1,', '"a":1}', 19_000_000);
  const equalFields = filled('a=b', '&a=b', '', 13_000_000);
  const boundary = { 'content-type': 'multipart/form-data; boundary=b' };
  const parts = filled('', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n', '--b--\r\n', 13_000_000);
  return [
    { name: 'API: 19 MB of JSON', path, headers: json, body: large },
    { name: 'API: 19 MB of equal keys', path, headers: json, body: manyKeys },
    { name: 'API: 13 MB of form', path, headers: form, body: equalFields },
    { name: 'API: 13 MB of multipart', path, headers: boundary, body: parts },
    {
      name: 'API: 19 MB with an unknown session',
      path,
      headers: { ...json, cookie: 'millrace_session=a' },
      body: large,
    },
    {
      name: 'API: 19 MB with an unknown key',
      path,
      headers: { ...json, authorization: 'Bearer phx_unknown' },
      body: large,
    },
    { name: 'API: 60 kB of equal keys', path, headers: json, body: filled('{', '"a":1,', '"a":1}', 60_000) },
    { name: 'API: 60 kB of equal fields', path, headers: form, body: filled('a=b', '&a=b', '', 60_000) },
    { name: 'API: 60 kB of nested arrays', path, headers: json, body: filled('', '[', '', 60_000) },
    { name: 'API: 60 kB of multipart', path, headers: boundary, body: parts.subarray(0, 60_000) },
    { name: 'API: chunks of one byte', path, headers: json, body: large.subarray(0, 300_000), chunkBytes: 1 },
    {
      name: 'API: an upload of 19 MB',
      path: '/api/projects/1/import_uploads/',
      headers: { 'content-type': 'application/octet-stream' },
      body: large,
    },
    { name: 'sign-in: 13 MB of form', path: '/login', headers: form, body: equalFields },
    { name: 'sign-in: 19 MB of JSON', path: '/login', headers: json, body: large },
    { name: 'sign-in: 16 kB of equal fields', path: '/login', headers: form, body: equalFields.subarray(0, 16_000) },
    { name: 'sign-out: 19 MB of JSON', path: '/logout', headers: json, body: large },
    { name: 'keys: 19 MB of JSON', path: '/keys', headers: json, body: large },
    { name: 'no endpoint: 19 MB of JSON', path: '/nothing/here', headers: json, body: large },
    { name: 'the console: 19 MB of JSON', path: '/console/', headers: json, body: large },
    { name: 'the documents: 19 MB of JSON', path: '/docs', headers: json, body: large },
  ];
}

function oddRequests(): HostileRequest[] {
  const method = 'GET';
  const manyHeaders = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`x-${n}`, 'a']));
  return [
    {
      name: 'capture: chunks of one byte',
      path: '/batch/',
      headers: json,
      body: Buffer.alloc(300_000, '['),
      chunkBytes: 1,
    },
    {
      name: 'capture: chunks of 600 bytes',
      path: '/batch/',
      headers: json,
      body: Buffer.alloc(2 * mebi, '['),
      chunkBytes: 600,
    },
    { name: 'a query of 15 kB', method, path: `/api/projects/1/events/?${'a=b&'.repeat(3700)}` },
    { name: 'a query of 15 kB of escapes', method, path: `/e/?data=${'%41'.repeat(5000)}` },
    { name: 'a path of 15 kB', method, path: `/${'a/'.repeat(7500)}` },
    { name: 'a cookie of 15 kB', method, path: '/', headers: { cookie: 'a=b; '.repeat(3000) } },
    {
      name: 'spaces in Authorization',
      method,
      path: '/api/users/@me/',
      headers: { authorization: `Bearer ${' '.repeat(15_000)}a b` },
    },
    { name: '900 headers', method, path: '/api/users/@me/', headers: manyHeaders },
    {
      name: 'X-Forwarded-For of 15 kB',
      path: '/batch/',
      headers: { ...json, 'x-forwarded-for': '1.2.3.4, '.repeat(1600) },
      body: Buffer.from('{}'),
    },
  ];
}

/** None of them names a key that the service knows. */
export function hostileRequests(): HostileRequest[] {
  return [...captureRequests(), ...encodedRequests(), ...apiRequests(), ...oddRequests()];
}
