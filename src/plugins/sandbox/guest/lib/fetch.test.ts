import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllowList } from '../../../outbound/allow-list.ts';
import { createOutboundFetch, type ClosableFetch } from '../../../outbound/safe-fetch.ts';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let server: Server;
let outbound: ClosableFetch;
let isolate: TestIsolate;
let base = '';

beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  outbound = createOutboundFetch({ allow: parseAllowList(`127.0.0.1:${port}`), timeoutMs: 5000, bytesMax: 1_000_000 });
  isolate = await openTestIsolate({ outbound });
});

afterAll(async () => {
  isolate.close();
  await outbound.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '';
  if (path.startsWith('/to/')) {
    response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
    return;
  }
  if (path === '/slow') return;
  if (path === '/json') {
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': ['a=1', 'b=2'],
      'content-encoding': 'gzip',
    });
    response.end(gzipSync('{"ü":[1]}'));
    return;
  }
  if (path === '/bytes') {
    response.end(Buffer.from([0, 255, 128, 10]));
    return;
  }
  if (path === '/large') {
    response.end(Buffer.alloc(2_000_000));
    return;
  }
  const status = /^\/status\/(\d+)/.exec(path)?.[1];
  if (status !== undefined) {
    response.writeHead(Number(status)).end('sorry');
    return;
  }
  const body: Buffer[] = await request.toArray();
  const { method, headers } = request;
  response.end(JSON.stringify({ method, path, headers, body: Buffer.concat(body).toString('latin1') }));
}

const run = (code: string): Promise<unknown> =>
  isolate.run(`(async () => { const base = '${base}'; return ${code}; })()`);
const echoed = (args: string): Promise<unknown> => run(`await (await fetch(base + '/echo', ${args})).json()`);

describe('a response', () => {
  it('has status, headers and a body that is JSON, text or bytes', async () => {
    const code = `await fetch(base + '/json').then(async (response) => [
      response.ok, response.status, response.statusText, response.url === base + '/json', response.redirected,
      response.headers.get('Content-Type'), response.headers.has('x-none'), response.headers.get('x-none'), response.headers.raw()['set-cookie'],
      await response.clone().text(), await response.json(), response.bodyUsed])`;
    expect(await run(code)).toEqual([
      true,
      200,
      'OK',
      true,
      false,
      'application/json',
      false,
      null,
      ['a=1, b=2'],
      '{"ü":[1]}',
      { ü: [1] },
      true,
    ]);
  });

  it('bytes stay bytes', async () => {
    const code = `[[...await (await fetch(base + '/bytes')).buffer()], (await (await fetch(base + '/bytes')).arrayBuffer()).byteLength]`;
    expect(await run(code)).toEqual([[0, 255, 128, 10], 4]);
  });

  it.each([204, 400, 404, 500])('%d is a response, not an error', async (status) => {
    expect(
      await run(`await fetch(base + '/status/${status}').then((response) => [response.status, response.ok])`),
    ).toEqual([status, status < 300]);
  });

  it('redirects are followed and reported', async () => {
    const code = `await fetch(base + '/to/' + encodeURIComponent('/json')).then((response) => [response.status, response.url === base + '/json', response.redirected])`;
    expect(await run(code)).toEqual([200, true, true]);
  });

  it('headers are iterated in order, in every way', async () => {
    const code = `(() => { const headers = new Headers({ B: '2', a: '1' }); headers.append('b', '3'); const seen = []; headers.forEach((value, name) => seen.push([name, value]));
      const walked = [[...headers], [...headers.keys()], [...headers.values()], Object.fromEntries(headers.entries())];
      return [seen, ...walked, new Headers(headers).get('B')]; })()`;
    const pairs = [
      ['a', '1'],
      ['b', '2, 3'],
    ];
    expect(await run(code)).toEqual([pairs, pairs, ['a', 'b'], ['1', '2, 3'], { a: '1', b: '2, 3' }, '2, 3']);
  });

  it.each([
    [
      `(async (response) => { await response.text(); await response.text() })(await fetch(base + '/json'))`,
      'body used already for',
    ],
    [`(await fetch(base + '/status/404')).json()`, 'invalid json response body at'],
    [`new Headers({ 'a b': '1' })`, 'not a legal HTTP header name'],
    [`new Headers({ a: '1\\n2' })`, 'not a legal HTTP header value'],
    [`fetch(base, { method: 'GET', body: 'a' })`, 'cannot have body'],
    [`fetch(base, { redirect: 'manual' })`, 'expected redirect'],
    [`fetch(base + '/to/%2Fjson', { redirect: 'error' })`, 'redirect mode is set to error'],
  ])('%s is an error', async (code, message) => {
    await expect(run(`await ${code}`)).rejects.toThrow(message);
  });
});

