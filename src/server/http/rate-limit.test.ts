import { describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { startTestApp } from '../../../test/support/app.ts';
import { createRateLimiter, parseRateLimit } from './rate-limit.ts';

const clockAt = (start: number) => {
  let now = start;
  return { now: () => now, advance: (ms: number) => (now += ms) };
};

describe('parseRateLimit', () => {
  it('reads windows and off', () => {
    expect(parseRateLimit('480/min, 4800/h')).toEqual([
      { limit: 480, ms: 60_000 },
      { limit: 4800, ms: 3_600_000 },
    ]);
    expect(parseRateLimit('5/s,9/d').map((window) => window.ms)).toEqual([1000, 86_400_000]);
    expect(parseRateLimit('off')).toEqual([]);
  });

  it.each(['', '480', '480/', '0/min', '-1/min', '1.5/min', '480/week', '480/min,', 'OFF'])(
    'refuses %j with what is expected',
    (text) => {
      expect(() => parseRateLimit(text)).toThrow(`MILLRACE_API_RATE_LIMIT: expected "off" or limits such as`);
    },
  );
});

describe('createRateLimiter', () => {
  it('enforces every window, and reports the tightest one', () => {
    const clock = clockAt(0);
    const limiter = createRateLimiter(parseRateLimit('2/min,3/h'), clock);
    expect(limiter.take('a')).toEqual({ allowed: true, limit: 2, remaining: 1, resetSeconds: 60 });
    expect(limiter.take('a')).toEqual({ allowed: true, limit: 2, remaining: 0, resetSeconds: 60 });
    clock.advance(1_500);
    expect(limiter.take('a')).toEqual({ allowed: false, limit: 2, remaining: 0, resetSeconds: 59 });
    expect(limiter.take('b').allowed).toBe(true);
    clock.advance(58_500);
    expect(limiter.take('a')).toEqual({ allowed: true, limit: 3, remaining: 0, resetSeconds: 3540 });
    expect(limiter.take('a')).toEqual({ allowed: false, limit: 3, remaining: 0, resetSeconds: 3540 });
    clock.advance(3_540_000);
    expect(limiter.take('a').allowed).toBe(true);
  });

  it('remembers a bounded number of callers', () => {
    const limiter = createRateLimiter(parseRateLimit('1/h'), clockAt(0), 2);
    limiter.take('a');
    limiter.take('b');
    expect(limiter.take('a').allowed).toBe(false);
    limiter.take('c');
    expect(limiter.take('a').allowed).toBe(false);
    expect(limiter.take('b').allowed).toBe(true);
  });
});

describe('the API', () => {
  it('answers 429 with the headers that a client needs, per key, and never to sessions', async () => {
    await using app = await startTestApp(
      () => [
        {
          method: 'GET',
          path: '/api/things',
          scope: 'plugin:read',
          tag: 'test',
          summary: 'Things',
          responses: { 200: Type.Object({}) },
          handler: async () => ({ status: 200, body: {} }),
        },
      ],
      { settings: { apiRateLimit: '2/min' } },
    );
    const headers = { authorization: `Bearer ${await app.key(['plugin:read'])}` };
    const call = async (from: Record<string, string>) => {
      const answer = await app.inject({ url: '/api/things', headers: from });
      const { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset } = answer.headers;
      return [answer.statusCode, limit, remaining, reset, answer.headers['retry-after']];
    };
    expect(await call(headers)).toEqual([200, '2', '1', '60', undefined]);
    app.clock.advance(10_000);
    expect(await call(headers)).toEqual([200, '2', '0', '50', undefined]);
    expect(await call(headers)).toEqual([429, '2', '0', '50', '50']);
    const refused = await app.inject({ url: '/api/things', headers });
    expect(refused.json()).toEqual({
      type: 'throttled_error',
      code: 'throttled',
      detail: 'Request was throttled. Expected available in 50 seconds.',
      attr: null,
    });
    const wrongScope = { authorization: `Bearer ${await app.key(['user:read'])}` };
    expect(await call(wrongScope)).toEqual([403, '2', '1', '60', undefined]);
    const cookie = await app.session();
    for (let count = 0; count < 4; count += 1) {
      expect(await call({ cookie })).toEqual([200, undefined, undefined, undefined, undefined]);
    }
    app.clock.advance(50_000);
    expect(await call(headers)).toEqual([200, '2', '1', '60', undefined]);
  });
});
