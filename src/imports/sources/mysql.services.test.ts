/** Real: MariaDB's server, the client, SQL. Every table and value is made up here; the oracle is the statement that wrote it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  findMariadb,
  mariadbPassword,
  startMariadb,
  type MariadbServer,
} from '../../../test/support/mariadb-server.ts';
import { parseExactValues } from '../../base/exact-json.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SourceError, SourceWaitError, type ResolveHost, type Source, type SourcePart } from '../source.ts';
import { mysql } from './mysql.ts';
import { readPart, readSource, resolveBy, testSourceHost } from './source-host.fixture.ts';

const program = findMariadb();
const reason = program === undefined ? ' (skipped: mariadbd or openssl is not installed)' : '';
const signal = new AbortController().signal;
const held = { signal, holdsSnapshot: true };

let server: MariadbServer;
let directory = '';
beforeAll(async () => {
  if (program === undefined) return;
  directory = await mkdtemp(join(tmpdir(), 'millrace-mariadb-'));
  server = await startMariadb(program, directory);
  await server.exec(
    `create table visits (id bigint unsigned primary key, at datetime(6), stamp timestamp null, day date, name varchar(20),
      key (at), key (stamp), key (day)) engine=innodb`,
    `insert into visits select seq, '2024-03-01' + interval seq hour, '2024-03-01' + interval seq hour, '2024-03-01',
      concat('v', seq) from seq_0_to_239`,
    `insert into visits values (500, null, null, null, null),
      (501, '0000-00-00', '0000-00-00', '0000-00-00', 'zero'),
      (18446744073709551615, '2024-03-12 23:59:59.999999', '2024-03-12 23:59:59', '2024-02-30', 'last')`,
  );
});
afterAll(async () => {
  if (program === undefined) return;
  await server[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

function sourceOf(settings: SettingValues = {}, resolve: ResolveHost = async (host) => host): Source {
  const own = {
    host: '127.0.0.1',
    port: String(server.port),
    database: 'shop',
    user: 'reader',
    password: mariadbPassword,
    tls: 'off',
    query: 'visits',
    cursor_column: 'at',
    ...settings,
  };
  return mysql.createSource(withDefaults(mysql.fields, own), testSourceHost({ resolve }));
}

function idsOf(lines: readonly string[]): string[] {
  return lines.map((line) => String((JSON.parse(line) as { id: number | string }).id));
}

async function storedIds(): Promise<string[]> {
  return (await server.rows('select id from visits order by id')).map(({ id }) => String(id)).toSorted();
}

async function readHeld(source: Source, part: SourcePart): Promise<{ lines: number; checksum: string | undefined }> {
  let lines = 0;
  let checksum: string | undefined;
  for await (const { count } of source.open(part, { ...held, wasRead: (read) => void (checksum = read.checksum) })) {
    lines += count;
  }
  return { lines, checksum };
}

describe.skipIf(program === undefined)(`rows of MySQL and MariaDB${reason}`, () => {
  it.each(['at', 'stamp', 'AT'])(
    'split by the day of %s, each row comes once, also zero dates and rows without one',
    async (cursor) => {
      const found = await readSource(sourceOf({ cursor_column: cursor }), {});
      expect(idsOf([...found.values()].flat()).toSorted()).toEqual(await storedIds());
      expect(found.get('2024-03-01')).toHaveLength(24);
      expect(found.get('2024-03-11')).toEqual([]);
      expect(idsOf(found.get('2024-03-12') ?? [])).toEqual(['18446744073709551615']);
      expect(idsOf(found.get(`zero in ${cursor}`) ?? [])).toEqual(['501']);
      expect(idsOf(found.get(`without ${cursor}`) ?? [])).toEqual(['500']);
      expect([...found.keys()]).toHaveLength(12 + 2);
    },
  );

  it('dates that do not exist are read: they are in the part of the day before them', async () => {
    await server.exec(
      'create table days (id int primary key, day date)',
      "set session sql_mode = 'allow_invalid_dates'",
      "insert into days values (1, '2024-00-00'), (2, '2024-02-31'), (3, '2024-03-01'), (4, '2024-05-00')",
      "set session sql_mode = ''",
    );
    const found = await readSource(sourceOf({ query: 'days', cursor_column: 'day' }), {});
    expect(idsOf([...found.values()].flat()).toSorted()).toEqual(['1', '2', '3', '4']);
    const last = await readSource(sourceOf({ query: 'select * from days where id = 2', cursor_column: 'day' }), {});
    expect([...last].map(([key, lines]) => [key, lines.length])).toEqual([['2024-02-29', 1]]);
  });

  it('the first and the last moment of TIMESTAMP are read once, apart from zero dates', async () => {
    await server.exec(
      'create table edges (id int primary key, stamp timestamp null, key (stamp))',
      "insert into edges values (1, '1970-01-01 00:00:01'), (2, '0000-00-00'), (3, '1970-01-03')",
      "insert into edges values (11, '2038-01-19 03:14:07'), (12, '2038-01-18')",
    );
    const early = await readSource(
      sourceOf({ query: 'select * from edges where id < 10', cursor_column: 'stamp' }),
      {},
    );
    expect([...early].map(([key, lines]) => [key, idsOf(lines)])).toEqual([
      ['1970-01-01', ['1']],
      ['1970-01-02', []],
      ['1970-01-03', ['3']],
      ['zero in stamp', ['2']],
    ]);
    const late = await readSource(sourceOf({ query: 'select * from edges where id > 10', cursor_column: 'stamp' }), {});
    expect([...late].map(([key, lines]) => [key, idsOf(lines)])).toEqual([
      ['2038-01-18', ['12']],
      ['2038-01-19', ['11']],
    ]);
  });

  it('a range selects the rows within it, half open', async () => {
    const range = { from: '2024-03-01T22:00:00.000Z', to: '2024-03-03T01:00:00.000Z' };
    for (const cursor of ['at', 'stamp']) {
      const found = await readSource(sourceOf({ cursor_column: cursor }), range);
      expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
        ['2024-03-01T22:00Z..2024-03-02', 2],
        ['2024-03-02', 24],
        ['2024-03-03..2024-03-03T01:00Z', 1],
      ]);
    }
  });

  it('split by integers at multiples of the size, also unsigned ones of 64 bits', async () => {
    const query = 'select * from visits where id < 2000';
    const found = await readSource(sourceOf({ cursor_column: 'id', part_size: '100', query }), {});
    expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
      ['0..100', 100],
      ['100..200', 100],
      ['200..300', 40],
      ['300..400', 0],
      ['400..500', 0],
      ['500..600', 2],
    ]);
    const large = sourceOf({ cursor_column: 'id', query: 'select * from visits where id > 1000' });
    expect(idsOf([...(await readSource(large, {})).values()].flat())).toEqual(['18446744073709551615']);
    await expect(readSource(sourceOf({ cursor_column: 'id', part_size: '1' }), {})).rejects.toThrow(
      /at most 100000 parts/,
    );
  });

  it('any other column gives one ordered part, and an empty table none', async () => {
    const found = await readSource(sourceOf({ cursor_column: 'name' }), {});
    expect([...found].map(([key, lines]) => [key, lines.length])).toEqual([
      ['all', 242],
      ['without name', 1],
    ]);
    expect((await readSource(sourceOf({ query: 'select * from visits where false;' }), {})).size).toBe(0);
    expect(
      (await readSource(sourceOf({ query: 'select * from visits where false', cursor_column: 'name' }), {})).size,
    ).toBe(0);
  });

  it('25,000 rows with one cursor value, far more than a batch, come once each', async () => {
    await server.exec(
      'create table ties (id int primary key, at datetime, pad text, key (at))',
      "insert into ties select seq, '2024-03-01 10:00:00', repeat('x', seq % 3000) from seq_1_to_25000",
    );
    const lines = [...(await readSource(sourceOf({ query: 'ties' }), {})).values()].flat();
    expect(new Set(idsOf(lines)).size).toBe(25_000);
    expect(lines).toHaveLength(25_000);
  });

  it('values keep their meaning', async () => {
    await server.exec(
      `create table kinds (id int unsigned zerofill, big bigint unsigned, small tinyint, yes bool,
        dec_long decimal(38,10), dec_short decimal(10,2), one float, two double, bits bit(9), flag bit(1), y year,
        at datetime(3), stamp timestamp(6), zero datetime, half date, day date, clock time(2), kind enum('a','b"c'),
        tags set('x','y'), utf varchar(20) character set utf8mb4, lat varchar(20) character set latin1,
        bin varbinary(4), data blob, doc json, point point, none varchar(1))`,
      `insert into kinds values (42, 18446744073709551615, -5, true, 1234567890123456789012345678.0123456789, 12.5,
        0.1, 0.1, b'100000001', b'1', 2024, '2024-03-01 10:00:00.5', '2024-03-01 10:00:00.123456', '0000-00-00',
        '2024-00-00', '2024-03-01', '-26:00:00.25', 'b"c', 'x,y', 'ü😀\\n"', 'é€', x'00ff', x'fffe00',
        '{"a": [1, "x\\\\ny"],\\n "b": 12345678901234567890}', st_geomfromtext('POINT(1 2)'), null)`,
    );
    const [line = ''] = [...(await readSource(sourceOf({ query: 'kinds', cursor_column: 'id' }), {})).values()].flat();
    expect(line).toContain('12345678901234567890}');
    expect(JSON.parse(line)).toEqual({
      id: 42,
      big: '18446744073709551615',
      small: -5,
      yes: 1,
      dec_long: '1234567890123456789012345678.0123456789',
      dec_short: 12.5,
      one: 0.1,
      two: 0.1,
      bits: 257,
      flag: 1,
      y: 2024,
      at: '2024-03-01T10:00:00.500',
      stamp: '2024-03-01T10:00:00.123456Z',
      zero: '0000-00-00 00:00:00',
      half: '2024-00-00',
      day: '2024-03-01',
      clock: '-26:00:00.25',
      kind: 'b"c',
      tags: 'x,y',
      utf: 'ü😀\n"',
      lat: 'é€',
      bin: 'AP8=',
      data: '//4A',
      doc: { a: [1, 'x\ny'], b: 12345678901234567000 },
      point: { type: 'Point', coordinates: [1, 2] },
      none: null,
    });
  });

  it('single and double precision keep every digit', async () => {
    const values = Array.from({ length: 400 }, (_, n) => Math.fround(Math.sin(n) * 10 ** ((n % 60) - 30)));
    await server.exec('create table floats (n int primary key, one float, two double)');
    for (const [n, value] of values.entries()) {
      await server.exec(`insert into floats values (${n}, ${value}, ${Math.sin(n) / 3})`);
    }
    const lines = [...(await readSource(sourceOf({ query: 'floats', cursor_column: 'n' }), {})).values()].flat();
    const rows = lines.map((line) => parseExactValues(line) as { n: number; one: number; two: number });
    expect(rows.map(({ one }) => Math.fround(Number(one)))).toEqual(values);
    expect(rows.map(({ two }) => Number(two))).toEqual(values.map((_, n) => Math.sin(n) / 3));
  });
});

describe.skipIf(program === undefined)(`a run that reads MySQL as of one moment${reason}`, () => {
  it('does not see what is written after its start, and part and checksum stay the same', async () => {
    await server.exec(
      'create table log (id int primary key, at datetime, key (at))',
      "insert into log select seq, '2024-03-01' + interval seq minute from seq_1_to_3000",
    );
    const source = sourceOf({ query: 'log' });
    const [part] = await source.listParts({}, held);
    if (part === undefined) throw new Error('expected a part');
    await server.exec("insert into log values (9000, '2024-03-01 00:00:30')");
    const read = await readHeld(source, part);
    expect(read.lines).toBe(1439);
    expect(await source.checksumNow?.(part, held)).toBe(read.checksum);
    expect((await source.listParts({}, held)).map(({ identity }) => identity)).toEqual(Array(3).fill(part.identity));
    await source.release?.();
    expect(await source.checksumNow?.(part, held)).not.toBe(read.checksum);
    await source.release?.();
  });

  it('a trial that stops within a part keeps the transaction: the next part is of the same moment', async () => {
    await server.exec(
      'create table wide (id int primary key, at datetime, pad text, key (at))',
      "insert into wide select seq, '2024-03-01' + interval (seq div 20000) day, repeat('y', 500) from seq_0_to_39999",
    );
    const source = sourceOf({ query: 'wide' });
    const [first, second] = await source.listParts({}, held);
    if (first === undefined || second === undefined) throw new Error('expected two parts');
    for await (const chunk of source.open(first, held)) {
      expect(chunk.count).toBeLessThan(20_000);
      break;
    }
    await server.exec('delete from wide where id >= 20000');
    expect((await readHeld(source, second)).lines).toBe(20_000);
    expect((await source.listParts({}, held))[0]?.identity).toBe(first.identity);
    await source.release?.();
  });

  it('a server killed in the middle is waited for, the part restarts, and parts that were read are compared', async () => {
    await server.exec(
      'create table crash (id int primary key, at datetime, pad text, key (at))',
      "insert into crash select seq, '2024-03-01' + interval (seq div 20000) day, repeat('z', 500) from seq_0_to_39999",
    );
    const source = sourceOf({ query: 'crash' });
    const [first, second] = await source.listParts({}, held);
    if (first === undefined || second === undefined) throw new Error('expected two parts');
    const before = await readHeld(source, first);
    const broken = async (): Promise<void> => {
      let crashed = false;
      for await (const _chunk of source.open(second, held)) {
        if (!crashed) await server.crash();
        crashed = true;
      }
    };
    await expect(broken()).rejects.toMatchObject({ name: 'SourceWaitError', unlimited: true });
    const listed = await source.listParts({}, held);
    expect(listed[0]?.identity).not.toBe(first.identity);
    expect(await source.checksumNow?.(listed[0] ?? first, held)).toBe(before.checksum);
    expect((await readHeld(source, listed[1] ?? second)).lines).toBe(20_000);
    await source.release?.();
  });
});

describe.skipIf(program === undefined)(`failures of MySQL${reason}`, () => {
  it('a host and port that an operator permits are reached, another port is rejected with the setting that permits it', async () => {
    expect(await sourceOf({}, resolveBy(`127.0.0.1:${server.port}`)).listParts({}, { signal })).toHaveLength(14);
    const refused = sourceOf({}, resolveBy(`127.0.0.1:${server.port + 1}`));
    await expect(refused.listParts({}, { signal })).rejects.toThrow(
      `an operator adds 127.0.0.1:${server.port} to MILLRACE_OUTBOUND_ALLOW`,
    );
  });

  it('nothing is changed, whatever the query and the user', async () => {
    const root = { user: 'root', password: '' };
    await server.exec('create function writes() returns int begin delete from visits; return 1; end');
    const calling = sourceOf({ ...root, query: 'select writes() as at' });
    await expect(readSource(calling, {})).rejects.toThrow(/READ ONLY transaction/);
    const breakingOut = 'select * from visits) as x; commit; delete from visits; select * from (select 1 as at';
    await expect(readSource(sourceOf({ ...root, query: breakingOut }), {})).rejects.toThrow(/error in your SQL syntax/);
    expect(await storedIds()).toHaveLength(243);
  });

  it.each([
    [{ password: 'wrong' }, /MySQL responded: Access denied for user 'reader'.*\(1045\)/],
    [{ database: 'mysql' }, /MySQL responded: Access denied.*\(1044\)/],
    [{ query: 'nope' }, /MySQL responded: SELECT command denied.*|doesn't exist/],
    [
      { cursor_column: 'nope' },
      /expected the cursor column "nope" in the query, which has the columns id, at, stamp, day, name/,
    ],
    [{ query: 'select at, name as x, id as x from visits' }, /Duplicate column name 'x'/],
    [{ tls: 'verify' }, /no safe connection to MySQL: .*self.signed certificate.*; see the setting "tls"/],
  ])('%j ends the run with the reason', async (settings, message) => {
    const reading = readSource(sourceOf(settings), {});
    await expect(reading).rejects.toThrow(SourceError);
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.not.toThrow(mariadbPassword);
  });

  it('the connection can be encrypted without checking the certificate', async () => {
    expect((await readSource(sourceOf({ tls: 'no verify' }), {})).size).toBe(14);
  });

  it('a missing server is retried', async () => {
    await expect(readSource(sourceOf({ port: '1' }), {})).rejects.toThrow(SourceWaitError);
  });

  it('a range needs a cursor that is a time', async () => {
    const read = readSource(sourceOf({ cursor_column: 'id' }), { from: '2024-03-01T00:00:00.000Z' });
    await expect(read).rejects.toThrow(/"id" is a whole number; put the limits in the query/);
  });

  it('an aborted signal ends the read with its reason', async () => {
    const controller = new AbortController();
    const source = sourceOf({ query: 'ties', cursor_column: 'pad' });
    const [part] = await source.listParts({}, { signal: controller.signal });
    if (part === undefined) throw new Error('expected a part');
    const read = async (): Promise<void> => {
      for await (const _chunk of source.open(part, { signal: controller.signal }))
        controller.abort(new Error('paused'));
    };
    await expect(read()).rejects.toThrow('paused');
    expect((await readPart(source, part)).length).toBe(25_000);
  });
});
