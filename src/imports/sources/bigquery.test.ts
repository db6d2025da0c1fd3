/** Real: HTTP, the signature of the token. Doubled: BigQuery, by test/support/bigquery-server.ts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startBigqueryServer, type BigqueryServer } from '../../../test/support/bigquery-server.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { SourceChangedError, SourceError, SourceWaitError, type Source } from '../source.ts';
import { bigquery } from './bigquery.ts';
import { readPart, readSource, sleep, testSourceHost } from './source-host.fixture.ts';

let server: BigqueryServer;
beforeEach(async () => {
  server = await startBigqueryServer();
  server.schema = [
    { name: 'id', type: 'INTEGER', mode: 'REQUIRED' },
    { name: 'at', type: 'TIMESTAMP' },
  ];
  server.rows = Array.from({ length: 25 }, (_, n) => rowOf(String(n), String(1_709_287_200_000_000 + n)));
});
afterEach(() => server[Symbol.asyncDispose]());

function rowOf(...values: readonly unknown[]): object {
  return { f: values.map((v) => ({ v })) };
}

function sourceOf(settings: SettingValues = {}): Source {
  const own = {
    project: 'shop',
    key_file: server.keyFile,
    query: 'shop.sales.orders',
    endpoint: server.url,
    ...settings,
  };
  return bigquery.createSource(withDefaults(bigquery.fields, own), testSourceHost());
}

const itemsField = {
  name: 'items',
  type: 'RECORD',
  mode: 'REPEATED',
  fields: [
    { name: 'sku', type: 'STRING' },
    { name: 'tags', type: 'STRING', mode: 'REPEATED' },
    { name: 'of', type: 'RECORD', mode: 'NULLABLE', fields: [{ name: 'price', type: 'NUMERIC' }] },
  ],
};

const context = () => ({ signal: new AbortController().signal, sleep });
const idsOf = (lines: readonly string[]): number[] =>
  lines.map((line) => Number((JSON.parse(line) as { id: number }).id));

describe('rows of BigQuery', () => {
  it('the query runs once, and its rows come once each, page by page', async () => {
    server.pending = 2;
    const source = sourceOf();
    const found = await readSource(source, {});
    expect(idsOf([...found.values()].flat())).toEqual(Array.from({ length: 25 }, (_, n) => n));
    await source.listParts({}, context());
    expect(server.ran).toEqual(['select * from (\nselect * from `shop.sales.orders`\n) as source_rows']);
  });

  it('another process reads the result of the first one, as of the beginning of the import', async () => {
    const parts = await sourceOf().listParts({}, context());
    server.rows = [];
    const again = sourceOf();
    const listed = await again.listParts({}, { ...context(), known: parts });
    expect(listed).toEqual(parts);
    expect(await readPart(again, listed[0] ?? failed())).toHaveLength(25);
    expect(server.ran).toHaveLength(1);
  });

  it('an expired result is reported as changed, the query runs again, and parts that it no longer has become empty', async () => {
    const source = sourceOf();
    const parts = await source.listParts({}, context());
    server.jobs.clear();
    server.rows = [];
    await expect(readPart(source, parts[0] ?? failed())).rejects.toThrow(SourceChangedError);
    const listed = await source.listParts({}, { ...context(), known: parts });
    expect(listed.map(({ key, identity }) => [key, identity])).toEqual([['piece 0', 'EU/job_2']]);
    expect(await readPart(source, listed[0] ?? failed())).toEqual([]);
  });

  it.each([
    ['TIMESTAMP', "`at` >= timestamp '2024-03-01T22:00:00.000Z' and `at` < timestamp '2024-03-03T01:00:00.000Z'"],
    ['DATETIME', "`at` >= datetime '2024-03-01T22:00:00.000' and `at` < datetime '2024-03-03T01:00:00.000'"],
    ['DATE', "`at` >= date '2024-03-01' and `at` < date '2024-03-04'"],
  ])('a range selects by a column of type %s, half open, dates wholly', async (type, condition) => {
    server.schema = [
      { name: 'id', type: 'INTEGER' },
      { name: 'at', type },
    ];
    server.rows = [];
    const range = { from: '2024-03-01T22:00:00.000Z', to: '2024-03-03T01:00:00.000Z' };
    await readSource(sourceOf({ cursor_column: 'AT', query: 'select * from x' }), range);
    expect(server.ran).toEqual([`select * from (\nselect * from x\n) as source_rows where ${condition}`]);
  });

  it('values keep their meaning', async () => {
    const types =
      'INTEGER INTEGER FLOAT FLOAT NUMERIC BIGNUMERIC BOOLEAN STRING BYTES DATE DATETIME TIME TIMESTAMP TIMESTAMP';
    const plain = [...types.split(' '), 'TIMESTAMP', 'GEOGRAPHY', 'JSON', 'STRING', 'INTERVAL'].map((type, n) => ({
      name: `c${n}`,
      type,
      mode: 'NULLABLE',
    }));
    server.schema = [...plain, { name: 'list', type: 'INTEGER', mode: 'REPEATED' }, itemsField];
    const item = (sku: string, tags: readonly string[], price: string | null): object => ({
      v: { f: [{ v: sku }, { v: tags.map((v) => ({ v })) }, { v: price === null ? null : { f: [{ v: price }] } }] },
    });
    server.rows = [
      rowOf(
        '9007199254740993',
        '42',
        '1.5',
        'NaN',
        '12.5',
        '12345678901234567890.5',
        'true',
        'ü😀"\n',
        'AP8=',
        '2024-03-01',
        '2024-03-01T10:00:00.5',
        '10:00:00.123456',
        '1709287200123456',
        '1.709287200123456E9',
        '-1',
        'POINT(1 2)',
        '{"a":[1,\n12345678901234567890]}',
        null,
        'P1Y2M3DT4H5M6S',
        [{ v: '1' }, { v: '9007199254740993' }],
        [item('a"b', ['x', 'y'], '1.5'), item('c', [], null)],
      ),
    ];
    const [line = ''] = [...(await readSource(sourceOf(), {})).values()].flat();
    expect(line).toContain('"c16":{"a":[1, 12345678901234567890]}');
    expect(JSON.parse(line)).toEqual({
      c0: '9007199254740993',
      c1: 42,
      c2: 1.5,
      c3: 'NaN',
      c4: 12.5,
      c5: '12345678901234567890.5',
      c6: true,
      c7: 'ü😀"\n',
      c8: 'AP8=',
      c9: '2024-03-01',
      c10: '2024-03-01T10:00:00.5',
      c11: '10:00:00.123456',
      c12: '2024-03-01T10:00:00.123456Z',
      c13: '2024-03-01T10:00:00.123456Z',
      c14: '1969-12-31T23:59:59.999999Z',
      c15: 'POINT(1 2)',
      c16: { a: [1, 12345678901234567000] },
      c17: null,
      c18: 'P1Y2M3DT4H5M6S',
      list: [1, '9007199254740993'],
      items: [
        { sku: 'a"b', tags: ['x', 'y'], of: { price: 1.5 } },
        { sku: 'c', tags: [], of: null },
      ],
    });
  });
});

describe('failures of BigQuery', () => {
  it('a query that does more than read is refused before it runs', async () => {
    server.statementType = 'SCRIPT';
    const query = 'select 1 as id) as x; delete from shop.sales.orders where true; select * from (select 1 as id';
    await expect(readSource(sourceOf({ query }), {})).rejects.toThrow(/only reads \(SELECT\), got SCRIPT/);
    expect(server.ran).toEqual([]);
  });

  it.each([
    [403, 'accessDenied', /Access Denied.*\(accessDenied\); the service account needs the roles BigQuery Job User/],
    [404, 'notFound', /\(notFound\); check the names of project, dataset and table/],
    [400, 'invalidQuery', /BigQuery responded 400: Access Denied: x \(invalidQuery\)$/],
    [403, 'responseTooLarge', /export the table to a bucket as Parquet/],
  ])('%s %s ends the run with the reason', async (status, reason, message) => {
    server.troubles.push({ status, reason, message: 'Access Denied: x' });
    const reading = readSource(sourceOf(), {});
    await expect(reading).rejects.toThrow(SourceError);
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.not.toThrow(/PRIVATE KEY/);
  });

  it('a limit of the rate and an unavailable service are waited for', async () => {
    const trouble = { status: 403, reason: 'rateLimitExceeded', message: 'Exceeded rate limits' };
    server.troubles.push(trouble, { ...trouble, status: 503, reason: 'backendError' });
    expect(idsOf([...(await readSource(sourceOf(), {})).values()].flat())).toHaveLength(25);
    server.troubles.push(...Array.from({ length: 20 }, () => trouble));
    await expect(readSource(sourceOf(), {})).rejects.toThrow(SourceWaitError);
  });

  it('a result with fewer rows than listed is never taken for complete', async () => {
    const source = sourceOf();
    const [part = failed()] = await source.listParts({}, context());
    server.jobs.set('job_1', server.rows.slice(0, 9));
    await expect(readPart(source, part)).rejects.toThrow(
      /piece 0 had 25 rows when it was listed, and 9 when it was read/,
    );
  });

  it('a range needs a cursor column that is a time', async () => {
    const range = { from: '2024-03-01T00:00:00.000Z' };
    await expect(readSource(sourceOf(), range)).rejects.toThrow(
      /need a cursor column of the query, .*columns id, at; got ""/,
    );
    await expect(readSource(sourceOf({ cursor_column: 'id' }), range)).rejects.toThrow(/"id" is INTEGER/);
  });

  it.each([
    [{ project: 'a/b' }, 'project'],
    [{ key_file: '{}' }, 'key_file'],
    [{ query: '' }, 'query'],
    [{ endpoint: 'ftp://x' }, 'endpoint'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf(settings)).toThrow(SettingsError);
    expect(() => sourceOf(settings)).toThrow(`"${key}"`);
  });
});

function failed(): never {
  throw new Error('expected a part');
}
