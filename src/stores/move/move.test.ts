import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb } from '../../../test/support/chdb.ts';
import { ClickhouseStandIn, standInCluster } from '../../../test/support/clickhouse-stand-in.ts';
import { insertSegment, runRow } from '../../../test/support/run-table-rows.ts';
import { fillEveryTable } from '../../../test/support/every-table.ts';
import { kyselyOf } from '../../../test/support/pglite.ts';
import { PGlite, types } from '@electric-sql/pglite';
import { createFailpoint } from '../../base/failpoint.ts';
import { connectClickhouse } from '../events/clickhouse/connect-clickhouse.ts';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import type { EventStore } from '../events/eventstore.ts';
import { summariseMonth } from '../events/month-rows.ts';
import type { RunStore } from '../events/run-tables.ts';
import type { Database, Metadata } from '../metadata/database.ts';
import { migrate } from '../metadata/migrate.ts';
import { NulSafeCompiler } from '../metadata/postgres.ts';
import { openSqlite } from '../metadata/sqlite.ts';
import { move, MoveRefusedError, type MoveDeps, type MoveReport } from './move.ts';
import { moveProblem, moveStateInFile, readMoveState } from './move-state.ts';
import { unfinishedMove } from './unfinished-move.ts';

/** Simulates kill -9 at a failpoint: nothing after it happens. */
class Killed extends Error {}

const failpoints = [
  'move_claimed',
  'move_migrated',
  'move_table',
  'move_table:3',
  'move_table_half:4',
  'move_table_copied:2',
  'move_table_copied:20',
  'move_piece',
  'move_piece:2',
  'move_piece:3',
  'move_month',
  'move_month:2',
];

const open: AsyncDisposableStack[] = [];

interface World {
  readonly dataDir: string;
  readonly db: Metadata;
  readonly from: EventStore;
  readonly to: MoveDeps['to'] & { readonly db: Kysely<Database>; readonly store: RunStore };
  readonly standIn: ClickhouseStandIn;
  run(failAt?: string, more?: Partial<MoveDeps>): Promise<MoveReport>;
}

/** Returns rows of projects 7 and 8 over three months: one twice, and one received at the same moment with other properties. */
function historyRows() {
  const days = [19_783, 19_790, 20_089];
  const rows = Array.from({ length: 90 }, (_, i) =>
    testRow(7 + (i % 2), {
      keyDay: days[i % 3] as number,
      distinctId: `user-${i % 11}`,
      event: `event ${i % 4} 😀`,
      historical: i % 5 === 0,
      properties: JSON.stringify({ i, text: "'\\ \u0000\n" }),
    }),
  );
  const [first] = rows;
  return first === undefined
    ? []
    : [...rows, { ...first, receivedAtMicros: first.receivedAtMicros + 1, properties: '{"later":1}' }];
}

async function createWorld(): Promise<World> {
  const parts = new AsyncDisposableStack();
  open.push(parts);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-move-'));
  parts.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const db = openSqlite(join(dataDir, 'metadata.sqlite'));
  parts.defer(() => db.destroy());
  await migrate(db, 'sqlite');
  await fillEveryTable(db);
  await db.updateTable('import_runs').set({ state: 'completed' }).execute();
  const chdb = await tempChdb({}, dataDir);
  parts.defer(() => chdb.close());
  await insertRows(chdb.store, 'history', historyRows());
  // Belongs to a run that has ended and is not removed yet.
  const run = { projectId: 7, runId: 'ended' };
  await chdb.store.runTables.create(run);
  await insertSegment(chdb.store, run, '0', [runRow(run, 0)]);
  const again = historyRows()[4];
  if (again !== undefined) {
    // The order of insertion decides which of the two is returned.
    await insertRows(chdb.store, 'same-a', [
      { ...again, uuid: '00000000-0000-4000-8000-000000000001', properties: '{"z":1}' },
    ]);
    await insertRows(chdb.store, 'same-b', [
      { ...again, uuid: '00000000-0000-4000-8000-000000000001', properties: '{"a":1}' },
    ]);
  }
  const standIn = new ClickhouseStandIn({ shards: 2 });
  const store = await connectClickhouse(await standIn.listen(), {
    cluster: standInCluster,
    replicas: standIn.replicas,
  });
  parts.defer(async () => {
    await store.close();
    await standIn.close();
  });
  const pglite = await PGlite.create({ parsers: { [types.NUMERIC]: Number, [types.INT8]: Number } });
  const to = { db: kyselyOf(pglite, new NulSafeCompiler()), store, name: 'the other side', slots: 1000 };
  parts.defer(() => to.db.destroy());
  const progress = { table: ignore, rows: ignore, month: ignore, events: ignore, note: ignore };
  return {
    dataDir,
    db,
    from: chdb.store,
    to,
    standIn,
    run: (failAt = '', more = {}) =>
      move({
        from: { db, store: chdb.store, state: moveStateInFile(dataDir) },
        to,
        clock: { now: () => Date.UTC(2026, 10, 20) },
        failpoint: createFailpoint(failAt, true, () => {
          throw new Killed(failAt);
        }),
        progress,
        pageRows: 8,
        ...more,
      }),
  };
}

