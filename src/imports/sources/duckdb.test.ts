import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportTest } from '../../../test/support/export-stage.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Source, SourceHost } from '../source.ts';
import { duckdb, duckDbPackage } from './duckdb.ts';
import { readPart, readSource, testSourceHost } from './source-host.fixture.ts';

let dir = '';
let path = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-duckdb-'));
  path = join(dir, 'shop.duckdb');
  await write(path, 'create table events as select range as id, $$e$$ || range as name from range(5000)');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function write(file: string, statements: string): Promise<void> {
  const database = await DuckDBInstance.create(file);
  const connection = await database.connect();
  await connection.run(statements);
  connection.closeSync();
  database.closeSync();
}

function open(query: string, settings: { readonly path?: string } = {}, host: Partial<SourceHost> = {}): Source {
  return duckdb.createSource({ path, query, ...settings }, testSourceHost({ tempDir: dir, ...host }));
}

async function linesOf(source: Source): Promise<string[]> {
  return [...(await readSource(source, {})).values()].flat();
}

async function failure(source: Source): Promise<unknown> {
  return await linesOf(source).catch((error: unknown) => error);
}

const values = `select 170141183460469231731687303715884105727::hugeint as huge, 42::hugeint as small,
  9007199254740993::bigint as big, 18446744073709551615::ubigint as unsigned, 12.50::decimal(10, 2) as price,
  12345678901234567890.123456789::decimal(38, 9) as exact, -0.05::decimal(4, 2) as cents, 0.1::float as float,
  0.1::double as double, -0.0::double as zero, 'nan'::double as nan, '-infinity'::float as low,
  timestamp_ns '2024-05-01 10:00:00.123456789' as ns, timestamp '2024-05-01 10:00:00.123456' as us,
  timestamp_s '2024-05-01 10:00:00' as s, timestamptz '2024-05-01 12:00:00+02' as tz, 'infinity'::timestamp as never,
  date '2024-05-01' as day, time '10:00:01.5' as clock, interval 90 minute as long, true as yes, null as none,
  'ü😀"' || chr(10) as text, '\\x00\\xFF'::blob as bytes, [1::hugeint, 9007199254740993] as list,
  {'a': 0.1::float, 'b': {'c': [1.5::decimal(3, 1)]}} as struct, map {'k': 9007199254740993, 'l': 1} as map,
  '{"n": 1234567890123456789012.50,
    "m": [1]}'::json as json, uuid '00112233-4455-6677-8899-aabbccddeeff' as id, 'b'::enum('a', 'b') as enum,
  union_value(num := 7) as either, '1010'::bit as bits`;

describe('rows of a DuckDB file', () => {
  it('keep their values, to the last digit', async () => {
    const [line = ''] = await linesOf(open(values));
    expect(line).toContain('"json":{"n": 1234567890123456789012.50,');
    expect(line).toContain('"price":12.50');
    expect(line).toContain('"zero":-0.0');
    expect(JSON.parse(line)).toEqual({
      huge: '170141183460469231731687303715884105727',
      small: 42,
      big: '9007199254740993',
      unsigned: '18446744073709551615',
      price: 12.5,
      exact: '12345678901234567890.123456789',
      cents: -0.05,
      float: 0.1,
      double: 0.1,
      zero: -0,
      nan: 'NaN',
      low: '-Infinity',
      ns: '2024-05-01T10:00:00.123456789Z',
      us: '2024-05-01T10:00:00.123456Z',
      s: '2024-05-01T10:00:00Z',
      tz: '2024-05-01T10:00:00Z',
      never: 'infinity',
      day: '2024-05-01',
      clock: '10:00:01.5',
      long: '01:30:00',
      yes: true,
      none: null,
      text: 'ü😀"\n',
      bytes: 'AP8=',
      list: [1, '9007199254740993'],
      struct: { a: 0.1, b: { c: [1.5] } },
      map: { k: '9007199254740993', l: 1 },
      json: { n: expect.any(Number), m: [1] },
      id: '00112233-4455-6677-8899-aabbccddeeff',
      enum: 'b',
      either: 7,
      bits: '1010',
    });
  });

  it('are read in the order of the query, in chunks', async () => {
    const source = open("select id, repeat('x', 1000) as text from events order by id desc;");
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    if (part === undefined) throw new Error('expected a part');
    const counts: number[] = [];
    for await (const { count } of source.open(part, { signal: new AbortController().signal })) counts.push(count);
    expect(counts.length).toBeGreaterThan(3);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5000);
    const lines = await linesOf(open('select id from events order by id desc limit 3'));
    expect(lines).toEqual(['{"id":4999}', '{"id":4998}', '{"id":4997}']);
  });

  it('a query without an end stops with the signal', async () => {
    const source = open('select count(*) from range(1000000000000) a where a.range % 7 = 8');
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    const controller = new AbortController();
    const reading = readPart(source, part ?? { key: '', stable: false }, controller.signal);
    setTimeout(() => controller.abort(new Error('paused')), 300);
    await expect(reading).rejects.toThrow('paused');
  });
});

