import { createPick, exactValue } from '../../../test/support/exact-values.ts';
import { parseExactValues } from '../../base/exact-json.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError, type ResolveHost, type Source } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { postgres } from './postgres.ts';
import { startPostgresServer, type PostgresServer } from '../../../test/support/postgres-source.ts';
import { readPart, readSource, resolveBy, testSourceHost } from './source-host.fixture.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
  await server.db.exec(`
    create table visits (id bigint primary key, at timestamptz, day date, name text);
    insert into visits select n, timestamptz '2024-03-01T00:00:00Z' + n * interval '1 hour', date '2024-03-01', 'v' || n
      from generate_series(0, 239) as n;
    insert into visits values (-5, null, null, null), (9007199254740993, '2024-03-12T23:59:59.999999Z', null, 'last');
  `);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  server.bytesLeft = Infinity;
});

function sourceOf(settings: SettingValues, resolve: ResolveHost = async (host) => host): Source {
  const own = {
    host: '127.0.0.1',
    port: String(server.port),
    database: 'postgres',
    user: 'postgres',
    password: 'very-secret',
    tls: 'off',
    query: 'select * from visits',
    cursor_column: 'at',
    ...settings,
  };
  return postgres.createSource(withDefaults(postgres.fields, own), testSourceHost({ resolve }));
}

function ids(found: ReadonlyMap<string, readonly string[]>): string[] {
  return [...found.values()].flat().map((line) => String((JSON.parse(line) as { id: number | string }).id));
}

async function allIds(): Promise<string[]> {
  const { rows } = await server.db.query<{ id: string }>('select id::text as id from visits');
  return rows.map(({ id }) => id).toSorted();
}

describe('rows of PostgreSQL', () => {
  it.each([{ batch_size: '1' }, { batch_size: '7' }, { batch_size: '100000' }])(
    'cut by the day of a time, each row comes once, also the one without a time (%j)',
    async (settings) => {
      const found = await readSource(sourceOf(settings), {});
      expect(ids(found).toSorted()).toEqual(await allIds());
      expect(found.get('2024-03-01')).toHaveLength(24);
      expect(found.get('2024-03-11')).toEqual([]);
      expect(found.get('2024-03-12')).toHaveLength(1);
      expect(found.get('without at')).toHaveLength(1);
      expect([...found.keys()]).toHaveLength(12 + 1);
    },
  );

  it('a range selects the rows within it, half open', async () => {
    const range = { from: '2024-03-01T22:00:00.000Z', to: '2024-03-03T01:00:00.000Z' };
    const found = await readSource(sourceOf({}), range);
    expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
      ['2024-03-01T22:00Z..2024-03-02', 2],
      ['2024-03-02', 24],
      ['2024-03-03..2024-03-03T01:00Z', 1],
    ]);
  });

  it('a range selects every day of a date column that it overlaps', async () => {
    const query = "select id, (at at time zone 'UTC')::date as date from visits where at < '2024-03-04'";
    const range = { from: '2024-03-02T22:00:00.000Z', to: '2024-03-03T01:00:00.000Z' };
    const found = await readSource(sourceOf({ query, cursor_column: 'date' }), range);
    expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
      ['2024-03-02', 24],
      ['2024-03-03..2024-03-03T01:00Z', 24],
    ]);
  });

  it('split by integers at multiples of the size, so that parts stay the same when rows arrive', async () => {
    const source = sourceOf({ cursor_column: 'id', part_size: '100', query: 'select * from visits where id < 2000' });
    const found = await readSource(source, {});
    expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
      ['-100..0', 1],
      ['0..100', 100],
      ['100..200', 100],
      ['200..300', 40],
    ]);
    expect(ids(found).slice(1, 4)).toEqual(['0', '1', '2']);
  });

  it('any other column gives one ordered part, which is stable only if the column is unique', async () => {
    const context = { signal: new AbortController().signal };
    const parts = await sourceOf({ cursor_column: 'name', unique_cursor: 'Yes' }).listParts({}, context);
    expect(parts.map(({ key, stable }) => [key, stable])).toEqual([
      ['all', true],
      ['without name', false],
    ]);
    expect((await sourceOf({}).listParts({}, context)).some(({ stable }) => stable)).toBe(false);
    const found = await readSource(sourceOf({ cursor_column: 'name' }), {});
    expect(ids(found).toSorted()).toEqual(await allIds());
  });

  it('a table without rows has no parts', async () => {
    expect((await readSource(sourceOf({ query: 'select * from visits where false;' }), {})).size).toBe(0);
  });

  it('values keep their meaning', async () => {
    const query = `select timestamptz '2024-03-01 10:00:00.123456+02' as at, timestamp '2024-03-01 10:00:00' as plain,
      date '2024-03-01' as day, 9007199254740993::bigint as big, 42::bigint as small, 1.5::numeric as exact,
      12345678901234567890.5::numeric as long, 1234567890123456.5::numeric as half, 'NaN'::float8 as nan, 1e300::float8 as float, true as yes, null::text as none,
      '{"a": [1, "x\\ny"],
        "b": 12345678901234567890}'::json as object, '{"k": 1}'::jsonb as binary, '\\x00ff'::bytea as bytes,
      array['a', 'b"c'] as list, array[1, 2] as numbers, E'ü\\n"' as text, 'infinity'::timestamptz as never`;
    const [line] = [...(await readSource(sourceOf({ query }), {})).values()].flat();
    expect(line).not.toMatch(/\n/);
    expect(line).toContain('12345678901234567890}');
    expect(JSON.parse(line ?? '')).toEqual({
      at: '2024-03-01T08:00:00.123456Z',
      plain: '2024-03-01T10:00:00Z',
      day: '2024-03-01',
      big: '9007199254740993',
      small: 42,
      exact: 1.5,
      long: '12345678901234567890.5',
      half: '1234567890123456.5',
      nan: 'NaN',
      float: 1e300,
      yes: true,
      none: null,
      object: { a: [1, 'x\ny'], b: 12345678901234567000 },
      binary: { k: 1 },
      bytes: 'AP8=',
      list: ['a', 'b"c'],
      numbers: [1, 2],
      text: 'ü\n"',
      never: 'infinity',
    });
  });

  it('1,000 values of JSON keep every digit, level and character', async () => {
    const pick = createPick(1996);
    const values = Array.from({ length: 1000 }, () => exactValue(pick));
    await server.db.exec('create table exact (n int primary key, value json)');
    await server.db.query(
      'insert into exact select ordinality, value::json from unnest($1::text[]) with ordinality as t(value)',
      [values],
    );
    const found = await readSource(sourceOf({ query: 'select * from exact', cursor_column: 'n' }), {});
    const rows = [...found.values()].flat().map((line) => parseExactValues(line) as { n: number; value: unknown });
    const stored = new Map(rows.map(({ n, value }) => [n, canonicalJson(value)]));
    expect(values.filter((value, n) => stored.get(n + 1) !== canonicalJson(parseExactValues(value)))).toEqual([]);
  });
});

