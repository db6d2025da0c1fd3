import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gunzipSync, gzipSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../../test/support/app.ts';
import { chooseEncoding } from '../send-file.ts';

const page = '<!doctype html><title>Millrace</title>';
const script = 'export const answer = 42;';

describe('the console, served', () => {
  let app: TestApp;
  let dir: string;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'console-'));
    mkdirSync(join(dir, 'assets'));
    for (const [name, text] of [
      ['index.html', page],
      ['assets/index-C0ffee.js', script],
    ] as const) {
      writeFileSync(join(dir, name), text);
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(text));
      writeFileSync(join(dir, `${name}.gz`), gzipSync(text));
    }
    writeFileSync(join(dir, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    app = await startTestApp(() => [], { consoleDir: dir });
  });
  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  it('every path below /console/ that is not a file returns the page, which is revalidated each time', async () => {
    for (const path of ['', 'projects/1/home', 'projects/1/events?q=%22', 'index.html', 'projects/1/a.js']) {
      const answer = await get(`/console/${path}`);
      expect([path, answer.statusCode, answer.body]).toEqual([path, 200, page]);
      expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' });
    }
    expect((await get('/console')).headers['location']).toBe('/console/');
  });

  it('nothing but the built files is served', async () => {
    for (const path of ['..%2f..%2fpackage.json', 'assets/..%2f..%2fpackage.json', 'index.html.br']) {
      const { body } = await get(`/console/${path}`);
      expect([path, body === page || body.includes('not_found')]).toEqual([path, true]);
    }
  });

  it('files with a hash in their name are cached permanently, and a missing one is a 404', async () => {
    const answer = await get('/console/assets/index-C0ffee.js');
    expect([answer.statusCode, answer.body]).toEqual([200, script]);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const missing = await get('/console/assets/index-0ld.js');
    expect([missing.statusCode, missing.json().code]).toEqual([404, 'not_found']);
  });

  it('sends the smallest compressed variant that the browser accepts', async () => {
    const path = '/console/assets/index-C0ffee.js';
    const br = await get(path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' });
    expect(String(brotliDecompressSync(br.rawPayload))).toBe(script);
    const gzip = await get(path, { 'accept-encoding': 'gzip, br;q=0' });
    expect([gzip.headers['content-encoding'], String(gunzipSync(gzip.rawPayload))]).toEqual(['gzip', script]);
    const icon = await get('/console/icon.svg', { 'accept-encoding': 'br, gzip' });
    expect([icon.headers['content-encoding'], icon.headers['content-type']]).toEqual([undefined, 'image/svg+xml']);
  });

  it('answers HEAD with the same headers, and 304 for a cached copy', async () => {
    const first = await get('/console/');
    const etag = String(first.headers['etag']);
    const head = await app.inject({ method: 'HEAD', url: '/console/' });
    expect([head.statusCode, head.body, head.headers['etag']]).toEqual([200, '', etag]);
    expect(head.headers['content-length']).toBe(first.headers['content-length']);
    for (const tags of [etag, `"other", W/${etag}`, '*']) {
      const again = await get('/console/', { 'if-none-match': tags });
      expect([again.statusCode, again.body, again.headers['etag']]).toEqual([304, '', etag]);
    }
    expect((await get('/console/', { 'if-none-match': '"other"' })).statusCode).toBe(200);
    const compressed = await get('/console/', { 'accept-encoding': 'gzip' });
    expect(compressed.headers['etag']).not.toBe(etag);
  });

  it('allows no script, style, frame or request but its own', async () => {
    for (const path of ['/console/', '/console/assets/index-C0ffee.js', '/console']) {
      const { headers } = await get(path);
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/^default-src 'self';/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|script-src|style-src|https?:/);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
      });
    }
  });

  it('is not served under the name of another host', async () => {
    const answer = await get('/console/', { host: 'rebound.example' });
    expect([answer.statusCode, answer.json().code]).toEqual([421, 'invalid_host']);
  });

  it('only a signed-in browser is redirected there', async () => {
    const signedIn = await get('/', { cookie: await app.session() });
    expect([signedIn.statusCode, signedIn.headers['location']]).toEqual([303, '/console/']);
    expect((await get('/')).body).toContain('Sign in');
  });

  it('is absent without a build: the start page keeps working and explains how to build it', async () => {
    await using bare = await startTestApp(() => []);
    const start = await bare.inject({ url: '/', headers: { cookie: await bare.session() } });
    expect([start.statusCode, start.body.includes(bare.project.apiToken)]).toEqual([200, true]);
    expect(start.body).toContain('node tools/build-console.js');
    for (const url of ['/console', '/console/', '/console/projects/1/home']) {
      const answer = await bare.inject({ url });
      expect([answer.statusCode, answer.headers['location']]).toEqual([302, '/']);
    }
  });
});

it.each([
  ['', undefined],
  ['identity', undefined],
  ['br', 'br'],
  ['gzip;q=1.0, br;q=0.5', 'br'],
  ['BR;q=0.0, GZIP', 'gzip'],
  ['br-like', undefined],
])('Accept-Encoding %j takes %s', (header, encoding) => {
  expect(chooseEncoding(['br', 'gzip'], header)).toBe(encoding);
});
