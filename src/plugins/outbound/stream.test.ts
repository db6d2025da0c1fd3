import { afterEach, describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import type { OutboundStreamResponse } from './outbound.ts';
import { parseAllowList } from './allow-list.ts';
import { OutboundError } from './outbound.ts';
import { createOutboundStream, type ClosableStream } from './stream.ts';
import { testServer, type TestServer } from '../../../test/support/outbound-server.ts';

const undo: (() => Promise<unknown>)[] = [];
const signal = new AbortController().signal;

afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

async function start(answer: Parameters<typeof testServer>[0]): Promise<TestServer> {
  const server = await testServer(answer);
  undo.push(async () => await server[Symbol.asyncDispose]());
  return server;
}

function streamTo(allowed: string, idleMs = 5000): ClosableStream {
  const stream = createOutboundStream({ allow: parseAllowList(allowed), connectTimeoutMs: 2000, idleMs });
  undo.push(async () => await stream.close());
  return stream;
}

async function textOf({ body }: OutboundStreamResponse): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

describe('responses of unlimited size', () => {
  it('are streamed, beyond what fits into memory', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const server = await start(async (_request, response) => {
      for (let sent = 0; sent < 200; sent += 1) {
        if (!response.write(piece)) await new Promise((resolve) => response.once('drain', resolve));
      }
      response.end();
    });
    const { status, body } = await streamTo('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, signal });
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    expect([status, bytes]).toEqual([200, 200 * 1024 * 1024]);
  });

  it('gzip of the transfer is decoded, gzip of the file is not', async () => {
    const file = gzipSync('{"a":1}\n');
    const server = await start((request, response) => {
      if (request.url === '/file.gz') response.writeHead(200, { 'content-type': 'application/gzip' }).end(file);
      else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain'));
    });
    const stream = streamTo('127.0.0.1');
    expect(await textOf(await stream({ url: `http://127.0.0.1:${server.port}/`, signal }))).toBe('plain');
    const { body } = await stream({ url: `http://127.0.0.1:${server.port}/file.gz`, signal });
    expect(Buffer.concat(await Array.fromAsync(body)).equals(file)).toBe(true);
    expect(server.requests[0]?.headers['accept-encoding']).toBe('gzip');
  });

  it('a method, headers and a body are sent; the response to HEAD has no body', async () => {
    const server = await start((request, response) => {
      response.writeHead(200, { etag: '"1"', 'x-method': request.method });
      request.pipe(response);
    });
    const stream = streamTo('127.0.0.1');
    const url = `http://127.0.0.1:${server.port}/`;
    const sent = await stream({ url, method: 'POST', headers: { 'x-a': 'b' }, body: 'hello', signal });
    expect(await textOf(sent)).toBe('hello');
    expect(server.requests[0]?.headers['x-a']).toBe('b');
    const head = await stream({ url, method: 'HEAD', signal });
    expect([head.headers['etag'], head.headers['x-method'], await textOf(head)]).toEqual(['"1"', 'HEAD', '']);
  });
});

describe('missing responses', () => {
  it('forbidden addresses are refused, also as the target of a redirect', async () => {
    const server = await start((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.2:${server.port}/inner` }).end();
    });
    const refused = streamTo('')({ url: `http://127.0.0.1:${server.port}/`, signal });
    await expect(refused).rejects.toMatchObject({ name: 'OutboundError', kind: 'address' });
    const redirected = streamTo('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, signal });
    await expect(redirected).rejects.toMatchObject({ kind: 'address' });
    expect(server.seen).toEqual(['GET /']);
  });

  it('redirects are followed, but not for ever', async () => {
    const server = await start((request, response) => {
      if (request.url === '/once') response.writeHead(307, { location: '/there' }).end('moved');
      else if (request.url === '/there') response.end('here');
      else response.writeHead(302, { location: '/loop' }).end();
    });
    const stream = streamTo('127.0.0.1');
    expect(await textOf(await stream({ url: `http://127.0.0.1:${server.port}/once`, signal }))).toBe('here');
    const loop = stream({ url: `http://127.0.0.1:${server.port}/loop`, signal });
    await expect(loop).rejects.toThrow('at most 5 redirects');
  });

  it('headers stay with their origin: a redirect to another one receives none that could be secret', async () => {
    const other = await start((_request, response) => void response.end('there'));
    const server = await start((request, response) => {
      const location = request.url === '/' ? '/same' : `http://127.0.0.1:${other.port}/other`;
      response.writeHead(307, { location }).end();
    });
    const headers = { 'X-Api-Key': 'secret', Authorization: 'Bearer secret', 'Accept-Encoding': 'identity' };
    await streamTo('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, headers, signal }).then(textOf);
    expect(server.requests.map((request) => request.headers['x-api-key'])).toEqual(['secret', 'secret']);
    expect(JSON.stringify(other.requests[0]?.rawHeaders)).not.toContain('secret');
    expect(other.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('a broken connection ends the body with a retryable error', async () => {
    const server = await start((request, response) => {
      const encoding = request.url === '/gzip' ? { 'content-encoding': 'gzip' } : {};
      response.writeHead(200, { 'content-length': 1000, ...encoding });
      response.write(gzipSync('half of it').subarray(0, 15), () => setTimeout(() => response.destroy(), 30));
    });
    for (const path of ['', 'gzip']) {
      const answer = await streamTo('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/${path}`, signal });
      const error = await textOf(answer).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OutboundError);
      expect(error).toMatchObject({ kind: 'network', retry: true });
    }
  });

  it('truncated gzip is an error', async () => {
    const server = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('half of it').subarray(0, 15));
    });
    const answer = await streamTo('127.0.0.1')({ url: `http://127.0.0.1:${server.port}/`, signal });
    await expect(textOf(answer)).rejects.toThrow(/damaged or truncated/);
  });

  it('silence is an error after the given time', async () => {
    const server = await start((request, response) => {
      if (request.url === '/body') response.write('first');
    });
    const stream = streamTo('127.0.0.1', 300);
    const url = `http://127.0.0.1:${server.port}`;
    await expect(stream({ url: `${url}/`, signal })).rejects.toThrow('expected a byte from');
    await expect(textOf(await stream({ url: `${url}/body`, signal, idleMs: 200 }))).rejects.toThrow('within 200 ms');
  });

  it('an aborted signal ends request and body with its reason', async () => {
    const server = await start((request, response) => {
      if (request.url === '/body') response.write('first');
    });
    const stream = streamTo('127.0.0.1');
    for (const path of ['', 'body']) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('paused')), 100);
      const url = `http://127.0.0.1:${server.port}/${path}`;
      await expect((async () => await textOf(await stream({ url, signal: controller.signal })))()).rejects.toThrow(
        'paused',
      );
    }
    await expect(stream({ url: 'http://127.0.0.1:1/', signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow(
      'over',
    );
  });
});
