import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

/** What the service keeps, as far as these tests need it. */
const kept = new Map<string, unknown>();
const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const day = 86_400_000;

function service(op: string, args: readonly unknown[]): unknown {
  const [key, value] = args;
  if (op === 'storage.get' && kept.has(`${key}`)) return { value: kept.get(`${key}`) };
  if (op === 'storage.set' || op === 'cache.set') kept.set(`${key}`, value);
  if (op === 'storage.delete') kept.delete(`${key}`);
  if (op === 'storage.increment') kept.set(`${key}`, Number(kept.get(`${key}`) ?? 0) + Number(value));
  if (op === 'storage.increment' || op === 'cache.get') return kept.get(`${key}`) ?? null;
  if (op === 'cache.listRange') return ['a', 'b'];
  return null;
}

let isolate: TestIsolate;

beforeEach(async () => {
  kept.clear();
  isolate = await openTestIsolate({
    service,
    geoip: {
      locate: (ip) =>
        ip === '1.2.3.4'
          ? {
              country: { iso_code: 'SE', names: { en: 'Sweden' } },
              location: { time_zone: 'Europe/Stockholm', accuracy_radius: 5 },
            }
          : null,
    },
    meta: {
      config: { greeting: 'hi' },
      attachments: {
        rules: {
          content_type: 'application/json',
          file_name: 'rules.json',
          contents_base64: Buffer.from('{"é":[1]}').toString('base64'),
        },
      },
      metrics: { sent: 'sum', longest: 'max', shortest: 'min' },
    },
  });
});

afterEach(() => isolate.close());

describe('config, attachments, global', () => {
  it('config is shared and may be changed', async () => {
    expect(await isolate.run(`(meta.config.greeting += '!', meta.config)`)).toEqual({ greeting: 'hi!' });
    expect(await isolate.run('meta.config.greeting')).toBe('hi!');
  });

  it('an attachment is available as text, JSON and bytes', async () => {
    const code = `(({ contents, file_name, content_type }) => [file_name, content_type, contents.toString(), JSON.parse(contents), contents.length])(meta.attachments.rules)`;
    expect(await isolate.run(code)).toEqual(['rules.json', 'application/json', '{"é":[1]}', { é: [1] }, 10]);
  });

  it('has exactly these members', async () => {
    expect(await isolate.run('Object.keys(meta).sort()')).toEqual([
      'attachments',
      'cache',
      'config',
      'geoip',
      'global',
      'jobs',
      'metrics',
      'storage',
      'utils',
    ]);
  });
});

describe('storage', () => {
  it.each([
    [`storage.get('none')`, undefined],
    [`storage.get('none', 5)`, 5],
    [`storage.set('a', null).then(() => storage.get('a', 5))`, null],
    [`storage.set('a', { b: [1] }).then(() => storage.get('a'))`, { b: [1] }],
    [`storage.set('a', new Date(0)).then(() => storage.get('a'))`, '1970-01-01T00:00:00.000Z'],
    [`storage.set('a', 1).then(() => storage.set('a', undefined)).then(() => storage.get('a', 'gone'))`, 'gone'],
    [`storage.set('a', 1).then(() => storage.del('a')).then(() => storage.get('a', 'gone'))`, 'gone'],
    [`storage.set(7, 1).then(() => storage.get('7'))`, 1],
  ])('%s is %j', async (code, value) => {
    expect(await isolate.run(`(({ storage }) => ${code})(meta)`)).toEqual(value);
  });

  it('a cursor is set once and counts', async () => {
    const code = `(async ({ utils: { cursor } }) => {
      await cursor.init('c', 5);
      await cursor.init('c', 99);
      return [await cursor.increment('c'), await cursor.increment('c', 10)];
    })(meta)`;
    expect(await isolate.run(code)).toEqual([6, 16]);
  });
});

describe('cache', () => {
  it.each([
    [`cache.get('none', 'default')`, 'default'],
    [`cache.get('none', null)`, null],
    [`cache.set('a', { b: 1 }).then(() => cache.get('a'))`, { b: 1 }],
    [
      `cache.set('a', 'text', 60, { jsonSerialize: false }).then(() => cache.get('a', null, { jsonSerialize: false }))`,
      'text',
    ],
    [`cache.set('a', 'text').then(() => cache.get('a', null, { jsonSerialize: false }))`, '"text"'],
    [`cache.lrange('l', 0, -1)`, ['a', 'b']],
  ])('%s is %j', async (code, value) => {
    expect(await isolate.run(`(({ cache }) => ${code})(meta)`)).toEqual(value);
  });

  it('text that is not JSON is an error that says how to read it', async () => {
    const code = `meta.cache.set('a', 'text', null, { jsonSerialize: false }).then(() => meta.cache.get('a'))`;
    await expect(isolate.run(code)).rejects.toThrow('jsonSerialize: false');
  });

  it('calls the service for Redis operations', async () => {
    await isolate.run(`(async ({ cache }) => {
      await cache.set('a', 1, 60);
      await cache.set('b', 1);
      await cache.incr('n');
      await cache.expire('a', '5');
      await cache.lpush('l', 'x');
      await cache.lpush('l', [1, 'y']);
      await cache.llen('l');
      await cache.lrem('l', 0, 'x');
      await cache.lpop('l', 2);
    })(meta)`);
    expect(isolate.asked).toEqual([
      ['cache.set', ['a', '1', 60]],
      ['cache.set', ['b', '1', null]],
      ['cache.increment', ['n']],
      ['cache.expire', ['a', 5]],
      ['cache.listPush', ['l', ['x']]],
      ['cache.listPush', ['l', ['1', 'y']]],
      ['cache.listLength', ['l']],
      ['cache.listRemove', ['l', 0, 'x']],
      ['cache.listPop', ['l', 2]],
    ]);
  });

  it.each([
    [`cache.lpush('l', Array(1001).fill(1))`, 'at most 1000 elements'],
    [`cache.expire('a', 'soon')`, 'a time to live in seconds'],
    [`cache.set('k'.repeat(600), 1)`, 'at most 512 characters'],
    [`cache.set('a', 'v'.repeat(2_000_000))`, 'at most 1048576 characters'],
  ])('%s is refused', async (code, message) => {
    await expect(isolate.run(`(async ({ cache }) => ${code})(meta)`)).rejects.toThrow(message);
  });
});

