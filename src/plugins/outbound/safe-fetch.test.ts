import type { ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAllowList } from './allow-list.ts';
import { OutboundError } from './outbound.ts';
import type { Resolver } from './resolve-allowed.ts';
import { createOutboundFetch, type ClosableFetch, type OutboundOptions } from './safe-fetch.ts';
import { certificate, privateKey } from './certificate.fixture.ts';
import { testServer } from '../../../test/support/outbound-server.ts';

const opened: ClosableFetch[] = [];
afterEach(async () => {
  for (const fetch of opened.splice(0)) await fetch.close();
});

function open(allow: string, options: Partial<OutboundOptions> = {}): ClosableFetch {
  const fetch = createOutboundFetch({ allow: parseAllowList(allow), timeoutMs: 5000, bytesMax: 100_000, ...options });
  opened.push(fetch);
  return fetch;
}

async function refusal(work: Promise<unknown>): Promise<OutboundError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OutboundError) return error;
    throw error;
  }
  throw new Error('expected the request to be refused');
}

/** Answers in turn; the last one again and again. */
function resolverOf(...answers: readonly (readonly string[])[]): Resolver & { calls: number } {
  const resolver = async () => {
    const answer = answers[Math.min(resolver.calls++, answers.length - 1)] ?? [];
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  resolver.calls = 0;
  return resolver;
}

/** A body in small parts that never ends. */
function drip(response: ServerResponse, part: string): void {
  response.write(part);
  const timer = setInterval(() => response.write(part), 20);
  response.on('close', () => clearInterval(timer));
}

describe('where a request may go', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127。0。0。1/',
    'http://①②⑦.0.0.1/',
    'http://localhost/',
    'http://LOCALHOST/',
    'http://0/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://10.0.0.1/',
    'http://192.168.0.1/',
    'http://172.16.0.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://metadata.google.internal/',
    'http://metadata.google.internal./',
    'http://user:pass@127.0.0.1/',
    'https://127.0.0.1:8443/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'unix:/var/run/docker.sock',
    '/relative',
    'http://',
    '',
  ])('never to %s', async (url) => {
    const error = await refusal(open('')({ url }));
    expect(error.kind).toBe('address');
    expect(error.retry).toBe(false);
    expect(error.message).toMatch(/^expected .*, got/);
  });

  it('names the host and the rule, without user, query and path', async () => {
    const url = 'http://ada:geheim@10.1.2.3:81/hooks/s3cr3t?token=abc#x';
    const { message } = await refusal(open('')({ url }));
    expect(message).toBe(
      'expected a public address, got: 10.1.2.3, which is a private address; ' +
        'to permit it, an operator adds 10.1.2.3:81 to MILLRACE_OUTBOUND_ALLOW',
    );
  });

  it('to a listed address and port, and to no other port', async () => {
    await using server = await testServer((_request, response) => response.end('here'));
    const fetch = open(`127.0.0.1:${server.port}`);
    const { status, body, url } = await fetch({ url: `http://127.0.0.1:${server.port}/x?y=1#z` });
    expect([status, Buffer.from(body).toString(), url]).toEqual([200, 'here', `http://127.0.0.1:${server.port}/x?y=1`]);
    const other = await refusal(fetch({ url: `http://127.0.0.1:${server.port + 1}/` }));
    expect(other.kind).toBe('address');
  });

  it('a name that resolves to a permitted address first and to another one later reaches nothing', async () => {
    await using server = await testServer((_request, response) => response.end('secret'));
    const resolver = resolverOf(['127.0.0.3'], ['127.0.0.1']);
    const fetch = open('127.0.0.3', { resolver });
    // The first connection goes to the checked address, where nothing listens; the second resolution is checked again.
    const first = await refusal(fetch({ url: `http://rebind.example:${server.port}/` }));
    expect(first.kind).toBe('network');
    const second = await refusal(fetch({ url: `http://rebind.example:${server.port}/` }));
    expect(second.message).toContain('rebind.example, which is a loopback address');
    expect([server.seen, server.connections(), resolver.calls]).toEqual([[], 0, 2]);
  });

  it('one resolution per connection: the checked address is the connected one', async () => {
    await using server = await testServer((_request, response) => response.end('here'));
    const resolver = resolverOf(['127.0.0.1'], ['10.0.0.1']);
    const fetch = open('127.0.0.1', { resolver });
    expect((await fetch({ url: `http://twice.example:${server.port}/` })).status).toBe(200);
    expect(resolver.calls).toBe(1);
    expect(server.requests[0]?.headers.host).toBe(`twice.example:${server.port}`);
  });

  it('refused addresses among several are skipped', async () => {
    await using server = await testServer((_request, response) => response.end('here'));
    const resolver = resolverOf(['10.0.0.1', '169.254.169.254', '127.0.0.1']);
    const { status } = await open('127.0.0.1', { resolver })({ url: `http://many.example:${server.port}/` });
    expect(status).toBe(200);
  });

  it('an unresolved name can be retried', async () => {
    const resolver: Resolver = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const error = await refusal(open('', { resolver })({ url: 'http://nowhere.example/' }));
    expect([error.kind, error.retry]).toEqual(['network', true]);
    expect(error.message).toBe('the host nowhere.example was not found (ENOTFOUND)');
  });
});

