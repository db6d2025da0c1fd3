import { appendFile, mkdir, mkdtemp, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeZip } from '../../../test/support/archives.ts';
import { testBucketServer } from '../../../test/support/bucket-server.ts';
import { exportStage, exportTest, numbered, type ExportTest } from '../../../test/support/export-stage.ts';
import { startPostgresServer, type PostgresServer } from '../../../test/support/postgres-source.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import { RunFailedError } from '../run/leased-run.ts';
import type { Source } from '../source.ts';
import { files } from './files.ts';
import { postgres } from './postgres.ts';
import { s3 } from './s3.ts';
import { testSourceHost } from './source-host.fixture.ts';
import { urls } from './urls.ts';

let dir = '';
let file = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-changing-'));
  await mkdir(join(dir, 'data'));
  file = join(dir, 'data', 'a.jsonl');
  await writeFile(file, textOf(numbered(250)));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function filesIn(path: string): Source {
  return files.createSource({ paths: path }, testSourceHost({ tempDir: dir }));
}

interface Meddled extends Source {
  readonly opened: string[];
}

/** The same source; `act` runs after the first chunk of each opened part, `times` times. */
function meddled(source: Source, act: (key: string) => Promise<unknown>, times = 1): Meddled {
  const opened: string[] = [];
  let left = times;
  return {
    ...source,
    opened,
    async *open(part, context) {
      opened.push(part.key);
      for await (const chunk of source.open(part, context)) {
        yield chunk;
        if (left-- > 0) await act(part.key);
      }
    },
  };
}

interface Told {
  readonly staged: Record<string, string[]>;
  /** The reasons that the run gave for waiting or repeating. */
  readonly reasons: string[];
}

async function exported(test: ExportTest, source: Source): Promise<Told> {
  const reasons: string[] = [];
  const leased = await test.hold();
  const waiting: typeof leased.waiting = (wait) => void (wait && reasons.push(wait.reason));
  await exportStage(test.staging, source)({ ...leased, waiting });
  return { staged: await test.staged(), reasons };
}

/** By name without the directory. */
function named(staged: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(staged).map(([key, lines]) => [key.replace(`${dir}/data/`, ''), lines]));
}

