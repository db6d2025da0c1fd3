import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { startChdb } from './chdb-supervisor.ts';
import { connectChdb } from './chdb.ts';
import { countRows, insertRows, newProject, testRow } from './conformance.ts';
import { StoreUnavailableError, type EventStore, type RowBatch } from './eventstore.ts';
import { EventRowWriter } from './rows.ts';
import { createLog } from '../telemetry/log.ts';
import { tempChdb, type TempChdb } from './test-chdb.ts';

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

function bigBatch(project: number, months: number): RowBatch {
  const writer = new EventRowWriter();
  for (let i = 0; i < 30_000; i++) writer.write(testRow(project, { keyDay: 10_000 + (i % months) * 31 }));
  return writer.take();
}

/** Retries as the pipeline does: with the same rows and token, as long as the store is unavailable. */
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

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(condition: () => boolean | Promise<boolean>, what: string, ms = 15_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`expected within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

function pidOf(chdb: TempChdb): number {
  const { pid } = chdb.supervisor;
  if (pid === undefined) throw new Error('expected the engine to run');
  return pid;
}

describe('the embedded engine under a supervisor', () => {
  it('an insert interrupted by kill -9 and tried again is stored exactly once', async () => {
    const chdb = await open();
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
    expect(chdb.restarts.length).toBe(5);
    expect(await readdir(chdb.spoolDir)).toEqual([]);
  });

  it('a process that hangs (SIGSTOP) in an insert is replaced, and the insert ends exact', async () => {
    const chdb = await open({ watch: { heartbeatMs: 100, missedMax: 5, insertMs: 60_000 } });
    const project = newProject();
    const inserting = insertUntilDone(chdb.store, bigBatch(project, 12), 'stop');
    process.kill(pidOf(chdb), 'SIGSTOP');
    expect(await inserting).toBeGreaterThan(1);
    expect(chdb.restarts[0]).toMatch(/did not answer 5 heartbeats/);
    expect(await countRows(chdb.store, project)).toEqual({ all: 30_000, shown: 30_000 });
  });

  it('an insert that takes longer than its limit is ended', async () => {
    const chdb = await open({ watch: { heartbeatMs: 20, missedMax: 500, insertMs: 1 } });
    await expect(chdb.store.insertBatch(bigBatch(newProject(), 36), 'slow')).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    expect(chdb.restarts[0]).toMatch(/an insert hung/);
  });

  it('while the engine is down calls wait for it; beyond their bound they say that it is unavailable', async () => {
    const chdb = await open();
    process.kill(pidOf(chdb), 'SIGKILL');
    expect(await chdb.store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await chdb.supervisor.close();
    const impatient = connectChdb(chdb.supervisor.socketPath, chdb.spoolDir, { waitMs: 100 });
    await expect(impatient.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await impatient.health()).toMatchObject({ ok: false });
    await impatient.close();
  });

  it('several clients work at once, and one that goes away takes nothing from the others', async () => {
    const chdb = await open();
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

  it('a heavy query ends at its time limit and holds up neither inserts nor other queries', async () => {
    const chdb = await open({ queryTimeoutMs: 3000 });
    const started = performance.now();
    const heavy = chdb.store.query('SELECT count() FROM numbers(1e13) WHERE number % 7 = 3').catch((e: unknown) => e);
    const project = newProject();
    await insertRows(chdb.store, 'beside', [testRow(project)]);
    expect(await countRows(chdb.store, project)).toEqual({ all: 1, shown: 1 });
    expect(performance.now() - started).toBeLessThan(2900);
    expect(await heavy).toBeInstanceOf(StoreUnavailableError);
    expect(chdb.restarts).toEqual([]);
  });

  it('a query beyond its memory is refused and the engine lives on', async () => {
    const chdb = await open({ memoryBytesMax: 512 * 1024 * 1024 });
    const sql = 'SELECT length(groupArray(toString(number))) FROM numbers(100000000)';
    await expect(chdb.store.query(sql)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await chdb.store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(chdb.restarts).toEqual([]);
  });

  it('SIGTERM and SIGINT to the group do not end the engine before its parent', async () => {
    const chdb = await open();
    process.kill(pidOf(chdb), 'SIGTERM');
    process.kill(pidOf(chdb), 'SIGINT');
    await insertRows(chdb.store, 'after', [testRow(newProject())]);
    expect(chdb.restarts).toEqual([]);
  });

  it('close ends the process and leaves no socket and no spool file', async () => {
    const chdb = await open();
    const pid = pidOf(chdb);
    await chdb.close();
    expect(alive(pid)).toBe(false);
    await expect(stat(dirname(chdb.supervisor.socketPath))).rejects.toThrow(/ENOENT/);
  });

  it('the socket lies in a directory for its user only', async () => {
    const chdb = await open();
    expect((await stat(dirname(chdb.supervisor.socketPath))).mode & 0o777).toBe(0o700);
  });
});

describe('opening the embedded engine', () => {
  async function tempRoot(): Promise<string> {
    const root = await mkdtemp(join(tmpdir(), 'eventstore-open-'));
    removed.push(root);
    return root;
  }

  it('finds what was stored, and clears spool files of a crashed run', async () => {
    const root = await tempRoot();
    const project = newProject();
    const first = await tempChdb({}, root);
    await insertRows(first.store, 'kept', [testRow(project)]);
    await first.close();
    await writeFile(join(root, 'spool', 'old.rowbinary'), 'half a row');
    const second = await open({}, root);
    expect(await readdir(second.spoolDir)).toEqual([]);
    await insertRows(second.store, 'kept', [testRow(project)]);
    expect(await countRows(second.store, project)).toEqual({ all: 1, shown: 1 });
  });

  it('a damaged part fails the health check by name, while the rest stays readable', async () => {
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
    expect(health.detail).toMatch(/damaged parts of the table events \(.*202410_1_1_0/);
    expect(await countRows(second.store, project)).toEqual({ all: 1, shown: 1 });
  });

  it('refuses a schema of a newer program with a sentence', async () => {
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
    await expect(tempChdb({}, root)).rejects.toThrow(/in use by another process; stop that one first/);
  }, 60_000);

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

  it('the engine ends when its parent is killed', async () => {
    const root = await tempRoot();
    const parent = fork(fileURLToPath(new URL('./test-parent.ts', import.meta.url)), [root], { execArgv: [] });
    const [message] = (await once(parent, 'message')) as [{ pid: number; socketPath: string }];
    expect(alive(message.pid)).toBe(true);
    parent.kill('SIGKILL');
    await until(() => !alive(message.pid), 'the engine to end');
    removed.push(dirname(message.socketPath));
    const again = await startChdb({
      dir: join(root, 'events'),
      spoolDir: join(root, 'spool'),
      memoryBytesMax: 1 << 30,
      queryTimeoutMs: 1000,
      log: createLog('silent'),
      onRestart: () => undefined,
    });
    await again.close();
  });
});
