import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source, SourceHost } from '../source.ts';
import { readSource, testSourceHost } from './source-host.fixture.ts';
import { sqlite } from './sqlite.ts';

let dir = '';
let path = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-sqlite-'));
  path = join(dir, 'shop.db');
  using database = new DatabaseSync(path);
  database.exec('create table events (id integer primary key, name text, at text, amount)');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function open(query: string, settings: { readonly path?: string } = {}, host: Partial<SourceHost> = {}): Source {
  return sqlite.createSource({ path, query, ...settings }, testSourceHost(host));
}

async function linesOf(source: Source): Promise<string[]> {
  return [...(await readSource(source, {})).values()].flat();
}

async function failure(source: Source): Promise<unknown> {
  return await linesOf(source).catch((error: unknown) => error);
}

describe('rows of an SQLite file', () => {
  it('are read in the order of the query, with every digit and byte unchanged', async () => {
    using database = new DatabaseSync(path);
    database.exec(`
      insert into events values (1, 'a "b" ü😀', '2024-05-01', 12.5), (2, null, 'x
y', 9223372036854775807), (3, 'c', '', x'00ff'), (4, 'd', '', 9e999), (5, 'e', '', -0.1)`);
    const lines = await linesOf(open('select * from events order by id desc; '));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { id: 5, name: 'e', at: '', amount: -0.1 },
      { id: 4, name: 'd', at: '', amount: 'Infinity' },
      { id: 3, name: 'c', at: '', amount: 'AP8=' },
      { id: 2, name: null, at: 'x\ny', amount: '9223372036854775807' },
      { id: 1, name: 'a "b" ü😀', at: '2024-05-01', amount: 12.5 },
    ]);
  });

  it('of a long result are read in chunks, without blocking other work', async () => {
    const query = `with recursive n(id) as (select 1 union all select id + 1 from n where id < 60000)
      select id, printf('%0100d', id) as text from n`;
    const source = open(query);
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    if (part === undefined) throw new Error('expected a part');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const counts: number[] = [];
    for await (const { count } of source.open(part, { signal: new AbortController().signal })) counts.push(count);
    clearInterval(timer);
    expect(counts.length).toBeGreaterThan(5);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60_000);
    expect(turns).toBeGreaterThan(5);
  });

  it('a query without an end stops with the signal', async () => {
    const source = open(
      'with recursive n(id) as (select 1 union all select id + 1 from n) select count(*) from n limit 1',
    );
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    const controller = new AbortController();
    const reading = Array.fromAsync(source.open(part ?? { key: '', stable: false }, { signal: controller.signal }));
    setTimeout(() => controller.abort(new Error('paused')), 100);
    await expect(reading).rejects.toThrow('paused');
  });

  it('a query that needs more memory than its process may use ends with that message', async () => {
    const source = open(
      'select hex(zeroblob(90000000)) as a, hex(zeroblob(90000000)) as b, hex(zeroblob(90000000)) as c, hex(zeroblob(90000000)) as d',
    );
    const refused = await failure(source);
    expect(refused).toMatchObject({ name: 'SourceError', message: expect.stringContaining('512 MiB of memory') });
  });

  it('of a database written to meanwhile are those at the start of the query', async () => {
    using database = new DatabaseSync(path);
    database.exec('pragma journal_mode = wal');
    const insert = database.prepare(`insert into events values (?, printf('%02000d', 1), '', 0)`);
    database.exec('begin');
    for (let id = 1; id <= 3000; id += 1) insert.run(id);
    database.exec('commit');
    const source = open('select id, name from events');
    const [part] = await source.listParts({}, { signal: new AbortController().signal });
    let count = 0;
    for await (const chunk of source.open(part ?? { key: '', stable: false }, {
      signal: new AbortController().signal,
    })) {
      if (count === 0) database.exec('delete from events where id > 1000');
      count += chunk.count;
    }
    expect(count).toBe(3000);
    expect(part).toMatchObject({ isSnapshot: true, stable: false });
  });
});

describe('a query of another user', () => {
  it.each([
    `delete from events`,
    `attach 'other.db' as other`,
    `select * from pragma_database_list`,
    `select * from (select 1); drop table events`,
    `select load_extension('x')`,
    `insert into events values (1, 2, 3, 4) returning id`,
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
    await symlink(path, join(uploads, 'link.db'));
    const linked = open('select 1', { path: 'upload:link.db' }, { allowedDirs: [], uploadsDir: uploads });
    expect(await failure(linked)).toMatchObject({ message: expect.stringContaining('is not allowed to be read') });
    await rm(uploads, { recursive: true });
  });
});

describe('faults of a file', () => {
  it('are reported: no database, a wrong name, a missing table, several files', async () => {
    await writeFile(join(dir, 'a.txt'), 'x'.repeat(5000));
    const cases: readonly (readonly [Source, string])[] = [
      [open('select 1', { path: join(dir, 'a.txt') }), 'expected an SQLite database'],
      [open('select 1', { path: join(dir, 'none.db') }), 'found none'],
      [open('select * from orders'), 'no such table: orders'],
      [open('select 1', { path: dir }), 'expected one file'],
    ];
    for (const [source, message] of cases) {
      expect(String(await failure(source))).toContain(message);
    }
  });

  it('a database locked by another program is retried', async () => {
    using database = new DatabaseSync(path);
    database.exec('begin exclusive');
    expect(await failure(open('select * from events'))).toMatchObject({ name: 'SourceWaitError', unlimited: true });
  });
});