describe('jobs', () => {
  it.each([
    [`runNow()`, 0],
    [`runIn(5, 'seconds')`, 5000],
    [`runIn(1, 'second')`, 1000],
    [`runIn(250, 'milliseconds')`, 250],
    [`runIn('2', 'minutes')`, 120_000],
    [`runIn(1.5, 'hours')`, 5_400_000],
    [`runIn(1, 'week')`, 7 * day],
    [`runIn(1, 'month')`, 30 * day],
    [`runIn(1, 'quarter')`, 91 * day],
    [`runIn(2, 'years')`, 730 * day],
    [`runAt(new Date(${now} + 7))`, 7],
    [`runAt('2026-01-02T03:04:06Z')`, 1000],
  ])('%s runs so many ms from now: %d', async (call, fromNow) => {
    await isolate.run(`meta.jobs.tidy({ page: 2 }).${call}`);
    expect(isolate.asked).toEqual([['job', [{ name: 'tidy', payload: { page: 2 }, runAt: now + fromNow }]]]);
  });

  it('nothing is enqueued before a time is given; a missing payload is an empty one', async () => {
    await isolate.run(`void meta.jobs.tidy({ page: 2 })`);
    expect(isolate.asked).toEqual([]);
    await isolate.run(`meta.jobs.tidy().runNow()`);
    expect(isolate.asked).toEqual([['job', [{ name: 'tidy', payload: {}, runAt: now }]]]);
  });

  it.each([
    [`tidy({}).runIn(1, 'fortnight')`, 'expected one of the units'],
    [`tidy({}).runIn('soon', 'days')`, 'expected a number of days'],
    [`tidy({}).runIn(1, 'constructor')`, 'expected one of the units'],
    [`tidy({}).runAt('soon')`, 'expected a Date'],
    [`tidy([1]).runNow()`, 'expected an object as payload, got an array'],
  ])('%s is refused', async (call, message) => {
    await expect(isolate.run(`meta.jobs.${call}`)).rejects.toThrow(message);
    expect(isolate.asked).toEqual([]);
  });
});

describe('geoip', () => {
  it('returns the City model, with and without await', async () => {
    const model = {
      subdivisions: [],
      country: { isoCode: 'SE', names: { en: 'Sweden' } },
      location: { timeZone: 'Europe/Stockholm', accuracyRadius: 5 },
    };
    expect(await isolate.run(`meta.geoip.locate('1.2.3.4')`)).toEqual(model);
    expect(
      await isolate.run(`(async () => [await meta.geoip.locate('1.2.3.4'), await meta.geoip.locate('::1')])()`),
    ).toEqual([model, null]);
  });

  it('without a database the error says what to do', async () => {
    const without = await openTestIsolate();
    await expect(without.run(`meta.geoip.locate('1.2.3.4')`)).rejects.toThrow('no database in this test');
    without.close();
  });
});

describe('meta as a value', () => {
  it('can be serialised as JSON and awaited, although jobs and metrics respond to any name', async () => {
    const code = `(async () => { const { jobs, metrics } = meta; await jobs; await metrics; return JSON.stringify({ jobs, metrics }) })()`;
    expect(await isolate.run(code)).toBe('{"jobs":{},"metrics":{}}');
  });
});

describe('metrics', () => {
  it('counts by the declared kind', async () => {
    await isolate.run(
      `(metrics => { metrics.sent.increment(2); metrics.longest.max(5); metrics.shortest.min(1); })(meta.metrics)`,
    );
    expect(isolate.metrics).toEqual([
      ['sent', 'sum', 2],
      ['longest', 'max', 5],
      ['shortest', 'min', 1],
    ]);
  });

  it.each([
    [`lost.increment(1)`, 'got "lost"'],
    [`sent.max(1)`, 'not a function'],
    [`sent.increment('much')`, 'expected a number'],
  ])('%s throws', async (code, message) => {
    await expect(isolate.run(`meta.metrics.${code}`)).rejects.toThrow(message);
  });
});