describe('redirects', () => {
  it.each([
    ['http://127.0.0.2/', 'loopback'],
    ['http://169.254.169.254/latest/', 'metadata'],
    ['http://[::1]/', 'loopback'],
    ['//10.0.0.1/x', 'private'],
    ['http://0x7f000002/', 'loopback'],
    ['file:///etc/passwd', 'http or https'],
    ['http://', 'absolute URL'],
  ])('to %s are refused like the address itself', async (location, reason) => {
    await using server = await testServer((_request, response) => response.writeHead(302, { location }).end());
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` }));
    expect(error.kind).toBe('address');
    expect(error.message).toContain(reason);
  });

  it('to a name whose address changes in between are refused', async () => {
    await using server = await testServer((_request, response) =>
      response.writeHead(302, { location: '/again', connection: 'close' }).end(),
    );
    const resolver = resolverOf(['127.0.0.1'], ['10.0.0.1']);
    const error = await refusal(open('127.0.0.1', { resolver })({ url: `http://x.example:${server.port}/` }));
    expect(error.message).toContain('which is a private address');
    expect(server.seen).toEqual(['GET /']);
  });

  it.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'HEAD', 'HEAD', undefined],
    [307, 'POST', 'POST', 'data'],
    [308, 'PUT', 'PUT', 'data'],
    [302, 'DELETE', 'DELETE', 'data'],
  ])('%i after %s continues as %s', async (status, method, becomes, sent) => {
    let received = '';
    await using server = await testServer((request, response) => {
      if (request.url === '/') {
        response.writeHead(status, { location: '/next' }).end();
        return;
      }
      request.on('data', (chunk: Buffer) => (received += chunk.toString()));
      request.on('end', () => response.end());
    });
    const body = method === 'HEAD' ? {} : { body: 'data' };
    const headers = { 'Content-Type': 'text/plain' };
    await open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, method, headers, ...body });
    expect(server.seen).toEqual([`${method} /`, `${becomes} /next`]);
    expect(received).toBe(sent ?? '');
    expect(server.requests[1]?.headers['content-type']).toBe(becomes === method ? 'text/plain' : undefined);
  });

  it('to another origin omit Authorization and Cookie, to the same one keep them', async () => {
    await using other = await testServer((_request, response) => response.end('end'));
    await using server = await testServer((request, response) => {
      const location = request.url === '/' ? '/same' : `http://127.0.0.1:${other.port}/other`;
      response.writeHead(307, { location }).end();
    });
    const url = `http://ada:p%40ss@127.0.0.1:${server.port}/`;
    const headers = { Cookie: 'a=b', 'X-Own': '1', 'Proxy-Authorization': 'Basic secret' };
    const answer = await open('127.0.0.1')({ url, headers });
    const basic = `Basic ${Buffer.from('ada:p@ss').toString('base64')}`;
    expect(server.requests.map(({ headers }) => [headers.authorization, headers.cookie])).toEqual([
      [basic, 'a=b'],
      [basic, 'a=b'],
    ]);
    const last = other.requests[0]?.headers;
    expect([last?.authorization, last?.cookie, last?.['x-own']]).toEqual([undefined, undefined, '1']);
    expect([...server.requests, ...other.requests].map((request) => request.headers['proxy-authorization'])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(answer.url).toBe(`http://127.0.0.1:${other.port}/other`);
  });

  it.each([
    ['large', (response: ServerResponse) => response.end('x'.repeat(2_000_000))],
    ['endless', (response: ServerResponse) => drip(response, 'x'.repeat(10_000))],
    ['dripping', (response: ServerResponse) => drip(response, 'x')],
  ])('do not wait for what stands beside them: a body that is %s', async (_name, answer) => {
    await using server = await testServer((request, response) => {
      if (request.url === '/end') response.end('arrived');
      else answer(response.writeHead(302, { location: '/end' }));
    });
    const { body } = await open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` });
    expect(Buffer.from(body).toString()).toBe('arrived');
  });

  it('end after five', async () => {
    await using server = await testServer((_request, response) => response.writeHead(302, { location: '/' }).end());
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` }));
    expect(error).toMatchObject({ kind: 'limit' });
    expect(server.seen).toHaveLength(6);
  });
});