describe('a request', () => {
  it.each([
    [
      `{ method: 'post', body: 'é' }`,
      { method: 'POST', body: 'Ã©', headers: { 'content-type': 'text/plain;charset=UTF-8' } },
    ],
    [`{ method: 'PUT', body: Buffer.from([1, 255]) }`, { method: 'PUT', body: '\u0001ÿ' }],
    [`{ method: 'POST', body: Uint8Array.of(65).buffer }`, { method: 'POST', body: 'A' }],
    [
      `{ method: 'POST', body: new (require('url').URLSearchParams)({ a: 'b c' }) }`,
      { body: 'a=b+c', headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' } },
    ],
    [
      `{ method: 'POST', body: JSON.stringify({ a: 1 }), headers: { 'Content-Type': 'application/json', 'X-A': 'b' } }`,
      { body: '{"a":1}', headers: { 'content-type': 'application/json', 'x-a': 'b' } },
    ],
    [`{ headers: new Headers([['X-A', 'b']]) }`, { method: 'GET', headers: { 'x-a': 'b' }, body: '' }],
    [`{ method: 'DELETE' }`, { method: 'DELETE', body: '' }],
  ])('%s arrives as it is', async (init, request) => {
    expect(await echoed(init)).toMatchObject(request);
  });

  it('may be a Request, or a URL', async () => {
    const code = `[await (await fetch(new Request(base + '/echo?a', { method: 'POST', body: 'x' }))).json(), await (await fetch(new URL('/echo?b', base))).json(),
      await (await require('node-fetch')(base + '/echo?c')).json(), await (await require('node-fetch').default(base + '/echo?d')).json()]`;
    expect(await run(code)).toMatchObject([
      { method: 'POST', path: '/echo?a', body: 'x' },
      { path: '/echo?b' },
      { path: '/echo?c' },
      { path: '/echo?d' },
    ]);
  });

  it('times out after its own timeout', async () => {
    const code = `await fetch(base + '/slow', { timeout: 100 }).catch((error) => [error.name, error.type, error instanceof Error])`;
    expect(await run(code)).toEqual(['FetchError', 'request-timeout', true]);
  });
});

describe('refusals', () => {
  it.each([
    'http://127.0.0.1:1/',
    'http://localhost:1/',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]/',
    'http://2130706433/',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://[fd00::1]/',
    'http://0.0.0.0/',
    'http://metadata.google.internal/',
  ])('%s, itself and behind a redirect, with the cause', async (url) => {
    const caught = `.catch((error) => [error.name, error.type, error.code, error.message])`;
    const direct = (await run(`await fetch('${url}?key=secret')${caught}`)) as string[];
    const behind = (await run(`await fetch(base + '/to/' + encodeURIComponent('${url}'))${caught}`)) as string[];
    for (const [name, type, code, message] of [direct, behind]) {
      expect([name, type, code]).toEqual(['FetchError', 'system', 'EADDRNOTALLOWED']);
      expect(message).toContain(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
      expect(message).not.toContain('secret');
    }
  });

  it.each(['file:///etc/hostname', 'ftp://example.com/', 'data:text/plain,a', '/relative', 'nonsense'])(
    '%s',
    async (url) => {
      await expect(run(`await fetch('${url}')`)).rejects.toThrow('failed, reason');
    },
  );

  it('too many bytes', async () => {
    await expect(run(`await fetch(base + '/large')`)).rejects.toThrow('1000000');
  });

  it('too many requests per minute; the others succeed', async () => {
    const other = await openTestIsolate({ outbound });
    const code = `(async () => { const all = await Promise.allSettled(Array.from({ length: 602 }, () => fetch('${base}/bytes')));
      return [all.filter(({ status }) => status === 'fulfilled').length, all.at(-1).reason.message]; })()`;
    const [went, message] = (await other.run(code)) as [number, string];
    other.close();
    expect(went).toBe(600);
    expect(message).toContain('at most 600 requests per minute');
  });
});