describe('a file that changes while it is read never ends as exact with records missing', () => {
  const more = numbered(100, 'm');
  const other = numbered(250).map((line) => line.replace('n', 'o'));
  const cases: [how: string, act: () => Promise<unknown>, lines: readonly string[], said: RegExp][] = [
    [
      'grows',
      () => appendFile(file, textOf(more)),
      [...numbered(250), ...more],
      /a\.jsonl grew from \d+ to \d+ bytes while/,
    ],
    [
      'is truncated',
      () => truncate(file, textOf(numbered(20)).length),
      numbered(20),
      /a\.jsonl shrank from \d+ to \d+ bytes while/,
    ],
    ['is overwritten in place', () => writeFile(file, textOf(other)), other, /a\.jsonl was overwritten while/],
    [
      'is overwritten, its time set back',
      async () => {
        const { atime, mtime } = await stat(file);
        await writeFile(file, textOf(other));
        await utimes(file, atime, mtime);
      },
      other,
      /a\.jsonl was overwritten while/,
    ],
    [
      'is replaced by another',
      async () => {
        await writeFile(join(dir, 'new'), textOf(other));
        await rename(join(dir, 'new'), file);
      },
      other,
      /a\.jsonl was overwritten while/,
    ],
  ];
  it.each(cases)('%s', async (_how, act, lines, said) => {
    await using test = await exportTest();
    const source = meddled(filesIn(file), act);
    const { staged, reasons } = await exported(test, source);
    expect(staged).toEqual({ [file]: lines });
    expect(source.opened).toHaveLength(2);
    expect(reasons).toContainEqual(expect.stringMatching(said));
    expect((await test.record()).totals.records).toBe(lines.length);
  });

  it('a source that keeps changing ends the run after three more attempts, with the cause and advice', async () => {
    await using test = await exportTest();
    const grows = meddled(filesIn(file), () => appendFile(file, textOf(more)), 1000);
    const run = test.run(grows);
    await expect(run).rejects.toThrow(RunFailedError);
    await expect(run).rejects.toThrow(/a\.jsonl grew from \d+ to \d+ bytes, repeatedly: wait until/);
    expect(grows.opened).toHaveLength(4);
    expect((await (await test.hold()).parts()).some(({ complete }) => complete)).toBe(true);
  });

  it('a file that grows between two listings is reported before anything is read', async () => {
    await using test = await exportTest();
    const source = meddled(filesIn(file), async () => undefined);
    // The second check follows immediately after the pause.
    const sleep = async (): Promise<void> => appendFile(file, '{}\n');
    const run = test.run(source, { sleep });
    await expect(run).rejects.toThrow(RunFailedError);
    await expect(run).rejects.toThrow(/a\.jsonl is still being written: it went from \d+ to \d+ bytes just now/);
    expect(source.opened).toEqual([]);
  });

  it('a file that was only touched is not read again', async () => {
    await using test = await exportTest();
    const source = meddled(filesIn(file), () => utimes(file, 1, 1));
    expect((await exported(test, source)).staged).toEqual({ [file]: numbered(250) });
    expect(source.opened).toHaveLength(1);
    const [listed] = await filesIn(file).listParts({}, { signal: new AbortController().signal });
    expect((await (await test.hold()).parts())[0]?.identity).toBe(listed?.identity);
  });

  it('an archive is read again; one that was only touched before a resume is not', async () => {
    await using test = await exportTest();
    const zip = join(dir, 'data', 'a.zip');
    const content = (lines: readonly string[]): Buffer => makeZip([{ path: 'a.jsonl', content: textOf(lines) }]);
    await writeFile(zip, content(numbered(50_000)));
    const changed = await exported(
      test,
      meddled(filesIn(zip), () => writeFile(zip, content(other))),
    );
    expect(changed.staged).toEqual({ [zip]: other });
    await utimes(zip, 1, 1);
    const again = meddled(filesIn(zip), async () => undefined);
    expect((await exported(test, again)).staged).toEqual({ [zip]: other });
    expect(again.opened).toEqual([]);
  });

  it('a file changed after it was read, before its worker was killed, is read again by the next worker', async () => {
    await using test = await exportTest();
    await writeFile(join(dir, 'data', 'b.jsonl'), textOf(numbered(250, 'b')));
    let segments = 0;
    const failpoint = (name: string): void => {
      if (name === 'import_segment_committed' && ++segments === 5) throw new Error('killed');
    };
    const source = { ...filesIn(join(dir, 'data')), concurrency: 1 };
    await expect(test.run(source, { failpoint })).rejects.toThrow('killed');
    await writeFile(file, textOf(other));
    const { staged } = await exported(test, filesIn(join(dir, 'data')));
    expect(named(staged)).toEqual({ 'a.jsonl': other, 'b.jsonl': numbered(250, 'b') });
  });
});

describe('a directory that changes while it is read', () => {
  it('its new files are read, too', async () => {
    await using test = await exportTest();
    const added = join(dir, 'data', 'b.jsonl');
    const source = meddled(filesIn(join(dir, 'data')), () => writeFile(added, textOf(['{"b":1}'])));
    const { staged, reasons } = await exported(test, source);
    expect(named(staged)).toEqual({ 'a.jsonl': numbered(250), 'b.jsonl': ['{"b":1}'] });
    expect(reasons).toContainEqual(expect.stringMatching(/b\.jsonl is new while the source was read/));
  });

  it('a file renamed after it was read is not read twice', async () => {
    await using test = await exportTest();
    const b = join(dir, 'data', 'b.jsonl');
    await writeFile(b, textOf(numbered(250, 'b')));
    const source = meddled(
      { ...filesIn(join(dir, 'data')), concurrency: 1 },
      async (key) => {
        if (key === b) await rename(file, join(dir, 'data', 'c.jsonl'));
      },
      2,
    );
    const { staged } = await exported(test, source);
    expect(Object.values(staged)).toEqual([numbered(250), numbered(250, 'b')]);
  });

  it('a directory that keeps getting files ends the run', async () => {
    await using test = await exportTest();
    let files = 0;
    const source = meddled(
      filesIn(join(dir, 'data')),
      () => writeFile(join(dir, 'data', `more-${files++}.jsonl`), '{}\n'),
      1000,
    );
    await expect(test.run(source)).rejects.toThrow(/more-\d+\.jsonl is new.*repeatedly/);
  });
});

