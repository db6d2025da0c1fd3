import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { testMetadata } from '../../../test/conformance/metadata/metadata.ts';
import type { Metadata } from './database.ts';
import { migrate } from './migrate.ts';
import { createProject, deleteProject } from './projects.ts';
import { openSqlite } from './sqlite.ts';
import { storeVersion } from './store-version.ts';
import { createAccount, now, organizationRow } from '../../../test/support/metadata-rows.ts';

describe('the metadata store on SQLite', () => {
  testMetadata({
    dialect: 'sqlite',
    nul: 'kept',
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'millrace-metadata-'));
      const file = join(directory, 'metadata.db');
      const db = openSqlite(file);
      const other = openSqlite(file);
      return {
        db,
        other,
        async [Symbol.asyncDispose]() {
          await Promise.all([db.destroy(), other.destroy()]);
          await rm(directory, { recursive: true });
        },
      };
    },
  });
});

it('the newest persons of a project are read from an index', async () => {
  await using store = await tempMetadata();
  const { rows } = await sql<{ detail: string }>`explain query plan
    select uuid from persons where project_id = 1 order by created_at_micros desc, uuid limit 10`.execute(store.db);
  expect(rows[0]?.detail).toMatch(/SEARCH persons USING (COVERING )?INDEX persons_by_creation \(project_id=\?\)/);
});

