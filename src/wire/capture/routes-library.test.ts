import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';
import { libraryScripts } from './routes-library.ts';

const require = createRequire(import.meta.url);
const published = (name: string): Buffer => readFileSync(require.resolve(`posthog-js/dist/${name}`));
const { version } = require('posthog-js/package.json') as { readonly version: string };
const shop = { origin: 'https://shop.example' };

let capture: TestCapture;
let token: string;
beforeAll(async () => {
  capture = await startTestCapture();
  ({ token } = capture);
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

const get = (url: string, headers: Record<string, string> = {}) => capture.test.inject({ url, headers });

describe('the browser library', () => {
  it.each(libraryScripts)('%s.js is served as in the package', async (name) => {
    const answer = await get(`/static/${name}.js?v=1.2.3`, shop);
    expect([answer.statusCode, answer.rawPayload.equals(published(`${name}.js`))]).toEqual([200, true]);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'access-control-allow-origin': shop.origin,
      'x-content-type-options': 'nosniff',
      vary: 'origin, accept-encoding',
    });
    expect((await get(`/static/${name}.js.map`)).headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(['toolbar.js', 'module.js', 'array.d.ts', '..%2fpackage.json', 'array', 'constructor'])(
    'serves no other file: %s',
    async (name) => {
      for (const path of [`/static/${name}`, `/static/${version}/${name}`]) {
        const answer = await get(path, shop);
        expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
        expect(answer.headers['access-control-allow-origin']).toBe(shop.origin);
      }
    },
  );

  it('is sent compressed if the browser accepts it', async () => {
    const url = '/static/array.js';
    const br = await get(url, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.rawPayload).equals(published('array.js'))).toBe(true);
    const gzip = await get(url, { 'accept-encoding': 'gzip' });
    expect(gunzipSync(gzip.rawPayload).equals(published('array.js'))).toBe(true);
    expect(br.rawPayload.length).toBeLessThan(published('array.js').length / 3);
  });

  it('answers HEAD with the same headers, and 304 if the client has the file', async () => {
    const first = await get('/static/array.js');
    const etag = String(first.headers['etag']);
    const head = await capture.test.inject({ method: 'HEAD', url: '/static/array.js' });
    expect([head.statusCode, head.body, head.headers['etag']]).toEqual([200, '', etag]);
    expect(head.headers['content-length']).toBe(first.headers['content-length']);
    const again = await get('/static/array.js', { 'if-none-match': etag, ...shop });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect(again.headers['access-control-allow-origin']).toBe(shop.origin);
  });

  it('is immutable under its version, and 404 under any other version', async () => {
    const answer = await get(`/static/${version}/surveys.js`);
    expect(answer.rawPayload.equals(published('surveys.js'))).toBe(true);
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const other = await get('/static/1.0.0/surveys.js');
    expect([other.statusCode, other.json().detail]).toEqual([404, expect.stringContaining(version) as string]);
  });

  it('is served to snippets pinned to its major version and to no other', async () => {
    const answer = await get(`/static/${version.split('.')[0]}/array.js`);
    expect(answer.rawPayload.equals(published('array.js'))).toBe(true);
    expect(answer.headers['cache-control']).toBe('public, max-age=3600');
    expect((await get('/static/2/array.js')).statusCode).toBe(404);
  });

  it('is also served under a project key, and not under an unknown one', async () => {
    const answer = await get(`/array/${token}/array.js`);
    expect([answer.statusCode, answer.rawPayload.equals(published('array.js'))]).toEqual([200, true]);
    expect((await get('/array/phc_x/array.js')).statusCode).toBe(404);
  });

  it('answers the remote configuration as JSON and as script, 404 for an unknown key', async () => {
    const config = await capture.test.inject({ url: `/array/${token}/config` });
    expect(config.json()).toMatchObject({ supportedCompression: ['gzip', 'gzip-js'], hasFeatureFlags: false });
    expect(config.json()).not.toHaveProperty('surveys');
    const script = await capture.test.inject({ url: `/array/${token}/config.js` });
    expect(script.headers['content-type']).toContain('application/javascript');
    const window: Record<string, unknown> = {};
    new Function('window', script.body)(window);
    expect(window['_POSTHOG_REMOTE_CONFIG']).toMatchObject({ [token]: { config: { token }, siteApps: [] } });
    for (const path of ['/array/phc_x/config', '/array/phc_x/config.js']) {
      expect((await capture.test.inject({ url: path })).statusCode).toBe(404);
    }
  });
});