describe('a bucket that changes while it is read', () => {
  it('overwritten objects are read again, and added ones are read', async () => {
    await using test = await exportTest();
    await using server = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKIDEXAMPLE' });
    for (const key of ['a', 'b', 'c']) server.objects.set(key, Buffer.from(textOf(numbered(50, key))));
    const keys = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' };
    const settings = { bucket: 'exports', endpoint: server.endpoint, ...keys };
    const source = { ...s3.createSource(settings, testSourceHost({ tempDir: dir })), concurrency: 1 };
    const { staged } = await exported(
      test,
      meddled(source, async () => {
        // One that was read, one that is listed and was not, and a new one.
        server.objects.set('a', Buffer.from(textOf(numbered(60, 'a2'))));
        server.objects.set('c', Buffer.from(textOf(numbered(60, 'c2'))));
        server.objects.set('d', Buffer.from(textOf(numbered(60, 'd'))));
      }),
    );
    const expected = { a: numbered(60, 'a2'), b: numbered(50, 'b'), c: numbered(60, 'c2'), d: numbered(60, 'd') };
    expect(staged).toEqual(expected);
  });
});

describe('a web address that changes while it is read', () => {
  it.each([
    ['ETag', () => ({ etag: `"${version}"` })],
    ['Last-Modified', () => ({ 'last-modified': new Date(version * 1000).toUTCString() })],
    ['length', () => ({})],
  ])('is read again: detected by %s', async (_by, headers) => {
    version = 1;
    const server = createServer((request, response) => {
      const content = textOf(numbered(40 + version, `v${version}`));
      response.writeHead(200, { ...headers(), 'content-length': content.length });
      response.end(request.method === 'HEAD' ? '' : content);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // Sound: a server that listens on a port has an AddressInfo.
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
    try {
      await using test = await exportTest();
      const source = meddled(urls.createSource({ urls: url }, testSourceHost({ tempDir: dir })), async () => {
        version = 2;
      });
      expect((await exported(test, source)).staged).toEqual({ [url]: numbered(42, 'v2') });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
let version = 1;

describe('rows that change while they are read', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(async () => {
    await server.db.exec(`
      drop table if exists visits;
      create table visits (id bigint primary key, at timestamptz, name text);
      insert into visits select n, timestamptz '2024-03-01T00:00:00Z' + n * interval '1 hour', 'v' || n
        from generate_series(0, 71) as n;
    `);
  });

  const rowsOf = (): Source =>
    postgres.createSource(
      withDefaults(postgres.fields, {
        host: '127.0.0.1',
        port: String(server.port),
        database: 'postgres',
        user: 'postgres',
        password: 'secret',
        tls: 'off',
        query: 'select * from visits',
        cursor_column: 'at',
      }),
      testSourceHost(),
    );
  const names = (staged: Record<string, string[]>): string[] =>
    Object.values(staged).flatMap((lines) => lines.map((line) => (JSON.parse(line) as { name: string }).name));

  it('all parts are read in one snapshot, and the session ends with the export', async () => {
    await using test = await exportTest();
    const source = rowsOf();
    const { staged } = await exported(test, source);
    expect(names(staged)).toHaveLength(72);
    const identities = (await (await test.hold()).parts()).map(({ identity }) => identity);
    expect([new Set(identities).size, identities[0]]).toEqual([1, expect.stringMatching(/^snapshot \d+:\d+:/)]);
    // One session at a time: it would wait for ever.
    expect(names((await exported(test, rowsOf())).staged)).toHaveLength(72);
  });

  it('after a change between two workers, only the changed parts are read again', async () => {
    await using test = await exportTest();
    const first = meddled(rowsOf(), async () => undefined);
    let segments = 0;
    const failpoint = (name: string): void => {
      if (name === 'import_segment_committed' && ++segments === 3) throw new Error('killed');
    };
    await expect(test.run(first, { failpoint })).rejects.toThrow('killed');
    await server.db.exec(`
      update visits set name = 'changed' where id = 1;
      insert into visits values (100, '2024-03-01T00:30:00Z', 'late');
    `);
    const second = meddled(rowsOf(), async () => undefined);
    const { staged } = await exported(test, second);
    expect(second.opened).toEqual(['2024-03-01', '2024-03-03']);
    expect(names(staged).toSorted()).toEqual(
      ['changed', 'late', ...Array.from({ length: 72 }, (_, n) => `v${n}`).filter((name) => name !== 'v1')].toSorted(),
    );
  });
});
