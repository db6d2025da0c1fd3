import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { capturePaths, captureV1Path } from '../../src/wire/contract/capture.ts';

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
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const unknownKey = 'phc_unknown0000000000000000000000000';

/** `piece` again and again between the two ends, of about `bytes` in all. */
function filled(start: string, piece: string, end: string, bytes: number): Buffer {
  const count = Math.floor((bytes - start.length - end.length) / piece.length);
  return Buffer.concat([Buffer.from(start), Buffer.alloc(count * piece.length, piece), Buffer.from(end)]);
}

function multipartBody(bytes: number): Buffer {
  return filled('', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n', '--b--\r\n', bytes);
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
  const parts = multipartBody(13_000_000);
  return [
    { name: 'API: 19 MB of JSON', path, headers: json, body: large },
    { name: 'API: 19 MB of equal keys', path, headers: json, body: manyKeys },
    { name: 'API: 13 MB of form', path, headers: form, body: equalFields },
    { name: 'API: 13 MB of multipart', path, headers: multipart, body: parts },
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
    { name: 'API: 60 kB of multipart', path, headers: multipart, body: parts.subarray(0, 60_000) },
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

/** Every path that takes events, in every form that it takes, as large as is read before the key is looked up. */
function pathRequests(): HostileRequest[] {
  const batch = filled(`{"api_key":"${unknownKey}","batch":[`, event, `${lastEvent}}`, 250_000);
  const packed = gzipSync(batch);
  const base64 = Buffer.from(batch.toString('base64'));
  const forms: readonly (readonly [string, string, Readonly<Record<string, string>>, Buffer])[] = [
    ['JSON', '', json, batch],
    ['gzip', '?compression=gzip', text, packed],
    ['base64', '', text, base64],
    ['lz64', '?compression=lz64', text, lz64Bomb(500_000)],
    ['a form of base64', '', form, Buffer.concat([Buffer.from('data='), base64])],
  ];
  const paths = [...capturePaths, '/flags/', '/decide/'];
  const older = paths.flatMap((path) =>
    forms.map(([name, query, headers, body]) => ({ name: `${path}: ${name}`, path: path + query, headers, body })),
  );
  const v1 = { path: captureV1Path, headers: v1Headers };
  const message = '{"type":"track","event":"e","userId":"u"},';
  const segment = { path: '/v1/batch', headers: json };
  return [
    ...older,
    { ...segment, name: 'Segment: 250 kB', body: filled('{"batch":[', message, '{}]}', 250_000) },
    { ...segment, name: 'Segment: 20 MB', body: filled('{"batch":[', message, '{}]}', largestBody) },
    {
      ...segment,
      name: 'Segment: 15 kB of key',
      headers: { ...json, 'x-write-key': 'a'.repeat(15_000) },
      body: packed,
    },
    { ...v1, name: 'v1: 20 MB', body: filled('{"batch":[', event, lastEvent, largestBody) },
    { ...v1, name: 'v1: 20 MB without a key', headers: json, body: filled('{"batch":[', '[', '', largestBody) },
    { name: 'capture: multipart', path: '/batch/', headers: multipart, body: multipartBody(13_000_000) },
  ];
}

/** What anybody may read, with as much in address and headers as is taken. */
function readRequests(): HostileRequest[] {
  const method = 'GET';
  const long = 'a'.repeat(15_000);
  const commas = 'a;q=0.1,'.repeat(1_800);
  const paths = {
    'the browser library': '/static/array.js',
    'a script that is not there': `/static/${long}`,
    'the configuration of an unknown key': `/array/${long.slice(0, 190)}/config.js`,
    'flags of an unknown key': `/flags/?token=${long}`,
    'flags in the query': `/decide/?data=${'W'.repeat(15_000)}`,
    'surveys of an unknown key': `/api/surveys/?token=${long}`,
    'health with all checks': '/readyz?verbose',
    metrics: '/metrics',
    'the OpenAPI document': '/api/openapi.json',
    'the documents': '/docs',
    'a file of the console': `/console/assets/${'../'.repeat(4_000)}`,
    'a sign-in link': `/login?token=${long}`,
    'the live stream': '/api/projects/1/live_events/',
  };
  const reads = Object.entries(paths).map(([name, path]) => ({ name: `read: ${name}`, method, path }));
  return [
    ...reads,
    { name: 'read: 15 kB of encodings', method, path: '/static/array.js', headers: { 'accept-encoding': commas } },
    { name: 'read: 15 kB of tags', method, path: '/console/', headers: { 'if-none-match': '"a",'.repeat(3_000) } },
    {
      name: 'preflight with 15 kB of headers',
      method: 'OPTIONS',
      path: '/batch/',
      headers: { origin: 'https://a.example', 'access-control-request-headers': 'x-a,'.repeat(3_500) },
    },
    { name: 'an unknown method', method: 'PROPFIND', path: '/batch/', body: Buffer.alloc(largestBody, '<') },
    { name: 'an upgrade', method, path: '/', headers: { connection: 'upgrade', upgrade: 'websocket' } },
  ];
}

/** Wrong keys in every place where one is looked for, and bodies of the size that is parsed to find one. */
function wrongKeyRequests(): HostileRequest[] {
  const path = '/api/projects/1/pipeline_transformation_configs/';
  const parsedBytes = 64_000;
  const long = 'a'.repeat(15_000);
  const withKey = (rest: string, piece: string, end: string): Buffer =>
    filled(`{"personal_api_key":"phx_a","a":${rest}`, piece, end, parsedBytes);
  return [
    { name: 'wrong key: 15 kB in the header', path, headers: { ...json, authorization: `Bearer phx_${long}` } },
    { name: 'wrong key: 15 kB in the query', path: `${path}?personal_api_key=${long}` },
    { name: 'wrong key: 15 kB in the cookie', path, headers: { cookie: `millrace_session=${long}` } },
    { name: 'wrong key: 64 kB of numbers', path, headers: json, body: withKey('[', '1e9,', '1]}') },
    { name: 'wrong key: one number of 64 kB', path, headers: json, body: withKey('', '9', '}') },
    { name: 'wrong key: 64 kB of escapes', path, headers: json, body: withKey('"', '\\u0041', '"}') },
    { name: 'wrong key: 64 kB of objects', path, headers: json, body: withKey('[', '{},', '{}]}') },
    { name: 'wrong key: 64 kB of nested objects', path, headers: json, body: withKey('', '{"a":', '') },
    {
      name: 'wrong key: settings of 64 kB',
      method: 'PUT',
      path: '/api/projects/1/pipeline_transformation_configs/1/settings/',
      headers: json,
      body: withKey('[', '1.5,', '1]}'),
    },
    {
      name: 'wrong key: an upload of 19 MB of multipart',
      path: '/api/projects/1/import_uploads/',
      headers: { ...multipart, authorization: 'Bearer phx_a' },
      body: multipartBody(19_000_000),
    },
    { name: 'wrong key: 15 kB to sign-in', path: '/login', headers: form, body: Buffer.from(`key=${long}`) },
    { name: 'wrong key: a link of 15 kB', path: '/login', headers: form, body: Buffer.from(`token=${long}`) },
    { name: 'wrong key: multipart to sign-in', path: '/login', headers: multipart, body: multipartBody(16_000) },
  ];
}

/** None of them names a key that the service knows. */
export function hostileRequests(): HostileRequest[] {
  return [
    ...captureRequests(),
    ...encodedRequests(),
    ...pathRequests(),
    ...apiRequests(),
    ...wrongKeyRequests(),
    ...readRequests(),
    ...oddRequests(),
  ];
}
