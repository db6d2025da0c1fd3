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

describe('startup calls of client libraries', () => {
  it.each(['/flags/?v=2', '/flags', '/decide/?v=3'])('%s answers without flags', async (path) => {
    const answer = await post(path, JSON.stringify({ token, distinct_id: 'u' }));
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ flags: {}, errorsWhileComputingFlags: false, requestId: expect.any(String) });
    expect((await post(path, JSON.stringify({ token: 'phc_unknown' }))).statusCode).toBe(401);
    expect((await post(path, 'nonsense')).statusCode).toBe(400);
  });

  it('answers flag definitions with an ETag', async () => {
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
  });

  it.each([
    ['/api/surveys/', { surveys: [], survey_config: null }],
    ['/api/early_access_features/', { earlyAccessFeatures: [] }],
    ['/api/product_tours/', { product_tours: [] }],
    ['/api/web_experiments/', { experiments: [] }],
  ])('answers %s with an empty list', async (path, none) => {
    const answer = await capture.test.inject({ url: `${path}?token=${token}` });
    expect([answer.statusCode, answer.json()]).toEqual([200, none]);
    expect((await capture.test.inject({ url: `${path}?token=phc_x` })).statusCode).toBe(401);
  });

  it.each([
    '/static/array.js',
    '/array/phc_x/array.js',
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
    '/static/toolbar.js',
    '/array/phc_x/array.js',
    '/api/conversations/v1/widget/tickets?token=phc_x',
    '/array/phc_x/config',
  ])('lets a page read the 404 of %s', async (url) => {
    const answer = await capture.test.inject({ url, headers: { origin: 'https://shop.example' } });
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([404, 'https://shop.example']);
  });
});