function ignore(): void {}

/** A process that was not stopped has accepted events during the move. */
function usedAgain({ db, from, dataDir }: World): MoveDeps['from'] {
  const checkUnused = async (): Promise<void> => {
    throw new MoveRefusedError('used again');
  };
  return { db, store: from, state: moveStateInFile(dataDir), checkUnused };
}

async function shownRows(store: EventStore): Promise<unknown[]> {
  return await store.query('SELECT * FROM events FINAL ORDER BY project_id, day, event, distinct_id, uuid');
}

describe('a move', () => {
  // All tests share one world, in this order: two engines and a PostgreSQL take seconds to start.
  let world: World;
  let before: unknown[];
  let metadataDigest: string;
  const digest = (): string =>
    createHash('sha256')
      .update(readFileSync(join(world.dataDir, 'metadata.sqlite')))
      .digest('hex');
  beforeAll(async () => {
    world = await createWorld();
    before = await shownRows(world.from);
    await sql`pragma wal_checkpoint(truncate)`.execute(world.db);
    metadataDigest = digest();
  });
  afterAll(async () => {
    for (const each of open.splice(0).toReversed()) await each.disposeAsync();
  });

  it('never overwrites anything else, and leaves no trace when it refuses', async () => {
    await insertRows(world.to.store, 'others', [testRow(1)]);
    await expect(world.run()).rejects.toThrow(/expected an empty event store, got one with 1 rows/);
    await world.standIn.run('TRUNCATE TABLE events_local');
    await sql`create table schema_version (version integer)`.execute(world.to.db);
    await expect(world.run()).rejects.toThrow(/expected an empty database, got one that a Millrace has used/);
    await sql`drop table schema_version`.execute(world.to.db);
    expect(readMoveState(world.dataDir)).toBeUndefined();
  });

  it('only continues to the stores it was started with', async () => {
    await expect(world.run('move_table:5')).rejects.toBeInstanceOf(Killed);
    await expect(world.run('', { to: { ...world.to, name: 'elsewhere' } })).rejects.toThrow(
      /expected the stores that the move was started with \(the other side\), got others \(elsewhere\)/,
    );
    expect(await unfinishedMove(world.to.db)).toBe(readMoveState(world.dataDir)?.id);
  });

  it('copies every table and every event once, killed at every point and restarted', { timeout: 180_000 }, async () => {
    for (const failAt of failpoints) {
      const ended = await world.run(failAt).catch((error: unknown) => error);
      expect([failAt, ended instanceof Killed || ended]).toEqual([failAt, true]);
      expect(moveProblem(world.dataDir)).toMatch(/millrace move|moved to other stores/);
    }
    await expect(world.run('', { from: usedAgain(world) })).rejects.toThrow('used again');
    expect(await world.run('move_done').catch((error: unknown) => error)).toBeInstanceOf(Killed);
    const report = await world.run();
    expect(report.events).toBe(before.length);
    expect(await shownRows(world.to.store)).toEqual(before);
    expect(await shownRows(world.from)).toEqual(before);
    for (const [name, totals] of Object.entries(report.tables)) {
      const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(name)}`.execute(world.to.db);
      expect([name, Number(rows[0]?.n), totals.rows > 0]).toEqual([name, totals.rows, true]);
    }
    for (const [month, totals] of Object.entries(report.months)) {
      const [projectId, number] = month.split('/').map(Number) as [number, number];
      expect(await summariseMonth(world.to.store, { projectId, month: number })).toMatchObject(totals);
    }
    expect(await unfinishedMove(world.to.db)).toBeUndefined();
    expect(moveProblem(world.dataDir)).toMatch(/was moved to other stores/);
  });

  it('does not copy tables of runs', async () => {
    expect(await world.to.store.runTables.list()).toEqual([]);
  });

  it('leaves the metadata file unchanged byte for byte', () => {
    expect(digest()).toBe(metadataDigest);
  });

  it('does not reuse ids of deleted rows', async () => {
    const { rows } = await sql<{ seq: number }>`select seq from sqlite_sequence where name = 'projects'`.execute(
      world.db,
    );
    await world.to.db.deleteFrom('projects').execute();
    const { id } = await world.to.db
      .insertInto('projects')
      .values({
        uuid: 'u',
        organization_id: 'organizations-id-0',
        name: 'n',
        api_token: 'phc_new',
        timezone: 'UTC',
        created_at: '',
        updated_at: '',
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    expect(id).toBeGreaterThan(rows[0]?.seq ?? Infinity);
  });
});