describe('how long and how much', () => {
  it.each([
    ['no answer', () => undefined],
    ['a body that never ends', (response: ServerResponse) => drip(response, 'x')],
  ])('%s is given up after the time for the whole request', async (_name, answer) => {
    await using server = await testServer((_request, response) => void answer(response));
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/x?q`, timeoutMs: 200 }));
    expect(error).toMatchObject({ kind: 'limit', retry: true });
    expect(error.message).toBe(`expected a response from http://127.0.0.1:${server.port} within 200 ms, got none`);
  });

  it('redirects do not restart the timeout', async () => {
    await using server = await testServer((_request, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 80);
    });
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, timeoutMs: 200 }));
    expect(error.message).toContain('within 200 ms');
  });

  it('a hanging name resolution times out too', async () => {
    const resolver: Resolver = () => new Promise(() => undefined);
    const error = await refusal(open('', { resolver, timeoutMs: 100 })({ url: 'http://slow.example/' }));
    expect(error.kind).toBe('limit');
  });

  it('a caller cannot exceed the configured timeout', async () => {
    await using server = await testServer(() => undefined);
    const fetch = open('127.0.0.1', { timeoutMs: 100 });
    const error = await refusal(fetch({ url: `http://127.0.0.1:${server.port}/`, timeoutMs: 60_000 }));
    expect(error.message).toContain('within 100 ms');
  });

  const bomb = Buffer.alloc(50_000_000);
  it.each([
    ['plain', {}, bomb],
    ['gzip', { 'content-encoding': 'gzip' }, gzipSync(bomb)],
    ['br', { 'content-encoding': 'br' }, brotliCompressSync(Buffer.alloc(10_000_000))],
    ['deflate', { 'content-encoding': 'deflate' }, deflateSync(bomb)],
    ['gzip in gzip', { 'content-encoding': 'gzip, gzip' }, gzipSync(gzipSync(bomb))],
  ])('an answer that is or becomes too large is cut off: %s', async (_name, headers, body) => {
    await using server = await testServer((_request, response) => response.writeHead(200, headers).end(body));
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` }));
    expect(error.kind).toBe('limit');
    expect(error.message).toContain('at most 100000 bytes');
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['GZIP, identity', gzipSync],
  ])('an answer in %s is decoded', async (encoding, compress) => {
    const text = 'ünï '.repeat(1000);
    await using server = await testServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(compress(Buffer.from(text))),
    );
    const { body } = await open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` });
    expect(Buffer.from(body).toString()).toBe(text);
  });

  it('a truncated compressed response is an error, not half a response', async () => {
    await using server = await testServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1000)).subarray(0, -9)),
    );
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` }));
    expect(error).toMatchObject({ kind: 'network' });
    expect(error.message).toContain('damaged');
  });

  it('an empty response may name an encoding', async () => {
    await using server = await testServer((_request, response) =>
      response.writeHead(204, { 'content-encoding': 'gzip' }).end(),
    );
    const { status, body } = await open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, method: 'HEAD' });
    expect([status, body.length]).toEqual([204, 0]);
  });

  it('too many headers', async () => {
    await using server = await testServer((_request, response) => {
      for (let index = 0; index < 60; index += 1) response.setHeader(`x-${index}`, 'x'.repeat(1000));
      response.end();
    });
    const error = await refusal(open('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/` }));
    expect(error).toMatchObject({ kind: 'limit' });
    expect(error.message).toContain('headers');
  });

  it('a request body that is too large is not sent', async () => {
    const error = await refusal(open('')({ url: 'http://x.example/', method: 'POST', body: 'x'.repeat(100_001) }));
    expect(error).toMatchObject({ kind: 'limit' });
  });
});

