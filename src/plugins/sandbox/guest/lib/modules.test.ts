import * as zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeAll(async () => {
  isolate = await openTestIsolate();
});

afterAll(() => isolate.close());

describe('require', () => {
  it.each([
    'crypto',
    'url',
    'node-fetch',
    '@posthog/plugin-scaffold',
    '@posthog/plugin-contrib',
    'zlib',
    'stream',
    'generic-pool',
    'jsonwebtoken',
    'faker',
    'pg',
    'aws-sdk',
    'buffer',
    'events',
  ])('%s is the same as default, as a namespace and when asked again', async (name) => {
    const code = `((name) => require(name) === require(name) && require(name).default === require(name))(${JSON.stringify(name)})`;
    expect(await isolate.run(code)).toBe(true);
  });

  it('the prefix node: is accepted', async () => {
    expect(await isolate.run(`require('node:crypto') === require('crypto')`)).toBe(true);
  });

  it.each([
    ['snowflake-sdk', 'SQL API with fetch'],
    ['@google-cloud/bigquery', 'REST API with fetch'],
    ['@google-cloud/pubsub', 'REST API with fetch'],
    ['@google-cloud/storage', 'JSON API with fetch'],
    ['fs', 'meta.storage'],
    ['child_process', 'programs cannot be started'],
    ['lodash', 'bundle it'],
    ['./lib', 'bundle it'],
    ['__proto__', 'bundle it'],
    ['constructor', 'bundle it'],
  ])('%s is an error that names it and says what to do', async (name, advice) => {
    const error = isolate.run(`require(${JSON.stringify(name)})`);
    await expect(error).rejects.toThrow(`Cannot import "${name}"`);
    await expect(error).rejects.toThrow(advice);
  });

  it('RetryError is one class, in the global and in the package', async () => {
    const code = `(({ RetryError: Other, Plugin }) => { const error = new Other('later');
      return [Other === RetryError, error.name, error.message, error instanceof Error, Plugin === undefined];
    })(require('@posthog/plugin-scaffold'))`;
    expect(await isolate.run(code)).toEqual([true, 'RetryError', 'later', true, true]);
  });
});

describe('zlib', () => {
  const data = 'text '.repeat(500);

  it.each([
    ['gunzipSync', zlib.gzipSync(data)],
    ['unzipSync', zlib.deflateSync(data)],
    ['inflateSync', zlib.deflateSync(data)],
    ['inflateRawSync', zlib.deflateRawSync(data)],
    ['brotliDecompressSync', zlib.brotliCompressSync(data)],
  ])('%s reads what Node writes', async (method, packed) => {
    const code = `require('zlib').${method}(Buffer.from('${packed.toString('base64')}', 'base64')).toString()`;
    expect(await isolate.run(code)).toBe(data);
  });

  it.each([
    ['gzip', zlib.gunzipSync],
    ['deflate', zlib.inflateSync],
    ['deflateRaw', zlib.inflateRawSync],
    ['brotliCompress', zlib.brotliDecompressSync],
  ])('Node reads what %s writes, with and without a callback', async (method, unpack) => {
    const code = `(async (zlib) => [
      zlib.${method}Sync(${JSON.stringify(data)}).toString('base64'),
      await new Promise((resolve, reject) => zlib.${method}(Buffer.from(${JSON.stringify(data)}), (error, result) =>
        error ? reject(error) : resolve(result.toString('base64')))),
    ])(require('zlib'))`;
    const texts = (await isolate.run(code)) as string[];
    expect(texts.map((text) => unpack(Buffer.from(text, 'base64')).toString())).toEqual([data, data]);
  });

  it('a bomb is refused', async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(40_000_000)).toString('base64');
    await expect(isolate.run(`require('zlib').gunzipSync(Buffer.from('${bomb}', 'base64'))`)).rejects.toThrow(
      'expected at most 33554432 bytes as result, got more',
    );
  });

  it('broken data is an error, by callback too', async () => {
    await expect(isolate.run(`require('zlib').gunzipSync('nonsense')`)).rejects.toThrow('incorrect header check');
    const code = `new Promise((resolve) => require('zlib').gunzip('nonsense', (error) => resolve(error.message)))`;
    expect(await isolate.run(code)).toContain('incorrect header check');
  });
});

describe('createBuffer', () => {
  const setUp = `const flushed = []; const buffer = require('@posthog/plugin-contrib').createBuffer({ limit: 10, timeoutSeconds: 5, onFlush: async (items, points) => { flushed.push([items, points]) } });`;

  it('flushes a full buffer, and the rest on demand', async () => {
    const code = `(async () => { ${setUp}
      await buffer.add('a', 4); await buffer.add('b', 4); await buffer.add('c', 4); await buffer.add('d', 6);
      const before = flushed.length; await buffer.add('e', 1); await buffer.flush(); await buffer.flush(); return [before, flushed]; })()`;
    expect(await isolate.run(code)).toEqual([
      2,
      [
        [['a', 'b'], 8],
        [['c', 'd'], 10],
        [['e'], 1],
      ],
    ]);
  });

  it('flushes run in order; an error reaches its caller and does not stop the next', async () => {
    const code = `(async () => { const order = []; let fail = true;
      const buffer = require('@posthog/plugin-contrib').createBuffer({ limit: 100, onFlush: async ([item]) => {
        order.push('start ' + item); await undefined; order.push('end ' + item); if (fail) { fail = false; throw new Error('no') } } });
      buffer.add('a'); const first = buffer.flush().catch((error) => error.message); buffer.add('b'); const second = buffer.flush();
      return [await first, await second, order]; })()`;
    expect(await isolate.run(code)).toEqual(['no', null, ['start a', 'end a', 'start b', 'end b']]);
  });
});

describe('other packages', () => {
  it('generic-pool lends and returns', async () => {
    const code = `(async () => { let made = 0; const pool = require('generic-pool').createPool({ create: async () => ({ id: ++made }), destroy: async () => {} }, { min: 1, max: 2, evictionRunIntervalMillis: 180000, idleTimeoutMillis: 1000 });
      const a = await pool.acquire(); const b = await pool.acquire();
      const third = pool.acquire(); await pool.release(a); const c = await third;
      await pool.release(b); await pool.release(c); await pool.drain(); await pool.clear();
      return [a.id !== b.id, c === a]; })()`;
    expect(await isolate.run(code)).toEqual([true, true]);
  });

  it('faker generates values', async () => {
    expect(await isolate.run(`require('faker').internet.email()`)).toMatch(/@/);
  });

  it('a PassThrough forwards to listeners and pipes', async () => {
    const code = `(async ({ PassThrough }) => { const seen = []; const stream = new PassThrough(); stream.push('a'); stream.push('b'); stream.push(null);
      await new Promise((resolve) => stream.pipe({ write: (chunk) => seen.push(chunk), end: resolve }));
      const other = new PassThrough(); other.end('c'); for await (const chunk of other) seen.push(chunk); return seen; })(require('stream'))`;
    expect(await isolate.run(code)).toEqual(['a', 'b', 'c']);
  });
});
