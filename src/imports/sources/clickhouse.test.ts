import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Source, SourceHost } from '../source.ts';
import { testClickhouseServer, type TestClickhouseServer } from '../../../test/support/clickhouse-server.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { createOutboundStream } from '../../plugins/outbound/stream.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { clickhouse } from './clickhouse.ts';
import { readSource, readStubbornly, testSourceHost } from './source-host.fixture.ts';

let server: TestClickhouseServer;
beforeAll(async () => {
  server = await testClickhouseServer('reader', 'not-to-be-seen');
  await server.run('create database shop');
  await server.run(`create table shop.events (id UInt64, name String, at DateTime64(3, 'UTC'), day Nullable(Date),
    amount Decimal(38, 10), huge Int256, f Float64, tags Array(String)) engine = MergeTree order by at`);
  await server.run(`insert into shop.events select number, concat('e', toString(number % 3)),
    toDateTime64('2024-05-01 22:00:00.123', 3, 'UTC') + number * 60, if(number = 7, null, toDate('2024-05-02')),
    toDecimal128('12345678901234567890.0000000001', 10), toInt256('-57896044618658097711785492504343953926634992332820282019728'),
    if(number = 1, inf, 0.1), ['a "b"', 'ü'] from numbers(300)`);
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.statements.length = 0;
});

function open(settings: SettingValues = {}, host: Partial<SourceHost> = {}): Source {
  const given = {
    url: server.url,
    user: 'reader',
    password: 'not-to-be-seen',
    query: 'shop.events',
    cursor_column: 'at',
  };
  return clickhouse.createSource({ ...given, ...settings }, testSourceHost(host));
}

async function failure(source: Source): Promise<unknown> {
  return await readSource(source, {}).catch((error: unknown) => error);
}

const sizes = (found: ReadonlyMap<string, readonly string[]>) => [...found].map(([key, lines]) => [key, lines.length]);

describe('rows of a table', () => {
  it('are read day by day in UTC, with every digit of their numbers', async () => {
    const found = await readSource(open(), {});
    expect(sizes(found)).toEqual([
      ['2024-05-01', 120],
      ['2024-05-02', 180],
    ]);
    const line = [...found.values()].flat().find((each) => each.startsWith('{"id":1,')) ?? '';
    expect(line).toContain('"at":"2024-05-01T22:01:00.123Z"');
    expect(line).toContain('"amount":12345678901234567890.0000000001');
    expect(line).toContain('-57896044618658097711785492504343953926634992332820282019728');
    expect(line).toContain('"f":"inf"');
    expect(JSON.parse(line)).toMatchObject({ tags: ['a "b"', 'ü'] });
  });

  it('are split by blocks of an integer, by day of a date, and not at all by a text; rows without a value are a separate part', async () => {
    const query = 'select toInt64(id) - 150 as n, name, day from shop.events';
    expect(sizes(await readSource(open({ query, cursor_column: 'n', part_size: '100' }), {}))).toEqual([
      ['-200..-100', 50],
      ['-100..0', 100],
      ['0..100', 100],
      ['100..200', 50],
    ]);
    expect(sizes(await readSource(open({ query, cursor_column: 'day' }), {}))).toEqual([
      ['2024-05-02', 299],
      ['without day', 1],
    ]);
    expect(sizes(await readSource(open({ query, cursor_column: 'name' }), {}))).toEqual([['all', 300]]);
  });

  it('of a range are read, and no others', async () => {
    const range = { from: '2024-05-01T23:00:00.000Z', to: '2024-05-02T01:00:00.000Z' };
    expect(sizes(await readSource(open(), range))).toEqual([
      ['2024-05-01', 60],
      ['2024-05-02', 60],
    ]);
    const query = 'select id, at, toDate(at) as day from shop.events';
    expect(sizes(await readSource(open({ query, cursor_column: 'day' }), range))).toEqual([
      ['2024-05-01', 120],
      ['2024-05-02', 180],
    ]);
    await expect(readSource(open({ cursor_column: 'id' }), range)).rejects.toThrow(
      'need a cursor column that is a time',
    );
  });

  it('are requested with a setting that forbids writes', async () => {
    const refused = await failure(open({ query: 'select 1) format Null; drop table shop.events; select (1' }));
    expect(refused).toMatchObject({ name: 'SourceError' });
    expect(sizes(await readSource(open(), {}))).toHaveLength(2);
  });

  it('a row that was changed changes the identity of its part, and of no other', async () => {
    const context = { signal: new AbortController().signal };
    const before = await open().listParts({}, context);
    expect(await open().listParts({}, context)).toEqual(before);
    const query = `select id, if(id = 200, 'other', name) as name, at, day, amount, huge, f, tags from shop.events`;
    const after = await open({ query }).listParts({}, context);
    expect(after[0]?.identity).toBe(before[0]?.identity);
    expect(after[1]?.identity).not.toBe(before[1]?.identity);
  });
});

describe('failures of the server', () => {
  it.each(['connection', 'exception'] as const)(
    'an answer cut off with %s is read again, and every row is there once',
    async (how) => {
      server.breakAfter(5000, how, 3);
      const found = await readStubbornly(open(), {});
      expect(sizes(found).map(([, count]) => count)).toEqual([120, 180]);
    },
  );

  it('a truncated response that ends as if complete is never taken for complete', async () => {
    server.breakAfter(5000, 'quietly');
    expect(await failure(open())).toMatchObject({
      name: 'SourceChangedError',
      message: expect.stringMatching(/had 120 rows when it was listed, and \d+ when it was read/),
    });
  });

  it('the error "too many queries" is retried', async () => {
    server.tooMany(2);
    expect(sizes(await readSource(open(), {}))).toHaveLength(2);
  });

  it.each([
    [{ password: 'wrong-secret' }, 'check user and password'],
    [{ query: 'shop.orders' }, 'check the name of the table'],
    [{ cursor_column: 'none' }, 'check the names of the columns'],
  ])('%j is rejected with advice, and without the password', async (settings, advice) => {
    const error = await failure(open(settings));
    expect(error).toMatchObject({ name: 'SourceError', message: expect.stringContaining(advice) });
    expect(String(error)).not.toMatch(/secret|not-to-be-seen/);
  });

  it('no request is sent to an address that is not permitted', async () => {
    const stream = createOutboundStream({ allow: parseAllowList(''), connectTimeoutMs: 1000, idleMs: 1000 });
    expect(await failure(open({}, { stream }))).toMatchObject({ name: 'SourceError' });
    expect(server.statements).toEqual([]);
    await stream.close();
  });
});
