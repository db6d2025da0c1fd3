import { eraseConformance } from '../../../../test/conformance/event-store/erase.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { attachAll, countsOf, expectedCounts, insertSegment, runRow } from '../../../../test/support/run-table-rows.ts';
import {
  killClickhouse,
  signalClickhouse,
  testReplicas,
  type TestReplica,
} from '../../../../test/support/clickhouse-servers.ts';
import { askReplica, replicaAccess } from '../../../../test/support/clickhouse-replicas.ts';
import { grantedTables } from '../../../../test/support/clickhouse-rights.ts';
import { findDamage } from '../check-parts.ts';
import {
  countRows,
  eventStoreConformance,
  insertRows,
  monthsConformance,
  newProject,
  testRow,
} from '../../../../test/conformance/event-store/event-store.ts';
import { StoreUnavailableError } from '../eventstore.ts';
import { expiryConformance } from '../../../../test/conformance/event-store/expiry.ts';
import { explorerConformance } from '../../../../test/conformance/event-store/explorer.ts';
import { readsConformance } from '../../../../test/conformance/event-store/reads.ts';
import type { EventRow } from '../rows.ts';
import { runTablesConformance, type RunStoreUnderTest } from '../../../../test/conformance/event-store/run-tables.ts';
import { createPartsReader } from '../stored-parts.ts';
import { connectClickhouse } from './connect-clickhouse.ts';

/**
 * The promises of the event store on real servers, or on what tools/with-clickhouse.ts provides. Tests add rows to the database, so
 * name a separate one.
 */
const url = process.env.CLICKHOUSE_URL ?? '';
const cluster = process.env.MILLRACE_CLICKHOUSE_CLUSTER ?? '';
const replicas = process.env.MILLRACE_CLICKHOUSE_REPLICAS ?? '';
const servers = testReplicas();
const access = replicaAccess();

async function open(): Promise<RunStoreUnderTest> {
  const store = await connectClickhouse(url, { cluster, replicas });
  return { store, close: () => store.close() };
}

const reason = url === '' ? ' (skipped: CLICKHOUSE_URL is not set)' : '';
describe.skipIf(url === '')(`a ClickHouse ${cluster === '' ? 'server' : 'cluster'}${reason}`, () => {
  const name = cluster === '' ? 'ClickHouse server' : 'ClickHouse cluster';
  // Erasures first: each processes all parts of the database that the others fill.
  eraseConformance(name, open);
  eventStoreConformance(name, open);
  readsConformance(name, open);
  expiryConformance(name, open);
  explorerConformance(name, open);
  runTablesConformance(name, open);
  monthsConformance(name, open);
});

/** URL of a user created by tools/with-clickhouse.ts with a separate database. */
const grantedUrl = process.env.CLICKHOUSE_GRANTED_URL ?? '';
const ungranted =
  grantedUrl === '' ? ' (skipped: CLICKHOUSE_GRANTED_URL is not set, see tools/with-clickhouse.ts)' : '';

describe.skipIf(grantedUrl === '')(`a user with exactly the rights of the guide${ungranted}`, () => {
  const name = 'a user with the rights of the guide';
  const openGranted = async (): Promise<RunStoreUnderTest> => {
    const store = await connectClickhouse(grantedUrl, { cluster, replicas });
    return { store, close: () => store.close() };
  };

  // The other suites read the same tables.
  eventStoreConformance(name, openGranted);

  it('creates a table for a run and attaches its rows', async () => {
    const { store, close } = await openGranted();
    const run = { projectId: newProject(), runId: randomUUID() };
    const rows = Array.from({ length: 20 }, (_, n) => runRow(run, n));
    await store.runTables.create(run);
    await insertSegment(store, run, '0', rows);
    expect(await store.runTables.list()).toContainEqual(run);
    expect(await attachAll(store, run)).toEqual([202_403]);
    await store.runTables.drop(run);
    expect(await countsOf(store, run, 'shown')).toEqual(expectedCounts(run, rows));
    await close();
  });

  it('counts from the metadata of parts, checks every byte of them, undoes a run and erases its bytes', async () => {
    const { store, close } = await openGranted();
    const project = newProject();
    const mark = { properties: '{"a":1,"$import_run_id":"run-1"}', keyDay: 19_783 };
    await insertRows(store, `rights-${project}`, [testRow(project, mark)]);
    // On a cluster, the parts of one server are not enough.
    expect((await createPartsReader(store)()) === undefined).toBe(cluster !== '');
    expect(await findDamage(store)).toEqual([]);
    await store.deleteRun({ projectId: project, runId: 'run-1', from: '2024-03-01', to: '2024-03-31' });
    expect(await countRows(store, project)).toEqual({ all: 0, shown: 0 });
    // After an undo, an erasure needs every statement that one can need.
    await store.erase({ projectId: project, filter: { distinctIds: ['user-1'] } });
    const stored = 'SELECT count() AS c FROM events WHERE project_id = {project:Int32} SETTINGS apply_deleted_mask = 0';
    expect(await store.query(stored, { project })).toEqual([{ c: '0' }]);
    expect(await store.health()).toEqual({ ok: true, detail: '' });
    await close();
  });

  it('reads every granted system table and no other', async () => {
    const { store, close } = await openGranted();
    const read = (table: string) => store.query(`SELECT count() FROM system.${table}`);
    // Without a cluster nothing queues in Keeper; the engine checks the right before it says so.
    const ofKeeper = cluster === '' ? ['distributed_ddl_queue'] : [];
    for (const table of grantedTables().filter((each) => !ofKeeper.includes(each))) await read(table);
    for (const table of ofKeeper) await expect(read(table)).rejects.toThrow('no Zookeeper configuration');
    await expect(store.query('SELECT count() FROM system.processes')).rejects.toThrow('denied a query');
    await close();
  });

  monthsConformance(name, openGranted);
});