describe('an export of a DuckDB file', () => {
  const numbers = (from: number): string[] => Array.from({ length: 300 }, (_, index) => `{"n":${from + index}}`);

  it('interrupted by a kill restarts its query, and each row is staged once', async () => {
    await using test = await exportTest();
    const own = join(dir, 'killed.duckdb');
    await write(own, 'create table t as select range as n from range(300)');
    let segments = 0;
    const failpoint = (name: string): void => {
      if (name === 'import_segment_committed' && ++segments === 2) throw new Error('killed');
    };
    const source = (): Source => open('select n from t order by n', { path: own });
    await expect(test.run(source(), { failpoint })).rejects.toThrow('killed');
    await test.run(source());
    expect(await test.staged()).toEqual({ [own]: numbers(0) });
  });

  it('reads the new file if the file is replaced while it is read', async () => {
    await using test = await exportTest();
    const own = join(dir, 'replaced.duckdb');
    const other = join(dir, 'other.duckdb');
    await write(own, 'create table t as select range as n from range(300)');
    await write(other, 'create table t as select range + 1000 as n from range(300)');
    const source = open('select n from t order by n', { path: own });
    const meddled: Source = {
      ...source,
      async *open(part, context) {
        for await (const chunk of source.open(part, context)) {
          yield chunk;
          if (existsSync(other)) await rename(other, own);
        }
      },
    };
    await test.run(meddled);
    expect(await test.staged()).toEqual({ [own]: numbers(1000) });
  });
});

describe('a query of another user', () => {
  it.each([
    `delete from events`,
    `attach 'other.duckdb' as other`,
    `select * from read_csv('/etc/passwd')`,
    `select * from read_text('/etc/hostname')`,
    `copy events to 'never-written.csv'`,
    `set threads = 1`,
    `install httpfs`,
    `select 1; drop table events`,
    `create temp table other as select 1`,
    `select id, id from events`,
  ])('%s is rejected and changes nothing', async (query) => {
    const before = await readFile(path);
    expect(await failure(open(query))).toMatchObject({ name: 'SourceError' });
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it('reads only files that the service may read', async () => {
    const refused = await failure(open('select 1', {}, { allowedDirs: [join(dir, 'other')] }));
    expect(refused).toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining('is not allowed to be read'),
    });
    const uploads = await mkdtemp(join(tmpdir(), 'millrace-uploads-'));
    await symlink(path, join(uploads, 'link.duckdb'));
    const linked = open('select 1', { path: 'upload:link.duckdb' }, { allowedDirs: [], uploadsDir: uploads });
    expect(await failure(linked)).toMatchObject({ message: expect.stringContaining('is not allowed to be read') });
    await rm(uploads, { recursive: true });
  });
});

describe('faults of a file', () => {
  it('are reported: no database, a wrong name, a missing table', async () => {
    await writeFile(join(dir, 'a.txt'), 'x'.repeat(5000));
    const cases: readonly (readonly [Source, string])[] = [
      [open('select 1', { path: join(dir, 'a.txt') }), 'expected a DuckDB database'],
      [open('select 1', { path: join(dir, 'none.duckdb') }), 'found none'],
      [open('select * from orders'), 'Table with name orders does not exist'],
    ];
    for (const [source, message] of cases) expect(String(await failure(source))).toContain(message);
  });

  it('a file that another process has open for writing is retried later', async () => {
    const own = join(dir, 'busy.duckdb');
    const writing = `import { DuckDBInstance } from '@duckdb/node-api';
      const connection = await (await DuckDBInstance.create(process.argv[1])).connect();
      await connection.run('create table t as select 1 as a; checkpoint');
      console.log('open');
      setInterval(() => connection, 1000);`;
    // The lock is that of a process.
    const writer = spawn(process.execPath, ['--input-type=module', '-e', writing, own], {
      stdio: ['ignore', 'pipe', 2],
    });
    if (writer.stdout === null) throw new Error('expected a pipe');
    await once(writer.stdout, 'data');
    const error = await failure(open('select * from t', { path: own }));
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    expect(error).toMatchObject({ name: 'SourceWaitError', message: expect.stringContaining('must close it') });
    expect(await linesOf(open('select * from t', { path: own }))).toEqual(['{"a":1}']);
  });

  it('a file changed since it was listed is not taken for the listed one', async () => {
    const own = join(dir, 'changing.duckdb');
    await write(own, 'create table t as select 1 as a');
    const source = open('select * from t', { path: own });
    const signal = new AbortController().signal;
    const [before] = await source.listParts({}, { signal });
    await write(own, 'insert into t values (2)');
    await expect(readPart(source, before ?? { key: '', stable: false })).rejects.toMatchObject({
      name: 'SourceChangedError',
    });
    const [after] = await source.listParts({}, { signal });
    expect(after?.identity).not.toBe(before?.identity);
  });
});

it('a missing package is reported', async () => {
  const alone = join(dir, 'src/imports/sources');
  await mkdir(alone, { recursive: true });
  await mkdir(join(dir, 'src/base'));
  const base = ['../../base/end-with-parent.ts', '../../base/parent-thread.ts'];
  for (const file of ['duckdb-process.ts', ...base]) {
    await copyFile(fileURLToPath(new URL(file, import.meta.url)), join(alone, file));
  }
  const read = JSON.stringify({ path, query: 'select 1', tempDir: '' });
  const child = fork(join(alone, 'duckdb-process.ts'), [read], { execArgv: [], stdio: 'ignore', env: {} });
  const answered = once(child, 'message');
  child.send('next');
  expect(await answered).toEqual([{ kind: 'absent' }, undefined]);
  child.kill('SIGKILL');
});

it('the package named in the message is the version that the tests use', () => {
  expect(`@duckdb/node-api@${packageJson.devDependencies['@duckdb/node-api']}`).toBe(duckDbPackage);
});