describe('failures of PostgreSQL', () => {
  it('a host and port that an operator permits are reached, another port is rejected with the setting that permits it', async () => {
    const permitted = sourceOf({}, resolveBy(`127.0.0.1:${server.port}`));
    expect(await permitted.listParts({}, { signal: new AbortController().signal })).toHaveLength(13);
    const refused = sourceOf({}, resolveBy(`127.0.0.1:${server.port + 1}`));
    await expect(refused.listParts({}, { signal: new AbortController().signal })).rejects.toThrow(
      `an operator adds 127.0.0.1:${server.port} to MILLRACE_OUTBOUND_ALLOW`,
    );
  });

  it('nothing is changed, whatever the query', async () => {
    const query = 'with gone as (delete from visits returning *) select * from gone';
    await expect(readSource(sourceOf({ query }), {})).rejects.toThrow(SourceError);
    const breakingOut = 'select * from visits) as x; commit; delete from visits; select * from (select 1 as at';
    await expect(readSource(sourceOf({ query: breakingOut }), {})).rejects.toThrow(/multiple commands/);
    expect(await allIds()).toHaveLength(242);
  });

  it('after a broken connection the part is restarted and complete', async () => {
    const source = sourceOf({ cursor_column: 'name' });
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    if (part === undefined) throw new Error('expected a part');
    server.bytesLeft = 12_000;
    await expect(readPart(source, part)).rejects.toMatchObject({ name: 'SourceWaitError', unlimited: true });
    server.bytesLeft = Infinity;
    expect(await readPart(source, part)).toHaveLength(241);
  });

  it('a missing server is retried', async () => {
    await expect(readSource(sourceOf({ port: '1' }), {})).rejects.toThrow(SourceWaitError);
  });

  it('a missing column ends the run with the message of PostgreSQL', async () => {
    await expect(readSource(sourceOf({ cursor_column: 'nope' }), {})).rejects.toThrow(
      /PostgreSQL responded: column "nope" does not exist \(42703\)/,
    );
  });

  it('a range needs a cursor that is a time', async () => {
    const read = readSource(sourceOf({ cursor_column: 'id' }), { from: '2024-03-01T00:00:00.000Z' });
    await expect(read).rejects.toThrow(/"id" is bigint/);
  });

  it('two columns of one name are an error, and none is lost', async () => {
    const query = 'select at, name as x, id as x from visits';
    await expect(readSource(sourceOf({ query }), {})).rejects.toThrow(/two columns "x"/);
  });

  it('an address that is not permitted ends the run', async () => {
    const source = sourceOf({}, async () => {
      throw new OutboundError('address', '127.0.0.1 is private');
    });
    await expect(readSource(source, {})).rejects.toThrow(SourceError);
  });

  it('an aborted signal ends the read with its reason', async () => {
    const controller = new AbortController();
    const source = sourceOf({ cursor_column: 'name', batch_size: '10' });
    const [part] = await source.listParts({}, { signal: controller.signal });
    if (part === undefined) throw new Error('expected a part');
    const read = async (): Promise<void> => {
      for await (const _chunk of source.open(part, { signal: controller.signal })) {
        controller.abort(new Error('paused'));
      }
    };
    await expect(read()).rejects.toThrow('paused');
  });
});

describe('settings of PostgreSQL', () => {
  it('a connection string contains all settings', async () => {
    const url = `postgres://postgres:p%25w@127.0.0.1:${server.port}/postgres?sslmode=disable`;
    expect((await readSource(sourceOf({ url, host: '', tls: 'verify' }), {})).size).toBe(13);
  });

  it.each([
    [{ host: '' }, 'host'],
    [{ url: 'mysql://a@b/c' }, 'url'],
    [{ url: 'postgres://u:%zz@h/d' }, 'url'],
    [{ query: '' }, 'query'],
    [{ cursor_column: '' }, 'cursor_column'],
    [{ part_size: '0' }, 'part_size'],
    [{ tls: 'maybe' }, 'tls'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf(settings)).toThrow(SettingsError);
    expect(() => sourceOf(settings)).toThrow(`"${key}"`);
  });
});