function flipMiddleBit(path: string): void {
  const bytes = readFileSync(path);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

const isReplicated = (servers[0]?.length ?? 0) > 1;
const unreplicated = isReplicated ? '' : ' (skipped: no replicated servers, see tools/with-clickhouse.ts)';

describe.skipIf(!isReplicated)(`replicas of a ClickHouse cluster${unreplicated}`, () => {
  const rowsOf = (project: number, more: Partial<EventRow> = {}) =>
    Array.from({ length: 200 }, (_, i) => testRow(project, { distinctId: `user-${i}`, ...more }));
  /** Of the second shard. */
  const replicaOf = (at: number): TestReplica => {
    const replica = servers[1]?.at(at);
    if (replica === undefined) throw new Error(`expected the second shard to have a replica ${at}`);
    return replica;
  };
  const turned = replicas
    .split(';')
    .map((shard) => shard.split(',').toReversed().join(','))
    .join(';');

  it('an insert repeated at another replica of its shard is stored once', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    const other = await connectClickhouse(url, { cluster, replicas: turned });
    for (const each of [store, other, store]) await insertRows(each, `replica-${project}`, rowsOf(project));
    expect(await countRows(store, project)).toEqual({ all: 200, shown: 200 });
    await store.close();
    await other.close();
  });

  it('an acknowledged insert is on most replicas of each shard', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    await insertRows(store, `quorum-${project}`, rowsOf(project));
    const copies = await store.query<{ rows: string }>(
      `SELECT count() AS rows FROM clusterAllReplicas('${cluster}', currentDatabase(), events_local) WHERE project_id = {project:Int32}`,
      { project },
    );
    expect(Number(copies[0]?.rows)).toBeGreaterThanOrEqual(400);
    await store.close();
  });

  // Runs before the test with a hanging replica, because the engine then prefers another one for some seconds.
  it('a slow preferred replica is waited for: one without the newest rows never answers instead', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    const behind = replicaOf(1).host;
    await askReplica(access, behind, 'SYSTEM STOP FETCHES events_local');
    const preferred = replicaOf(0).home;
    try {
      await insertRows(store, `newest-${project}`, rowsOf(project));
      expect(await askReplica(access, behind, `SELECT count() FROM events_local WHERE project_id = ${project}`)).toBe(
        '0',
      );
      signalClickhouse(preferred, 'SIGSTOP');
      const counted = countRows(store, project);
      // Longer than the time after which the engine would also query another replica.
      await sleep(2500);
      signalClickhouse(preferred, 'SIGCONT');
      expect(await counted).toEqual({ all: 200, shown: 200 });
    } finally {
      signalClickhouse(preferred, 'SIGCONT');
      await askReplica(access, behind, 'SYSTEM START FETCHES events_local');
    }
    await store.close();
  });

  it('a hung replica does not block inserts, which are stored once, and it catches up later', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    const victim = replicaOf(-1).home;
    signalClickhouse(victim, 'SIGSTOP');
    try {
      await insertRows(store, `still-${project}`, rowsOf(project));
      expect(await countRows(store, project)).toEqual({ all: 200, shown: 200 });
    } finally {
      signalClickhouse(victim, 'SIGCONT');
    }
    await insertRows(store, `still-${project}`, rowsOf(project));
    const all = async (): Promise<number> => {
      const [row] = await store.query<{ rows: string }>(
        `SELECT count() AS rows FROM clusterAllReplicas('${cluster}', currentDatabase(), events_local) WHERE project_id = {project:Int32}`,
        { project },
      );
      return Number(row?.rows);
    };
    for (let tries = 0; tries < 60 && (await all()) !== 600; tries++) await sleep(500);
    expect(await all()).toBe(600);
    await store.close();
  });

  it('when a preferred replica hangs, inserts, reads and health continue with the others, exactly', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    await insertRows(store, `before-${project}`, rowsOf(project));
    const victim = replicaOf(0).home;
    signalClickhouse(victim, 'SIGSTOP');
    try {
      await insertRows(store, `hung-${project}`, rowsOf(project, { event: 'while it hangs' }));
      expect(await countRows(store, project)).toEqual({ all: 400, shown: 400 });
      expect(await store.health()).toEqual({ ok: true, detail: '' });
    } finally {
      signalClickhouse(victim, 'SIGCONT');
    }
    await insertRows(store, `hung-${project}`, rowsOf(project, { event: 'while it hangs' }));
    await expect.poll(() => countRows(store, project)).toEqual({ all: 400, shown: 400 });
    await store.close();
  });

  it('a damaged part of one replica is set aside and repaired from another: nothing is missing, and health reports what to do', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    await insertRows(store, `rot-${project}`, rowsOf(project));
    const { host } = replicaOf(-1);
    const own = `project_id = ${project}`;
    const partsOf = () => askReplica(access, host, `SELECT DISTINCT _part FROM events_local WHERE ${own}`);
    await expect.poll(partsOf).not.toBe('');
    const path = await askReplica(
      access,
      host,
      `SELECT path FROM system.parts WHERE table = 'events_local' AND active AND name = '${await partsOf()}'`,
    );
    flipMiddleBit(join(path, 'data.bin'));
    await askReplica(access, host, 'SELECT sum(cityHash64(*)) FROM events_local').catch((error: unknown) => error);
    const health = () => store.health();
    await expect.poll(health).toEqual({ ok: true, detail: expect.stringContaining('/detached/broken_') });
    expect(await countRows(store, project)).toEqual({ all: 200, shown: 200 });
    await store.close();
  });

  it('an undone run is removed from every replica', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    const mark = { properties: '{"a":1,"$import_run_id":"run-1"}', keyDay: 19_783 };
    await insertRows(store, `undone-${project}`, rowsOf(project, mark));
    await store.deleteRun({ projectId: project, runId: 'run-1', from: '2024-03-01', to: '2024-03-31' });
    const other = await connectClickhouse(url, { cluster, replicas: turned });
    for (const each of [store, other]) expect(await countRows(each, project)).toEqual({ all: 0, shown: 0 });
    await store.close();
    await other.close();
  });

  it('a run uses its table while a replica hangs, which has all of it once it is back', async () => {
    const run = { projectId: newProject(), runId: randomUUID() };
    const store = await connectClickhouse(url, { cluster, replicas });
    const rows = Array.from({ length: 200 }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    const victim = replicaOf(-1).home;
    signalClickhouse(victim, 'SIGSTOP');
    try {
      await store.runTables.create(run);
      for (let i = 0; i < 2; i++) await insertSegment(store, run, '0', rows.slice(0, 100));
      await insertSegment(store, run, '1', rows.slice(100));
      expect(await countsOf(store, run, 'rows')).toEqual(expectedCounts(run, rows));
      expect(await attachAll(store, run)).toEqual([202_403]);
      expect(await countsOf(store, run, 'shown')).toEqual(expectedCounts(run, rows));
    } finally {
      signalClickhouse(victim, 'SIGCONT');
    }
    const copies = async (): Promise<number> => {
      const [row] = await store.query<{ rows: string }>(
        `SELECT count() AS rows FROM clusterAllReplicas('${cluster}', currentDatabase(), events_local) WHERE project_id = {project:Int32}`,
        { project: run.projectId },
      );
      return Number(row?.rows);
    };
    await expect.poll(copies).toBe(600);
    await store.runTables.drop(run);
    expect(await countsOf(store, run, 'shown')).toEqual(expectedCounts(run, rows));
    await store.close();
  });

  it('a month attached at a replica that was behind is complete', async () => {
    const run = { projectId: newProject(), runId: randomUUID() };
    const store = await connectClickhouse(url, { cluster, replicas });
    const other = await connectClickhouse(url, { cluster, replicas: turned });
    await store.runTables.create(run);
    const rows = Array.from({ length: 400 }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    const last = replicaOf(-1).home;
    signalClickhouse(last, 'SIGSTOP');
    try {
      for (let i = 0; i < 4; i++) await insertSegment(store, run, `${i}`, rows.slice(i * 100, i * 100 + 100));
    } finally {
      signalClickhouse(last, 'SIGCONT');
    }
    await other.runTables.attach(run, 202_403);
    for (const each of [store, other]) {
      expect(await countsOf(each, run, 'shown')).toEqual(expectedCounts(run, rows));
    }
    await store.runTables.drop(run);
    await store.close();
    await other.close();
  });

  // Last, because these servers are not restarted.
  it('without most of its replicas a shard refuses inserts and reports it', async () => {
    const project = newProject();
    const store = await connectClickhouse(url, { cluster, replicas });
    for (const { home } of servers[1]?.slice(1) ?? []) await killClickhouse(home);
    await expect(insertRows(store, `none-${project}`, rowsOf(project))).rejects.toBeInstanceOf(StoreUnavailableError);
    expect((await store.health()).ok).toBe(false);
    await store.close();
  });
});
