import { describe, expect, it } from 'vitest';
import { startTestApp } from '../../../test/support/app.ts';

describe('health', () => {
  it('is ready when every component is, and names one that is not', async () => {
    const trouble = { detail: '' };
    await using app = await startTestApp(() => [], {
      health: {
        metadata: async () => ({ ok: true }),
        store: async () => (trouble.detail === '' ? { ok: true } : { ok: false, detail: trouble.detail }),
        log: async () => {
          const cause = Object.assign(new Error('connect ECONNREFUSED db.internal:5432'), { code: 'ECONNREFUSED' });
          if (trouble.detail !== '') throw new Error('ask db.internal', { cause });
          return { ok: true };
        },
      },
    });
    expect((await app.inject({ url: '/livez' })).json()).toEqual({ status: 'ok' });
    for (const url of ['/_health', '/_liveness', '/_readiness']) {
      expect((await app.inject({ url })).json()).toEqual({ status: 'ok' });
    }
    const ready = await app.inject({ url: '/readyz?verbose' });
    expect([ready.statusCode, ready.json().checks]).toEqual([
      200,
      { metadata: { ok: true }, store: { ok: true }, log: { ok: true } },
    ]);
    trouble.detail = '2 damaged parts were set aside';
    const short = await app.inject({ url: '/readyz' });
    expect([short.statusCode, short.json()]).toEqual([503, { status: 'unavailable' }]);
    expect((await app.inject({ url: '/readyz?verbose' })).json().checks).toEqual({
      metadata: { ok: true },
      store: { ok: false, detail: '2 damaged parts were set aside' },
      log: { ok: false, detail: 'failed (ECONNREFUSED)' },
    });
    expect((await app.inject({ url: '/livez' })).statusCode).toBe(200);
    expect((await app.inject({ url: '/_readiness' })).statusCode).toBe(503);
  });

  it('stays ready without a component that requests do not need, and names it', async () => {
    const detail = 'It is being started again.';
    await using app = await startTestApp(() => [], {
      health: {
        metadata: async () => ({ ok: true }),
        imports: async () => ({ ok: false, optional: true, detail }),
      },
    });
    const ready = await app.inject({ url: '/readyz?verbose' });
    expect([ready.statusCode, ready.json()]).toEqual([
      200,
      { status: 'ok', checks: { metadata: { ok: true }, imports: { ok: false, optional: true, detail } } },
    ]);
  });

  it('labels metrics by route pattern, never by path', async () => {
    await using app = await startTestApp(() => []);
    await app.inject({ url: '/livez' });
    await app.inject({ url: '/some/secret/path' });
    const answer = await app.inject({ url: '/metrics' });
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(answer.body).toContain('millrace_http_requests_total{route="/livez",method="GET",status="200"} 1');
    expect(answer.body).toContain('millrace_http_requests_total{route="unknown",method="GET",status="404"} 1');
    expect(answer.body).not.toContain('secret');
  });
});