describe('a file used by several processes', () => {
  let directory: string;
  let file: string;
  let db: Metadata;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millrace-metadata-'));
    file = join(directory, 'metadata.db');
    db = openSqlite(file);
    await migrate(db, 'sqlite');
  });
  afterEach(async () => {
    await db.destroy();
    await rm(directory, { recursive: true });
  });

  it('a write waits for the lock of another process without blocking the event loop, and succeeds', async () => {
    const holder = await holdLockElsewhere(file, 2000);
    const startedAt = performance.now();
    const ticks = countTicks();
    const write = db.insertInto('organizations').values(organizationRow).execute();
    await write;
    const waitedMs = performance.now() - startedAt;
    const { longestGapMs, count } = ticks.stop();
    await holder.ended;
    expect(waitedMs).toBeGreaterThan(300);
    expect(count).toBeGreaterThan(10);
    expect(longestGapMs).toBeLessThan(waitedMs / 2);
    expect(await db.selectFrom('organizations').select('id').execute()).toHaveLength(1);
  });

  it('reads do not wait for a transaction of another process or of this one', async () => {
    const holder = await holdLockElsewhere(file, 1000);
    const first = await Promise.race([
      db.selectFrom('organizations').selectAll().execute(),
      holder.ended.then(() => 'the lock was released'),
    ]);
    expect(first).toEqual([]);
    await holder.ended;
    await db.transaction().execute(async (tx) => {
      await tx.insertInto('organizations').values(organizationRow).execute();
      // Outside the transaction its rows are not visible yet.
      expect(await db.selectFrom('organizations').select('id').execute()).toEqual([]);
    });
    expect(await db.selectFrom('organizations').select('id').execute()).toHaveLength(1);
  });

  it('its version changes exactly with every commit of any handle', async () => {
    await using other = openSqlite(file);
    const insert = (by: Metadata, id: string) =>
      by.insertInto('organizations').values({ id, name: 'A', created_at: '' }).execute();
    await insert(db, 'first');
    const seen = new Set([storeVersion(db)]);
    await db.selectFrom('organizations').selectAll().execute();
    seen.add(storeVersion(db));
    expect(seen.size).toBe(1);
    for (const [id, by] of [
      ['second', db],
      ['third', other],
      ['fourth', db],
    ] as const) {
      await insert(by, id);
      seen.add(storeVersion(db));
    }
    expect(seen.size).toBe(4);
    await db.transaction().execute(async (tx) => {
      await insert(tx, 'fifth');
      seen.add(storeVersion(db));
      expect(seen.size).toBe(4);
    });
    expect(seen).not.toContain(storeVersion(db));
  });

  it('fails with a message if the lock is not released', async () => {
    const holder = await holdLockElsewhere(file, 600);
    const hasty = openSqlite(file, { busyWaitMsMax: 50 });
    await expect(hasty.insertInto('organizations').values(organizationRow).execute()).rejects.toThrow(
      'expected the metadata file to be free within 50 ms',
    );
    await expect(hasty.transaction().execute(async () => undefined)).rejects.toThrow('free within 50 ms');
    await holder.ended;
    await hasty.insertInto('organizations').values(organizationRow).execute();
    await hasty.destroy();
  });

  it('a write past a transaction from inside it is an error instead of a deadlock', async () => {
    const impatient = openSqlite(file, { lockWaitMsMax: 50 });
    const attempt = impatient.transaction().execute(async () => {
      await impatient.insertInto('organizations').values(organizationRow).execute();
    });
    await expect(attempt).rejects.toThrow('inside a transaction, use the transaction only');
    await impatient.insertInto('organizations').values(organizationRow).execute();
    await impatient.destroy();
  });

  it('writes of one thread take turns in order', async () => {
    const order: number[] = [];
    const write = (turn: number): Promise<void> =>
      db.transaction().execute(async () => {
        await sleep(turn === 0 ? 20 : 0);
        order.push(turn);
      });
    await Promise.all([0, 1, 2, 3, 4].map(write));
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('an open stream keeps its snapshot and does not hide later writes from other reads', async () => {
    const rows = Array.from({ length: 10 }, (_, id) => ({ ...organizationRow, id: String(id) }));
    await db.insertInto('organizations').values(rows).execute();
    const seen: string[] = [];
    for await (const row of db.selectFrom('organizations').select('id').orderBy('id').stream(3)) {
      if (seen.length === 0) await db.deleteFrom('organizations').where('id', '>', '4').execute();
      expect(await db.selectFrom('organizations').select('id').execute()).toHaveLength(5);
      seen.push(row.id);
    }
    expect(seen).toEqual(rows.map((row) => row.id));
  });

  it('a project with many rows is deleted in chunks, between which others work and write', async () => {
    const { organizationId } = await createAccount(db);
    const project = await createProject(db, { organizationId, name: 'Large' }, now);
    await sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 45000)
      insert into person_distinct_ids (project_id, distinct_id, person_uuid)
      select ${project.id}, 'id ' || n, 'p' from numbers`.execute(db);
    const other = openSqlite(file);
    const ended = new AbortController();
    let turns = 0;
    const countTurns = async (): Promise<void> => {
      for (; !ended.signal.aborted; turns += 1) await setImmediate();
    };
    const counting = countTurns();
    const deletion = deleteProject(db, project.id).finally(() => ended.abort());
    const late = { project_id: project.id, distinct_id: 'during the deletion', person_uuid: 'p' };
    await other.insertInto('person_distinct_ids').values(late).execute();
    expect(await deletion).toBe(true);
    await counting;
    expect(turns).toBeGreaterThan(3);
    expect(await db.selectFrom('person_distinct_ids').select('distinct_id').execute()).toEqual([]);
    await other.destroy();
  });

  it('more statements than are kept prepared all work', async () => {
    for (let round = 0; round < 2; round += 1) {
      for (let number = 0; number < 600; number += 1) {
        const { rows } = await sql<{ n: number }>`select ${sql.raw(String(number))} as n`.execute(db);
        expect(rows[0]?.n).toBe(number);
      }
    }
  });

  it('only its owner can read it, because it contains secrets', async () => {
    await db.insertInto('organizations').values(organizationRow).execute();
    for (const name of [file, `${file}-wal`]) expect((await stat(name)).mode & 0o777).toBe(0o600);
  });

  it('a committed write survives kill -9 of its process', async () => {
    const insert = "insert into organizations (id, name, created_at) values ('k', 'k', 'k')";
    const child = runChild(file, `db.exec(${JSON.stringify(insert)}); say('written'); setInterval(() => {}, 1000)`);
    await child.said;
    child.process.kill('SIGKILL');
    await child.ended;
    expect(await db.selectFrom('organizations').select('id').execute()).toMatchObject([{ id: 'k' }]);
  });
});

it('a file that cannot be opened is reported with path and reason', async () => {
  const file = join(tmpdir(), 'millrace-no-such-directory', 'metadata.db');
  const db = openSqlite(file);
  await expect(migrate(db, 'sqlite')).rejects.toThrow(`expected to open the metadata file ${file}`);
});

interface Child {
  readonly process: ReturnType<typeof spawn>;
  readonly said: Promise<unknown>;
  readonly ended: Promise<unknown>;
}

/** Starts another process with a handle `db` on the file; its `say` resolves `said`. */
function runChild(file: string, body: string): Child {
  const script = `
    import { DatabaseSync } from 'node:sqlite';
    const db = new DatabaseSync(${JSON.stringify(file)});
    const say = (text) => process.stdout.write(text);
    ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { process: child, said: once(child.stdout, 'data'), ended: once(child, 'exit') };
}

/** Resolves once another process holds the write lock, which it releases after `holdMs`. */
async function holdLockElsewhere(file: string, holdMs: number): Promise<Child> {
  const child = runChild(
    file,
    `db.exec('begin immediate'); say('held'); setTimeout(() => { db.exec('commit'); db.close(); }, ${holdMs})`,
  );
  await child.said;
  return child;
}

function countTicks(): { stop(): { longestGapMs: number; count: number } } {
  let last = performance.now();
  let longestGapMs = 0;
  let count = 0;
  const tick = (): void => {
    longestGapMs = Math.max(longestGapMs, performance.now() - last);
    last = performance.now();
    count += 1;
  };
  const timer = setInterval(tick, 5);
  return {
    stop() {
      tick();
      clearInterval(timer);
      return { longestGapMs, count };
    },
  };
}
