import { connect, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { Settings } from '../config/settings.ts';
import type { ApiRoute } from './api-route.ts';

const things: ApiRoute = {
  method: 'GET',
  path: '/api/things',
  scope: 'public',
  tag: 'things',
  summary: 'Things',
  responses: { 200: Type.Object({}) },
  handler: async ({ url }) => ({ status: 200, body: { url } }),
};

function start(settings: Partial<Settings> = {}): Promise<TestApp> {
  return startTestApp(() => [things], {
    settings,
    registerPages: (app) => void app.get('/api/docs', async () => 'docs'),
    registerCapture: (app) => void app.get('/batch', async () => ({ status: 'Ok' })),
  });
}

async function statusOf(app: TestApp, url: string, host: string): Promise<number> {
  return (await app.inject({ url, headers: { host } })).statusCode;
}

const ownHosts = ['localhost', 'LocalHost:8000', 'millrace.localhost', '127.0.0.1:8000', '127.8.9.1', '[::1]:8000'];
const foreignHosts = ['rebound.example:8000', '127.0.0.1.example', 'localhost.example', '203.0.113.7', 'a b'];

describe('the host of a request', () => {
  it('is loopback by default: API, pages and docs refuse any other, capture and probes accept it', async () => {
    await using app = await start();
    for (const url of ['/', '/api/things', '/api/docs', '/login?token=x']) {
      for (const host of ownHosts) expect([url, host, await statusOf(app, url, host)]).toEqual([url, host, 200]);
      for (const host of foreignHosts) expect([url, host, await statusOf(app, url, host)]).toEqual([url, host, 421]);
    }
    for (const url of ['/batch', '/livez', '/readyz', '/metrics']) {
      for (const host of foreignHosts.slice(0, 4)) expect(await statusOf(app, url, host)).toBe(200);
    }
  });

  it('can be that of the site URL, the listening address, and those of the setting', async () => {
    await using app = await start({
      host: '192.0.2.4',
      siteUrl: 'https://events.example.com/',
      allowedHosts: 'millrace, Internal.example',
    });
    for (const host of ['events.example.com', '192.0.2.4:8000', 'millrace:8000', 'internal.example']) {
      expect([host, await statusOf(app, '/api/things', host)]).toEqual([host, 200]);
    }
    expect(await statusOf(app, '/api/things', '192.0.2.5')).toBe(421);
    await using any = await start({ allowedHosts: '*' });
    expect(await statusOf(any, '/api/things', 'rebound.example')).toBe(200);
    await using everywhere = await start({ host: '0.0.0.0' });
    expect(await statusOf(everywhere, '/api/things', '192.0.2.5:8000')).toBe(200);
    expect(await statusOf(everywhere, '/api/things', 'rebound.example')).toBe(421);
  });

  it('is checked as sent by the proxy and as forwarded from the client', async () => {
    await using app = await start({ trustProxy: true, siteUrl: 'https://events.example.com' });
    const ask = async (host: string, forwarded: string): Promise<number> =>
      (await app.inject({ url: '/', headers: { host, 'x-forwarded-host': forwarded } })).statusCode;
    expect(await ask('127.0.0.1:8000', 'events.example.com')).toBe(200);
    expect(await ask('127.0.0.1:8000', 'rebound.example')).toBe(421);
    expect(await ask('rebound.example', 'events.example.com')).toBe(421);
  });

  it('is refused with the setting to change, and never printed on a page', async () => {
    await using app = await start();
    const answer = await app.inject({ url: '/', headers: { host: 'rebound.example', cookie: await app.session() } });
    expect(answer.json()).toMatchObject({
      code: 'invalid_host',
      detail: expect.stringContaining('MILLRACE_ALLOWED_HOSTS'),
    });
    expect(answer.headers['content-type']).toContain('application/json');
  });

  it('is required', async () => {
    await using app = await start();
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    expect(await converse(app, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 421 /);
  });

  it.each([
    ['two Host headers', 'GET /batch HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'],
    ['HTTP/0.9', 'GET /batch HTTP/0.9\r\n\r\n'],
    ['HTTP/0.9 without a version', 'GET /batch\r\n\r\n'],
  ])('is exactly one: %s is refused everywhere', async (_what, text) => {
    await using app = await start();
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    expect(await converse(app, text)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

/** Sends `text` and returns the response. */
async function converse(app: TestApp, text: string): Promise<string> {
  const { port } = app.app.server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}
