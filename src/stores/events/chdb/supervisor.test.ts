import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectChdb } from './connect-chdb.ts';
import { countRows, insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import { StoreUnavailableError, type EventStore, type RowBatch } from '../eventstore.ts';
import { EventRowWriter } from '../rows.ts';
import { alive, tempChdb, until, type TempChdb } from '../../../../test/support/chdb.ts';

const opened: TempChdb[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((chdb) => chdb.close()));
});

async function open(...args: Parameters<typeof tempChdb>): Promise<TempChdb> {
  const chdb = await tempChdb(...args);
  opened.push(chdb);
  return chdb;
}

function bigBatch(project: number, months: number): RowBatch {
  const writer = new EventRowWriter();
  for (let i = 0; i < 30_000; i++) writer.write(testRow(project, { keyDay: 10_000 + (i % months) * 31 }));
  return writer.take();
}

/** Retries as the pipeline does, with the same rows and token, while the store is unavailable. */
async function insertUntilDone(store: EventStore, batch: RowBatch, token: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.insertBatch(batch, token);
      return attempt;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}

function pidOf(chdb: TempChdb): number {
  const { pid } = chdb.supervisor;
  if (pid === undefined) throw new Error('expected the engine to run');
  return pid;
}

describe('one embedded engine under a supervisor', () => {
  let chdb: TempChdb;
  beforeAll(async () => {
    chdb = await tempChdb({ restartMsMax: 200 });
  });
  afterAll(() => chdb.close());

  it('an insert interrupted by kill -9 and retried is stored exactly once', async () => {
    const before = chdb.restarts.length;
    let interrupted = 0;
    for (const delayMs of [5, 25, 60, 120, 200]) {
      const project = newProject();
      const inserting = insertUntilDone(chdb.store, bigBatch(project, 24), `kill-${project}`);
      await new Promise((done) => setTimeout(done, delayMs));
      const { pid } = chdb.supervisor;
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      if ((await inserting) > 1) interrupted++;
      await until(() => chdb.supervisor.pid !== undefined && chdb.supervisor.pid !== pid, 'a new process');
      expect(await countRows(chdb.store, project)).toEqual({ all: 30_000, shown: 30_000 });
    }
    expect(interrupted).toBeGreaterThan(0);
    expect(chdb.restarts.length - before).toBe(5);
    expect(await readdir(chdb.spoolDir)).toEqual([]);
  });

  it('several clients work concurrently, and one that disconnects does not affect the others', async () => {
    const clients = [1, 2, 3].map(() => connectChdb(chdb.supervisor.socketPath, chdb.spoolDir));
    const project = newProject();
    const [first] = clients;
    const lost = first?.query('SELECT sleepEachRow(0.5) FROM numbers(3)').catch((error: unknown) => error);
    await Promise.all(clients.slice(1).map((client, i) => insertRows(client, `client-${i}`, [testRow(project)])));
    await first?.close();
    expect(await lost).toBeInstanceOf(StoreUnavailableError);
    expect(await countRows(chdb.store, project)).toEqual({ all: 2, shown: 2 });
    await Promise.all(clients.map((client) => client.close()));
  });

  it('SIGTERM and SIGINT to the group do not end the engine before its parent', async () => {
    const before = chdb.restarts.length;
    process.kill(pidOf(chdb), 'SIGTERM');
    process.kill(pidOf(chdb), 'SIGINT');
    await insertRows(chdb.store, 'after', [testRow(newProject())]);
    expect(chdb.restarts).toHaveLength(before);
  });

  it('the socket is in a directory for its user only', async () => {
    expect((await stat(dirname(chdb.supervisor.socketPath))).mode & 0o777).toBe(0o700);
  });
});

