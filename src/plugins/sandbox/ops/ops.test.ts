import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOps, type Ops } from './index.ts';
import { createModuleOps } from './module-ops.ts';

/** Ops as if the plugin had taken the bridge for itself: whatever it sends, it gets an answer or a plain Error. */
function opsOf(asked: (readonly [string, readonly unknown[]])[] = []): Ops {
  return createOps({
    outbound: (request) =>
      Promise.resolve({ status: 200, statusText: '', headers: {}, url: request.url, body: new Uint8Array() }),
    resolveAllowed: () => Promise.reject(new Error('not reachable')),
    geoip: { locate: () => null },
    geoipProblem: '',
    modules: createModuleOps(),
    toHost: (op, args) => {
      asked.push([op, args]);
      return Promise.resolve(null);
    },
    instance: { pluginName: 'p', label: 'p (1)', configId: 1, projectId: 1 },
  });
}

const unusual = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('__proto__', 'constructor', 'sha256', 'href', -1, 2 ** 53, 1e308, null),
  fc.record({ text: fc.string() }),
  fc.record({ base64: fc.string() }),
  fc.constantFrom(
    { text: 5 },
    { base64: null },
    { url: 'http://a', method: 'GET', headers: { a: 1 }, body: null, timeoutMs: -1 },
  ),
  fc.record({ connectionString: fc.string(), host: fc.jsonValue(), port: fc.jsonValue(), user: fc.jsonValue() }),
);

async function answerOf(op: (args: readonly unknown[]) => unknown, args: readonly unknown[]): Promise<unknown> {
  try {
    return JSON.stringify((await op(args)) ?? null);
  } catch (error) {
    return error;
  }
}

describe('any arguments', () => {
  it.each(Object.entries({ ...opsOf().sync, ...opsOf().async }))('%s returns JSON or an Error', async (_name, op) => {
    await fc.assert(
      fc.asyncProperty(fc.array(unusual, { maxLength: 5 }), async (args) => {
        const answer = await answerOf(op, args);
        expect(typeof answer === 'string' || answer instanceof Error).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('only known modules can be loaded', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', './index.ts', 'fs']) {
      expect(() => opsOf().sync['module']?.([name])).toThrow('expected one of the modules');
    }
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('what is too large is refused', () => {
  const long = 'x'.repeat(40_000_000);

  it.each([
    ['url.parse', [long, null]],
    ['crypto.hash', ['sha256', { text: long }]],
    ['crypto.hmac', ['sha256', { text: 'x'.repeat(100_000) }, { text: '' }]],
    ['crypto.sign', ['sha256', 'x'.repeat(20_000), { text: '' }]],
    ['crypto.randomBytes', [100_000]],
    ['zlib.gzip', [{ text: long }, null]],
    ['jwt.decode', ['x'.repeat(100_000), null]],
    ['geoip', ['1'.repeat(200)]],
    ['module', ['x'.repeat(200)]],
  ])('%s', (op, args) => {
    expect(() => opsOf().sync[op]?.(args)).toThrow(/at most|from 0 to/);
  });

  it.each([
    ['fetch', [{ url: 'x'.repeat(70_000), method: 'GET', headers: {}, body: null, timeoutMs: null }]],
    [
      'fetch',
      [
        {
          url: 'http://a',
          method: 'GET',
          headers: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`a${at}`, '1'])),
          body: null,
          timeoutMs: null,
        },
      ],
    ],
    ['fetch', [{ url: 'http://a', method: 'POST', headers: {}, body: { text: long }, timeoutMs: null }]],
    ['storage.set', ['k'.repeat(513), 1]],
    ['storage.set', ['k', 'x'.repeat(2_000_000)]],
    ['storage.getMany', [Array.from({ length: 10_001 }, () => 'k')]],
    ['cache.listPush', ['k', Array.from({ length: 1001 }, () => 'v')]],
    ['capture', [{ event: 'x'.repeat(1001), distinctId: 'd', timestamp: '', properties: {} }]],
    ['capture', [{ event: 'e', distinctId: 'd', timestamp: '', properties: { long } }]],
    ['job', [{ name: 'j', payload: { long }, runAt: 0 }]],
    ['api', [{ method: 'PATCH', path: '/', headers: {}, body: null }]],
  ])('%s', async (op, args) => {
    const asked: (readonly [string, readonly unknown[]])[] = [];
    await expect(opsOf(asked).async[op]?.(args)).rejects.toThrow(/at most|one of the methods/);
    expect(asked).toEqual([]);
  });
});

describe('calls to the service', () => {
  it('contain only known fields', async () => {
    const asked: (readonly [string, readonly unknown[]])[] = [];
    const { async } = opsOf(asked);
    const event = { event: 'e', distinctId: 'd', timestamp: 't', properties: { a: 1 } };
    await async['capture']?.([{ ...event, hops: -5, cause: null }, 'more']);
    await async['cache.set']?.(['k', 'v', null, 'more']);
    expect(asked).toEqual([
      ['capture', [event]],
      ['cache.set', ['k', 'v', null]],
    ]);
  });
});
