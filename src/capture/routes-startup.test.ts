import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

let capture: TestCapture;
let token: string;
beforeAll(async () => {
  capture = await startTestCapture();
  ({ token } = capture);
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

const post = (url: string, payload: string) =>
  capture.test.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } });

describe('start-up calls of client libraries', () => {
  it.each(['/flags/?v=2', '/flags', '/decide/?v=3'])('%s answers that there are no flags', async (path) => {
    const answer = await post(path, JSON.stringify({ token, distinct_id: 'u' }));
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ flags: {}, errorsWhileComputingFlags: false, requestId: expect.any(String) });
    expect((await post(path, JSON.stringify({ token: 'phc_unknown' }))).statusCode).toBe(401);
    expect((await post(path, 'nonsense')).statusCode).toBe(400);
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

  it('answers flag definitions with an ETag, and surveys', async () => {
    for (const path of [
      '/flags/definitions',
      '/api/feature_flag/local_evaluation',
      '/api/feature_flag/local_evaluation/',
    ]) {
      const url = `${path}?token=${token}&send_cohorts`;
      const first = await capture.test.inject({ url });
      expect(first.json()).toEqual({ flags: [], group_type_mapping: {}, cohorts: {} });
      const headers = { 'if-none-match': String(first.headers['etag']) };
      expect((await capture.test.inject({ url, headers })).statusCode).toBe(304);
      expect((await capture.test.inject({ url: `${path}?token=phc_x` })).statusCode).toBe(401);
    }
    expect((await capture.test.inject({ url: `/api/surveys/?token=${token}` })).json()).toMatchObject({ surveys: [] });
  });

  it.each([
    '/array/phc_x/config',
    '/array/phc_x/config.js',
    '/api/surveys/',
    '/flags/definitions',
    '/api/feature_flag/local_evaluation/',
    '/api/projects/@current/feature_flags/beta/remote_config',
  ])('OPTIONS %s answers the preflight with 204', async (url) => {
    const headers = { origin: 'https://shop.example', 'access-control-request-headers': 'x-a' };
    const answer = await capture.test.inject({ method: 'OPTIONS', url, headers });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'access-control-allow-headers': 'x-a',
    });
  });

  it.each([
    '/static/surveys.js',
    '/array/phc_x/array.js',
    '/api/early_access_features/?token=phc_x',
    '/array/phc_x/config',
  ])('lets a page see that there is no %s', async (url) => {
    const answer = await capture.test.inject({ url, headers: { origin: 'https://shop.example' } });
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([404, 'https://shop.example']);
  });
});