describe('TLS', () => {
  const open443 = async () => {
    const server = createHttpsServer({ key: privateKey, cert: certificate }, (request, response) => {
      response.end(`hello ${request.headers.host}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // Sound: a server that listens on a port has an AddressInfo.
    const { port } = server.address() as AddressInfo;
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { port, [Symbol.asyncDispose]: close };
  };
  const resolver = resolverOf(['127.0.0.1']);

  it('the certificate is checked against the name, though the connection goes to the address', async () => {
    await using server = await open443();
    const fetch = open('127.0.0.1', { resolver, ca: certificate });
    const { body } = await fetch({ url: `https://secure.example:${server.port}/` });
    expect(Buffer.from(body).toString()).toBe(`hello secure.example:${server.port}`);
    const other = await refusal(fetch({ url: `https://other.example:${server.port}/` }));
    expect([other.kind, other.message]).toEqual([
      'network',
      `the request to https://other.example:${server.port} failed: ERR_TLS_CERT_ALTNAME_INVALID`,
    ]);
  });

  it('an untrusted certificate is refused', async () => {
    await using server = await open443();
    const error = await refusal(open('127.0.0.1', { resolver })({ url: `https://secure.example:${server.port}/` }));
    expect(error.kind).toBe('network');
    expect(error.message).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
  });
});

describe('sending requests', () => {
  it('headers of the connection cannot be set', async () => {
    await using server = await testServer((_request, response) => response.end());
    const forged = {
      Host: 'evil.example',
      'Transfer-Encoding': 'chunked',
      'Content-Length': '5',
      Connection: 'upgrade',
      Upgrade: 'h2c',
    };
    await open('127.0.0.1')({
      url: `http://127.0.0.1:${server.port}/`,
      method: 'post',
      headers: { ...forged, 'X-Own': ' ä ' },
      body: Buffer.from('abc'),
    });
    const headers = server.requests[0]?.headers;
    expect(server.seen).toEqual(['POST /']);
    expect(headers?.host).toBe(`127.0.0.1:${server.port}`);
    expect(headers?.['content-length']).toBe('3');
    expect(headers?.['transfer-encoding']).toBeUndefined();
    expect(headers?.upgrade).toBeUndefined();
    expect(Buffer.from(headers?.['x-own']?.toString() ?? '', 'latin1').toString('latin1')).toBe('ä');
  });

  it.each([
    [{ method: 'CONNECT' }],
    [{ method: 'GET / HTTP/1.1\r\nX: y' }],
    [{ headers: { 'x\r\ny': '1' } }],
    [{ headers: { x: '1\r\nHost: evil' } }],
    [{ headers: { x: 'snow ☃' } }],
  ])('%j is refused', async (request) => {
    const error = await refusal(open('')({ url: 'http://x.example/', ...request }));
    expect([error.kind, error.retry]).toEqual(['request', false]);
    expect(error.message).not.toContain('evil');
  });

  it('a refused connection, a reset and an invalid response are distinguished', async () => {
    const nonsense = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end('SSH-2.0-nothing\r\n'));
    });
    await new Promise<void>((resolve) => nonsense.listen(0, '127.0.0.1', resolve));
    const { port } = nonsense.address() as AddressInfo;
    await using resetting = await testServer((request) => request.socket.destroy());
    const fetch = open('127.0.0.1');
    const messageAt = async (at: number) => (await refusal(fetch({ url: `http://127.0.0.1:${at}/` }))).message;
    expect(await messageAt(port)).toContain('not valid HTTP');
    expect(await messageAt(resetting.port)).toMatch(/closed before|reset/);
    await new Promise((resolve) => nonsense.close(resolve));
    expect(await messageAt(port)).toContain('refused');
  });

  it('connections are reused, and none stays open after close', async () => {
    await using server = await testServer((_request, response) => response.end('x'));
    const fetch = open('127.0.0.1');
    for (let sent = 0; sent < 5; sent += 1) await fetch({ url: `http://127.0.0.1:${server.port}/` });
    expect(server.connections()).toBeLessThan(5);
    const socket = server.requests[0]?.socket;
    await fetch.close();
    await new Promise((resolve) => (socket?.destroyed === true ? resolve(undefined) : socket?.once('close', resolve)));
    expect(socket?.destroyed).toBe(true);
  });
});
