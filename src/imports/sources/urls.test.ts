import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError, type Source } from '../source.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { readPart, readSource, testSourceHost } from './source-host.fixture.ts';
import { urls } from './urls.ts';

const context = { signal: new AbortController().signal };
const undo: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  // Sound: a server that listens on a port has an AddressInfo.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(addresses: readonly string[], headers = ''): Source {
  return urls.createSource({ urls: addresses.join('\n'), headers }, testSourceHost({ tempDir: tmpdir() }));
}

describe('files at web addresses', () => {
  it('are read in their order, with the given headers', async () => {
    const seen: (string | undefined)[] = [];
    const base = await serve((request, response) => {
      seen.push(request.headers.authorization);
      const path = request.url?.split('?')[0];
      if (path === '/a.gz') response.writeHead(200, { etag: '"1"' }).end(gzipSync('{"a":1}\n'));
      else response.writeHead(200, { etag: '"2"' }).end('id\n7\n');
    });
    const found = await readSource(open([`${base}/a.gz?sig=geheim`, `${base}/b.csv`], 'Authorization: Bearer t\n'), {});
    expect(found).toEqual(
      new Map([
        [`${base}/a.gz`, ['{"a":1}']],
        [`${base}/b.csv`, ['{"id":"7"}']],
      ]),
    );
    expect(new Set(seen)).toEqual(new Set(['Bearer t']));
  });

  it('a given header is only sent to its host, not to another one after a redirect', async () => {
    const seen: (string | string[] | undefined)[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers['x-api-key']);
      response.writeHead(200, { etag: '"1"' }).end('{"a":1}\n');
    });
    const base = await serve((request, response) => {
      seen.push(request.headers['x-api-key']);
      response.writeHead(302, { location: `${other}/a` }).end();
    });
    const found = await readSource(open([`${base}/a`], 'X-Api-Key: secret'), {});
    expect(found).toEqual(new Map([[`${base}/a`, ['{"a":1}']]]));
    expect(seen).toEqual(['secret', undefined, 'secret', undefined]);
  });

  it('addresses that differ only in the query string are separate parts, whose keys do not reveal it', async () => {
    const base = await serve((request, response) => {
      response.writeHead(200, { etag: '"1"' }).end(JSON.stringify({ url: request.url }));
    });
    const found = await readSource(open([`${base}/a?token=one1`, `${base}/a?token=two2`]), {});
    expect(found).toEqual(
      new Map([
        [`${base}/a`, ['{"url":"/a?token=one1"}']],
        [`${base}/a (2)`, ['{"url":"/a?token=two2"}']],
      ]),
    );
  });

  it('the headers of a file show whether it has changed', async () => {
    let version = 1;
    const base = await serve((_request, response) => {
      const content = `{"version":${version}}\n`;
      response.writeHead(200, { etag: `"${version}"`, 'content-length': content.length }).end(content);
    });
    const source = open([base]);
    const [part] = await source.listParts({}, context);
    expect(part).toEqual({ key: `${base}/`, bytes: 14, identity: '"1"', stable: true });
    version = 2;
    if (part === undefined) throw new Error('expected a part');
    await expect(readPart(source, part)).rejects.toThrow('has changed since it was listed');
  });

  it('a server without HEAD is read, from the beginning each time', async () => {
    const base = await serve((request, response) => {
      if (request.method === 'HEAD') response.writeHead(403).end();
      else response.end('{"a":1}\n');
    });
    const source = open([base]);
    expect(await source.listParts({}, context)).toEqual([{ key: `${base}/`, stable: false }]);
    expect(await readSource(source, {})).toEqual(new Map([[`${base}/`, ['{"a":1}']]]));
  });

  it('errors tell whether a retry can help, and never show secrets', async () => {
    const base = await serve((request, response) => {
      const status = Number(request.url?.split('?')[0]?.slice(1));
      response.writeHead(status, { 'retry-after': '7' }).end(`no ${request.url} ${request.headers.authorization}`);
    });
    const failure = async (status: number): Promise<unknown> => {
      const source = open([`${base}/${status}?sig=geheim123`], 'Authorization: Bearer topsecret');
      return await source.listParts({}, context).catch((error: unknown) => error);
    };
    expect(await failure(404)).toBeInstanceOf(SourceError);
    expect(await failure(503)).toBeInstanceOf(SourceWaitError);
    expect(await failure(429)).toMatchObject({ unlimited: true, retryAfterMs: 7000 });
    const source = open([`${base}/410?sig=geheim123`], 'Authorization: Bearer topsecret');
    const error = await readPart(source, { key: `${base}/410`, stable: false }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(String(error)).not.toMatch(/geheim123|topsecret/);
  });

  it('a broken connection is retried', async () => {
    const base = await serve((request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      if (request.method === 'HEAD') response.end();
      else response.write('{"a":1}\n', () => setTimeout(() => response.destroy(), 30));
    });
    await expect(readSource(open([base]), {})).rejects.toThrow(SourceWaitError);
  });
});

describe('settings', () => {
  it.each([
    [{ urls: '' }],
    [{ urls: 'ftp://example.com/a' }],
    [{ urls: 'no address' }],
    [{ urls: 'https://example.com', headers: 'nonsense' }],
  ])('%j is rejected', (settings) => {
    expect(() => urls.createSource(settings, testSourceHost())).toThrow(SettingsError);
  });
});
