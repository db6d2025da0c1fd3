/** Real: HTTP, gzip, the signature of the token. Doubled: Snowflake, by test/support/snowflake-server.ts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSnowflakeServer, type SnowflakeServer } from '../../../test/support/snowflake-server.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { SourceChangedError, SourceError, SourceWaitError, type Source } from '../source.ts';
import { snowflake } from './snowflake.ts';
import { readPart, readSource, sleep, testSourceHost } from './source-host.fixture.ts';

let server: SnowflakeServer;
beforeEach(async () => {
  server = await startSnowflakeServer();
  server.columns = [
    { name: 'ID', type: 'fixed', scale: 0 },
    { name: 'AT', type: 'timestamp_ntz' },
  ];
  server.partitions = [0, 1, 2].map((part) => Array.from({ length: 10 }, (_, n) => [String(part * 10 + n), null]));
});
afterEach(() => server[Symbol.asyncDispose]());

function sourceOf(settings: SettingValues = {}, now = () => Date.now()): Source {
  const own = {
    account: 'xy12345.eu-central-1',
    user: 'importer',
    private_key: server.privateKey,
    query: 'shop.public.orders',
    endpoint: server.url,
    ...settings,
  };
  return snowflake.createSource(withDefaults(snowflake.fields, own), testSourceHost({ now }));
}

const context = () => ({ signal: new AbortController().signal, sleep });
const idsOf = (lines: readonly string[]): number[] =>
  lines.map((line) => Number((JSON.parse(line) as { ID: number }).ID));
const all = Array.from({ length: 30 }, (_, n) => n);

describe('rows of Snowflake', () => {
  it('the statement runs once, is waited for, and each partition comes once', async () => {
    server.pending = 3;
    const source = sourceOf({ warehouse: 'WH', role: 'READER' });
    const found = await readSource(source, {});
    expect([...found.keys()]).toEqual(['piece 0', 'piece 1', 'piece 2']);
    expect(idsOf([...found.values()].flat())).toEqual(all);
    await source.listParts({}, context());
    expect(server.ran).toEqual([
      {
        statement: 'select * from (\nselect * from shop.public.orders\n) as source_rows',
        timeout: 3600,
        warehouse: 'WH',
        role: 'READER',
        parameters: { timezone: 'UTC', binary_output_format: 'HEX', client_result_chunk_size: '48' },
      },
    ]);
  });

  it('a request that is repeated runs no second statement', async () => {
    server.troubles.push({ status: 503, code: '', message: 'unavailable' });
    expect(idsOf([...(await readSource(sourceOf(), {})).values()].flat())).toEqual(all);
    expect(server.ran).toHaveLength(1);
  });

  it('another process reads the result of the first one, as of the beginning of the import', async () => {
    const parts = await sourceOf().listParts({}, context());
    server.partitions = [];
    const again = sourceOf();
    const listed = await again.listParts({}, { ...context(), known: parts });
    expect(listed).toEqual(parts);
    expect(idsOf(await readPart(again, listed[1] ?? failed()))).toEqual(all.slice(10, 20));
    expect(server.ran).toHaveLength(1);
  });

  it('an expired result is reported as changed, the query runs again, and parts that it no longer has become empty', async () => {
    const source = sourceOf();
    const parts = await source.listParts({}, context());
    server.results.clear();
    server.partitions = server.partitions.slice(0, 1);
    await expect(readPart(source, parts[0] ?? failed())).rejects.toThrow(SourceChangedError);
    const listed = await source.listParts({}, { ...context(), known: parts });
    expect(listed.map(({ identity, detail }) => [identity, detail?.['rows']])).toEqual([
      ['01b2-2', 10],
      ['01b2-2', 0],
      ['01b2-2', 0],
    ]);
    expect(await readPart(source, listed[2] ?? failed())).toEqual([]);
  });

  it('a token that expires during an import is replaced', async () => {
    let now = Date.now();
    const source = sourceOf({}, () => now);
    const [part = failed()] = await source.listParts({}, context());
    now += 7_200_000;
    server.notBefore = Math.floor(now / 1000) - 10;
    expect(await readPart(source, part)).toHaveLength(10);
    now += 1000;
    server.notBefore = Math.floor(now / 1000);
    expect(await readPart(source, part)).toHaveLength(10);
  });

  it.each([
    [
      'timestamp_tz',
      `"AT" >= '2024-03-01T22:00:00.000Z'::timestamp_tz and "AT" < '2024-03-03T01:00:00.000Z'::timestamp_tz`,
    ],
    [
      'timestamp_ntz',
      `"AT" >= '2024-03-01T22:00:00.000'::timestamp_ntz and "AT" < '2024-03-03T01:00:00.000'::timestamp_ntz`,
    ],
    ['date', `"AT" >= '2024-03-01'::date and "AT" < '2024-03-04'::date`],
  ])('a range selects by a column of type %s, half open, dates wholly', async (type, condition) => {
    server.columns = [
      { name: 'ID', type: 'fixed' },
      { name: 'AT', type },
    ];
    const range = { from: '2024-03-01T22:00:00.000Z', to: '2024-03-03T01:00:00.000Z' };
    await readSource(sourceOf({ cursor_column: 'at' }), range);
    expect(server.ran.at(-1)?.['statement']).toBe(
      `select * from (\nselect * from shop.public.orders\n) as source_rows where ${condition}`,
    );
  });
});

describe('values of Snowflake', () => {
  it.each<[string, number, string | null, unknown]>([
    ['fixed', 0, '99999999999999999999999999999999999999', '99999999999999999999999999999999999999'],
    ['fixed', 0, '42', 42],
    ['fixed', 2, '12.50', 12.5],
    ['fixed', 10, '1234567890123456.0123456789', '1234567890123456.0123456789'],
    ['real', 0, '1.5e300', 1.5e300],
    ['real', 0, 'NaN', 'NaN'],
    ['text', 0, 'ü😀"\n', 'ü😀"\n'],
    ['text', 0, null, null],
    ['boolean', 0, 'true', true],
    ['boolean', 0, '0', false],
    ['date', 0, '18262', '2020-01-01'],
    ['date', 0, '-1', '1969-12-31'],
    ['time', 9, '82919.000000000', '23:01:59'],
    ['time', 9, '0.123456000', '00:00:00.123456'],
    ['timestamp_ntz', 9, '1616173619.123456789', '2021-03-19T17:06:59.123456789'],
    ['timestamp_ltz', 9, '1616173619.000000000', '2021-03-19T17:06:59Z'],
    ['timestamp_tz', 9, '1616173619.500000000 960', '2021-03-19T17:06:59.500Z'],
    ['timestamp_ntz', 9, '-0.000000001', '1969-12-31T23:59:59.999999999'],
    ['timestamp_ntz', 9, '2021-03-19 17:06:59', '2021-03-19 17:06:59'],
    ['variant', 0, '{"a": [1,\n "x"]}', { a: [1, 'x'] }],
    ['array', 0, '[\n  undefined\n]', '[\n  undefined\n]'],
    ['binary', 0, '00FF', 'AP8='],
  ])('%s(%d) %s keeps its meaning', async (type, scale, value, expected) => {
    server.columns = [{ name: 'V', type, scale }];
    server.partitions = [[[value]]];
    const lines = [...(await readSource(sourceOf(), {})).values()].flat();
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ V: expected }]);
  });
});

describe('failures of Snowflake', () => {
  it.each([
    [422, '002003', /Snowflake responded 422: Object does not exist \(002003\)/],
    [422, '000008', /000008/],
    [403, '390201', /check the role and what it may read/],
    [408, '000630', /import a shorter time range/],
  ])('%d %s ends the run with the reason', async (status, code, message) => {
    server.troubles.push({ status, code, message: 'Object does not exist' });
    const reading = readSource(sourceOf(), {});
    await expect(reading).rejects.toThrow(SourceError);
    await expect(reading).rejects.toThrow(message);
  });

  it('a user without this key fails after a few tries, with what to check', async () => {
    const reading = readSource(sourceOf({ user: 'other' }), {});
    await expect(reading).rejects.toThrow(SourceWaitError);
    await expect(reading).rejects.toThrow(/JWT token is invalid.*check account, user and key/);
    await expect(reading).rejects.not.toThrow(/PRIVATE KEY/);
  });

  it('a partition with fewer rows than listed is never taken for complete', async () => {
    const source = sourceOf();
    const [part = failed()] = await source.listParts({}, context());
    server.results.set('01b2-1', [server.partitions[0]?.slice(0, 9) ?? [], ...server.partitions.slice(1)]);
    await expect(readPart(source, part)).rejects.toThrow(
      /piece 0 had 10 rows when it was listed, and 9 when it was read/,
    );
  });

  it('a range needs a cursor column that is a time', async () => {
    const range = { from: '2024-03-01T00:00:00.000Z' };
    await expect(readSource(sourceOf(), range)).rejects.toThrow(/has the columns ID, AT; got ""/);
    await expect(readSource(sourceOf({ cursor_column: 'id' }), range)).rejects.toThrow(/"id" is fixed/);
  });

  it.each([
    [{ account: 'https://x.snowflakecomputing.com' }, 'account'],
    [{ private_key: 'x' }, 'private_key'],
    [{ query: '' }, 'query'],
    [{ user: '' }, 'user'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf(settings)).toThrow(SettingsError);
    expect(() => sourceOf(settings)).toThrow(`"${key}"`);
  });
});

function failed(): never {
  throw new Error('expected a part');
}