describe('an embedded engine that stops', () => {
  // A separate engine, because pauses before a restart grow with each kill.
  let chdb: TempChdb;
  beforeAll(async () => {
    chdb = await tempChdb();
  });
  afterAll(() => chdb.close());

  it('restarts after its temporary directory was cleaned up, but not while another user owns it', async () => {
    const before = chdb.restarts.length;
    const dir = dirname(chdb.supervisor.socketPath);
    await rm(dir, { recursive: true });
    await mkdir(dir, { mode: 0o755 });
    process.kill(pidOf(chdb), 'SIGKILL');
    await until(() => chdb.restarts.length > before + 1, 'a second attempt');
    expect(chdb.restarts[before + 1]).toMatch(/expected .* to belong to this user only/);
    await rm(dir, { recursive: true });
    expect(await chdb.store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('calls wait while the engine is down', async () => {
    process.kill(pidOf(chdb), 'SIGKILL');
    await until(() => chdb.supervisor.pid === undefined, 'the end of the process');
    expect(await chdb.store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('close ends the process and leaves no socket or spool file; calls fail as unavailable after their wait', async () => {
    const pid = pidOf(chdb);
    await chdb.supervisor.close();
    expect(alive(pid)).toBe(false);
    expect(await readdir(chdb.spoolDir)).toEqual([]);
    await expect(stat(dirname(chdb.supervisor.socketPath))).rejects.toThrow(/ENOENT/);
    const impatient = connectChdb(chdb.supervisor.socketPath, chdb.spoolDir, { waitMs: 100 });
    await expect(impatient.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await impatient.health()).toMatchObject({ ok: false });
    await impatient.close();
  });
});

describe('the limits of an embedded engine', () => {
  it('a process that hangs (SIGSTOP) in an insert is replaced, and the insert is stored exactly once', async () => {
    const chdb = await open({ watch: { heartbeatMs: 100, missedMax: 5, insertMs: 60_000 } });
    const project = newProject();
    const inserting = insertUntilDone(chdb.store, bigBatch(project, 12), 'stop');
    process.kill(pidOf(chdb), 'SIGSTOP');
    expect(await inserting).toBeGreaterThan(1);
    expect(chdb.restarts[0]).toMatch(/did not answer 5 heartbeats/);
    expect(await countRows(chdb.store, project)).toEqual({ all: 30_000, shown: 30_000 });
  });

  it('an insert that exceeds its time limit is aborted', async () => {
    const chdb = await open({ watch: { heartbeatMs: 20, missedMax: 500, insertMs: 1 } });
    await expect(chdb.store.insertBatch(bigBatch(newProject(), 36), 'slow')).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    await until(() => chdb.restarts.length > 0, 'a restart');
    expect(chdb.restarts[0]).toMatch(/an insert hung/);
  });

  it('a heavy query ends at its time limit and blocks neither inserts nor other queries', async () => {
    // The query computes until its limit, so that is a few times what this machine needs to start an engine and insert.
    const began = performance.now();
    const calm = await open();
    await insertRows(calm.store, 'calm', [testRow(newProject())]);
    const queryTimeoutMs = Math.max(2000, Math.ceil(4 * (performance.now() - began)));
    const chdb = await open({ queryTimeoutMs });
    let isOver = false;
    const heavy = chdb.store
      .query('SELECT count() FROM numbers(1e13) WHERE number % 7 = 3 SETTINGS max_threads = 1')
      .catch((e: unknown) => e)
      .finally(() => (isOver = true));
    const project = newProject();
    await insertRows(chdb.store, 'beside', [testRow(project)]);
    expect(await countRows(chdb.store, project)).toEqual({ all: 1, shown: 1 });
    expect(isOver).toBe(false);
    expect(await heavy).toBeInstanceOf(StoreUnavailableError);
    expect(chdb.restarts).toEqual([]);
  });

  it('a query beyond its memory is refused and the engine keeps running', async () => {
    const chdb = await open({ memoryBytesMax: 512 * 1024 * 1024 });
    const sql = 'SELECT length(groupArray(repeat(toString(number), 200))) FROM numbers(100000000)';
    await expect(chdb.store.query(sql)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await chdb.store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(chdb.restarts).toEqual([]);
  });
});
