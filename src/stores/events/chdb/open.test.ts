import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { importedCounts } from '../import-reads.ts';
import { StoreUnavailableError } from '../eventstore.ts';
import { getEvent } from '../reads.ts';
import { countRows, insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import { alive, tempChdb, until, type TempChdb } from '../../../../test/support/chdb.ts';

const opened: TempChdb[] = [];
const removed: string[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((chdb) => chdb.close()));
  for (const dir of removed.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function open(...args: Parameters<typeof tempChdb>): Promise<TempChdb> {
  const chdb = await tempChdb(...args);
  opened.push(chdb);
  return chdb;
}

describe('opening the embedded engine', () => {
  async function tempRoot(): Promise<string> {
    const root = await mkdtemp(join(tmpdir(), 'eventstore-open-'));
    removed.push(root);
    return root;
  }

  it('finds what was stored and removes spool files of a crashed process', async () => {
    const root = await tempRoot();
    const project = newProject();
    const first = await tempChdb({}, root);
    await insertRows(first.store, 'kept', [testRow(project)]);
    await first.close();
    await writeFile(join(root, 'spool', 'old.native'), 'half a row');
    const second = await open({}, root);
    expect(await readdir(second.spoolDir)).toEqual([]);
    await insertRows(second.store, 'kept', [testRow(project)]);
    expect(await countRows(second.store, project)).toEqual({ all: 1, shown: 1 });
  });

  it('has room for sixteen background tasks, so that a delete over many months need not wait for a free one', async () => {
    const { store } = await open();
    const settings = await store.query<{ value: string }>(
      `SELECT value FROM system.server_settings
WHERE name IN ('background_pool_size', 'background_merges_mutations_concurrency_ratio')`,
    );
    const [one, other] = settings.map(({ value }) => Number(value));
    expect(Number(one) * Number(other)).toBeGreaterThanOrEqual(16);
  });

  it('an insert killed between its token and its part is stored when it is retried', async () => {
    const root = await tempRoot();
    const project = newProject();
    const rows = [10_000, 20_000].map((keyDay) => testRow(project, { keyDay }));
    const first = await tempChdb({}, root);
    await insertRows(first.store, 'killed', rows);
    const sql =
      "SELECT path FROM system.parts WHERE table = 'events' AND active ORDER BY min_block_number DESC LIMIT 1";
    const [part] = await first.store.query<{ path: string }>(sql);
    await first.close();
    // The state after the kill: the token is recorded, but the part never got its name.
    await rm(part?.path ?? '', { recursive: true });
    const second = await open({}, root);
    expect(await countRows(second.store, project)).toEqual({ all: 1, shown: 1 });
    await insertRows(second.store, 'killed', rows);
    expect(await countRows(second.store, project)).toEqual({ all: 2, shown: 2 });
  });

  it('a damaged part fails the health check, with its path, until it is removed; other parts stay readable', async () => {
    const root = await tempRoot();
    const project = newProject();
    const first = await tempChdb({}, root);
    await insertRows(first.store, 'good', [testRow(project, { keyDay: 10_000 })]);
    await insertRows(first.store, 'bad', [testRow(project, { keyDay: 20_000 })]);
    const sql = "SELECT path FROM system.parts WHERE table = 'events' AND active AND partition = '202410'";
    const [part] = await first.store.query<{ path: string }>(sql);
    await first.close();
    await truncate(join(part?.path ?? '', 'checksums.txt'), 3);
    const second = await open({}, root);
    const health = await second.store.health();
    expect(health.ok).toBe(false);
    expect(health.detail).toMatch(/damaged parts of the table events \(.*202410_\d/);
    expect(await countRows(second.store, project)).toEqual({ all: 1, shown: 1 });
    const [, path] = /\(([^)]*)\)/.exec(health.detail) ?? [];
    await rm(path ?? '', { recursive: true });
    expect(await second.store.health()).toEqual({ ok: true, detail: '' });
  });

  it('migrates a store of the first schema: its events get the uuid filter and are found by their uuid', async () => {
    const root = await tempRoot();
    const project = newProject();
    const row = testRow(project);
    const first = await tempChdb({}, root);
    await first.close();
    const { Session } = await import('chdb');
    const session = new Session(join(root, 'events'));
    await session.queryAsync('ALTER TABLE millrace.events DROP INDEX uuid_filter SETTINGS mutations_sync = 1');
    await session.queryAsync(
      'ALTER TABLE millrace.schema_version DELETE WHERE version > 1 SETTINGS mutations_sync = 1',
    );
    await session.queryAsync(`INSERT INTO millrace.events (project_id, day, event, uuid, distinct_id, timestamp, properties,
  historical_migration, received_at) SELECT ${project}, toDate32('2024-01-01'), 'old', '${row.uuid}', 'a', now64(6), '{}', false, now64(6)`);
    session.close();
    const { store } = await open({}, root);
    const filled = async (): Promise<boolean> => {
      const [index] = await store.query<{ bytes: string }>(
        "SELECT data_compressed_bytes AS bytes FROM system.data_skipping_indices WHERE name = 'uuid_filter'",
      );
      return Number(index?.bytes ?? 0) > 0;
    };
    await until(filled, 'the filter of the old event');
    expect(await getEvent(store, project, row.uuid)).toMatchObject({ event: 'old' });
    expect(await getEvent(store, project, testRow(project).uuid)).toBeUndefined();
  });

  it(
    'too many parts without merges are a fault of the store, not of the data; each insert is stored once afterwards',
    { timeout: 120_000 },
    async () => {
      const root = await tempRoot();
      const project = newProject();
      await (await tempChdb({}, root)).close();
      const { Session } = await import('chdb');
      const alter = async (change: string): Promise<void> => {
        const session = new Session(join(root, 'events'));
        await session.queryAsync(`ALTER TABLE millrace.events ${change}`);
        session.close();
      };
      // No part is small enough to be merged.
      await alter('MODIFY SETTING parts_to_throw_insert = 3, max_bytes_to_merge_at_max_space_in_pool = 1');
      const piled = await tempChdb({}, root);
      const rows = Array.from({ length: 8 }, () => testRow(project));
      const inserted = rows.map((row, n) => ({ row, token: `piled-${n}` }));
      const refused: typeof inserted = [];
      for (const each of inserted) {
        await insertRows(piled.store, each.token, [each.row]).catch((error: unknown) => {
          if (!(error instanceof StoreUnavailableError)) throw error;
          refused.push(each);
        });
      }
      expect(refused.length).toBeGreaterThan(0);
      expect(await countRows(piled.store, project)).toMatchObject({ shown: rows.length - refused.length });
      await piled.close();
      await alter('RESET SETTING parts_to_throw_insert, max_bytes_to_merge_at_max_space_in_pool');
      const { store } = await open({}, root);
      for (const { token, row } of inserted) await insertRows(store, token, [row]);
      expect(await countRows(store, project)).toMatchObject({ shown: rows.length });
    },
  );

  it('migrates a store without the column for runs: the events of a run are counted and undone', async () => {
    const root = await tempRoot();
    const project = newProject();
    const first = await tempChdb({}, root);
    await first.close();
    const { Session } = await import('chdb');
    const session = new Session(join(root, 'events'));
    await session.queryAsync('ALTER TABLE millrace.events DROP COLUMN import_run SETTINGS mutations_sync = 1');
    await session.queryAsync(
      'ALTER TABLE millrace.schema_version DELETE WHERE version > 2 SETTINGS mutations_sync = 1',
    );
    const stored = (uuid: string, properties: string): string =>
      `(${project}, toDate32('2024-01-01'), 'old', '${uuid}', 'a', '2024-01-01 00:00:00', '${properties}', true, now64(6))`;
    await session.queryAsync(`INSERT INTO millrace.events (project_id, day, event, uuid, distinct_id, timestamp, properties,
  historical_migration, received_at) VALUES
  ${stored(testRow(project).uuid, '{"a":1,"$import_run_id":"run-1"}')}, ${stored(testRow(project).uuid, '{"a":1}')}`);
    session.close();
    const { store } = await open({}, root);
    await insertRows(store, `later-${project}`, [
      testRow(project, { keyDay: 19_723, event: 'old', properties: '{"a":2,"$import_run_id":"run-1"}' }),
    ]);
    const ofRun = { run: 'run-1', from: '2024-01-01', to: '2024-01-01' };
    expect(await importedCounts(store, project, ofRun, 'crc32')).toMatchObject([{ event: 'old', count: 2 }]);
    await store.deleteRun({ projectId: project, runId: 'run-1', from: '2024-01-01', to: '2024-01-01' });
    expect(await importedCounts(store, project, ofRun, 'crc32')).toEqual([]);
    expect(await countRows(store, project)).toEqual({ all: 1, shown: 1 });
  });

  it('refuses the schema of a newer program with a message', async () => {
    const root = await tempRoot();
    const first = await tempChdb({}, root);
    await first.close();
    const { Session } = await import('chdb');
    const session = new Session(join(root, 'events'));
    await session.queryAsync("INSERT INTO millrace.schema_version (version, name) SELECT 99, 'later'");
    session.close();
    await expect(tempChdb({}, root)).rejects.toThrow(/schema version 99, .* Start the newer version/);
  });

  it('refuses a directory that another process has open', async () => {
    const root = await tempRoot();
    await open({}, root);
    const second = tempChdb({ lockWaitMs: 500 }, root);
    await expect(second).rejects.toThrow(/in use by another process; stop that one first/);
  });

  it.each(['we*rd', 'a{b}', 'what?'])(
    'refuses the directory name %s, which the engine would read as a pattern',
    async (name) => {
      const root = join(await tempRoot(), name);
      await expect(tempChdb({}, root)).rejects.toThrow(/without the characters/);
    },
  );

  it.each(["it's", 'back\\slash', 'späce [1] "x"'])('works in a directory named %s', async (name) => {
    const root = join(await tempRoot(), name);
    await mkdir(root);
    const chdb = await open({}, root);
    const project = newProject();
    await insertRows(chdb.store, 'named', [testRow(project)]);
    expect(await countRows(chdb.store, project)).toEqual({ all: 1, shown: 1 });
  });

  it('the engine ends when its parent is killed, and releases the directory', async () => {
    const root = await tempRoot();
    const parent = fork(fileURLToPath(new URL('./parent.fixture.ts', import.meta.url)), [root], { execArgv: [] });
    const [message] = (await once(parent, 'message')) as [{ pid: number; socketPath: string }];
    expect(alive(message.pid)).toBe(true);
    parent.kill('SIGKILL');
    await until(() => !alive(message.pid), 'the engine to end');
    await expect(stat(dirname(message.socketPath))).rejects.toThrow(/ENOENT/);
    const again = await tempChdb({}, root);
    await again.close();
  });
});
