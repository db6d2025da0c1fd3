import { eraseConformance } from '../../../../test/conformance/event-store/erase.ts';
import { Session } from 'chdb';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ClickhouseStandIn,
  standInCluster,
  type StandInOptions,
} from '../../../../test/support/clickhouse-stand-in.ts';
import {
  countRows,
  eventStoreConformance,
  insertRows,
  monthsConformance,
  newProject,
  testRow,
} from '../../../../test/conformance/event-store/event-store.ts';
import { insertSegment, runRow } from '../../../../test/support/run-table-rows.ts';
import { StoreUnavailableError, type RunRef } from '../eventstore.ts';
import { expiryConformance } from '../../../../test/conformance/event-store/expiry.ts';
import { explorerConformance } from '../../../../test/conformance/event-store/explorer.ts';
import { readsConformance } from '../../../../test/conformance/event-store/reads.ts';
import { EventRowWriter, type EventRow } from '../rows.ts';
import { runTablesConformance } from '../../../../test/conformance/event-store/run-tables.ts';
import { runTableName } from '../run-table-names.ts';
import type { RunStore } from '../run-tables.ts';
import { migrations } from '../migrate-store.ts';
import { ClusterLayoutError, clusterLayout, slotsOf } from './cluster-layout.ts';
import { connectClickhouse } from './connect-clickhouse.ts';
import { createShardHash, shardKeySql } from './shard-key.ts';
import { splitByShard } from './split-by-shard.ts';

interface Cluster {
  readonly store: RunStore;
  readonly standIn: ClickhouseStandIn;
  readonly url: string;
  close(): Promise<void>;
}

async function open(options: StandInOptions): Promise<Cluster> {
  const standIn = new ClickhouseStandIn(options);
  const url = await standIn.listen();
  const connecting = connectClickhouse(url, { cluster: standInCluster, replicas: standIn.replicas });
  const store = await connecting.catch(async (error: unknown) => {
    // The engine opens one directory at a time, which the next test needs.
    await standIn.close();
    throw error;
  });
  return {
    store,
    standIn,
    url,
    async close() {
      await store.close();
      await standIn.close();
    },
  };
}

const unreplicated = '(test double, not replicated)';
const twoShards = `a ClickHouse cluster, 2 shards ${unreplicated}`;
eventStoreConformance(twoShards, () => open({ shards: 2 }));
eraseConformance(twoShards, () => open({ shards: 2 }));
readsConformance(twoShards, () => open({ shards: 2 }));
expiryConformance(twoShards, () => open({ shards: 2 }));
explorerConformance(twoShards, () => open({ shards: 2 }));
runTablesConformance(twoShards, () => open({ shards: 2 }));
monthsConformance(twoShards, () => open({ shards: 2 }));
// Writes and query texts are the same for any number of shards; these reads use the engine's Distributed table.
readsConformance(`a ClickHouse cluster, 1 shard ${unreplicated}`, () => open({ shards: 1 }), {
  withEarlierLists: false,
});

const hostileIds = ['', 'a', 'ab', 'abc', 'abcd', 'user-1', '😀 ümläut', '\0\n\t', "'; --", 'x'.repeat(1000), '1:2'];

describe('the shard of a row', () => {
  it('the hash of a row equals that of the engine', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'shard-key-'));
    const session = new Session(dir);
    const hash = createShardHash();
    for (const project of [1, 2, -7, 2_147_483_647]) {
      for (const id of hostileIds) {
        const bytes = Buffer.from(`..${id}..`);
        const sql = `SELECT ${shardKeySql} FROM (SELECT toInt32(${project}) AS project_id, unhex('${Buffer.from(id).toString('hex')}') AS distinct_id)`;
        const expected = Number((await session.queryAsync(sql)).text());
        expect(hash(project, bytes, 2, bytes.length - 2), `${project} ${id.slice(0, 20)}`).toBe(expected);
      }
    }
    session.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('every row of a batch goes to one shard, complete and in order, and always to the same one', () => {
    const rows = Array.from({ length: 2000 }, (_, i) =>
      testRow(1 + (i % 3), {
        distinctId: `user-${i % 97}`,
        properties: JSON.stringify({ i, long: 'x'.repeat(i % 300) }),
      }),
    );
    const slots = [0, 1, 1, 2];
    const parts = splitByShard(batchOf(rows), slots);
    const hash = createShardHash();
    const shardOf = ({ projectId, distinctId }: EventRow): number => {
      const id = Buffer.from(distinctId);
      return slots[hash(projectId, id, 0, id.length) % slots.length] as number;
    };
    for (const [shard, part] of parts.entries()) {
      const own = batchOf(rows.filter((row) => shardOf(row) === shard));
      expect(part?.rows).toBe(own.rows);
      expect(bytesOf(part).equals(bytesOf(own))).toBe(true);
    }
    expect(splitByShard(batchOf(rows), slots).map(bytesOf)).toEqual(parts.map(bytesOf));
  });

  it('a shard without rows gets none', () => {
    const parts = splitByShard(batchOf([testRow(1)]), [0, 1, 2]);
    expect(parts.filter((part) => part !== undefined)).toHaveLength(1);
  });
});

function batchOf(rows: readonly EventRow[]) {
  const writer = new EventRowWriter();
  for (const row of rows) writer.write(row);
  return writer.take();
}

function bytesOf(batch: ReturnType<typeof batchOf> | undefined): Buffer {
  return Buffer.concat(batch?.chunks ?? []);
}

describe('the servers of a cluster', () => {
  const url = new URL('https://me:pw@ch1:8443/events');
  const rows = [
    { shard_num: 1, shard_weight: 1, host_name: 'ch1' },
    { shard_num: 1, shard_weight: 1, host_name: 'ch2' },
    { shard_num: 2, shard_weight: 3, host_name: 'fd00::3' },
  ];

  it('are the hosts that the servers use for each other, with the port, password and database of the address', () => {
    const layout = clusterLayout(rows, { url, cluster: 'main', replicas: '' });
    expect(layout.replicas.map((shard) => shard.map(String))).toEqual([
      ['https://me:pw@ch1:8443/events', 'https://me:pw@ch2:8443/events'],
      ['https://me:pw@[fd00::3]:8443/events'],
    ]);
    expect(slotsOf(layout)).toEqual([0, 1, 1, 1]);
  });

  it('are those of the setting if it is set', () => {
    const layout = clusterLayout(rows, { url, cluster: 'main', replicas: 'a:1, b:2; c:3' });
    expect(layout.replicas.map((shard) => shard.map(({ host }) => host))).toEqual([['a:1', 'b:2'], ['c:3']]);
  });

  it.each([
    ['a cluster unknown to the server', [], '', /expected the ClickHouse server to have a cluster main/],
    ['a setting with other shards', rows, 'a:1', /expected MILLRACE_CLICKHOUSE_REPLICAS to name 2 shards.*got 1/],
  ])('refuses %s with a message', (_, known, replicas, message) => {
    expect(() => clusterLayout(known, { url, cluster: 'main', replicas })).toThrow(message);
  });
});

describe('a cluster of two shards (test double, not replicated)', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await open({ shards: 2, replicas: 2 });
  });
  afterAll(async () => await cluster.close());

  const options = () => ({ cluster: standInCluster, replicas: cluster.standIn.replicas });
  const statementsOf = (pattern: RegExp): string[] => cluster.standIn.statements.filter((sql) => pattern.test(sql));

  it('rows are spread over the shards, and a run is undone on all of them', async () => {
    const project = newProject();
    const mark = { properties: '{"a":1,"$import_run_id":"run-1"}', keyDay: 19_783 };
    const rows = Array.from({ length: 200 }, (_, i) => testRow(project, { distinctId: `user-${i}`, ...mark }));
    const before = cluster.standIn.statements.length;
    await insertRows(cluster.store, `spread-${project}`, rows);
    const inserts = cluster.standIn.statements.slice(before);
    expect(inserts.map((sql) => /token = '([^']+)'/.exec(sql)?.[1])).toEqual([
      `spread-${project}:s0`,
      `spread-${project}:s1`,
    ]);
    for (const sql of inserts) expect(sql).toContain("insert_quorum = 'auto'");
    expect(await countRows(cluster.store, project)).toEqual({ all: 200, shown: 200 });
    await cluster.store.deleteRun({ projectId: project, runId: 'run-1', from: '2024-03-01', to: '2024-03-31' });
    expect(await countRows(cluster.store, project)).toEqual({ all: 0, shown: 0 });
  });

  it('a subquery covers all shards', async () => {
    const project = newProject();
    const rows = Array.from({ length: 50 }, (_, i) => testRow(project, { distinctId: `user-${i}` }));
    await insertRows(cluster.store, `inner-${project}`, rows);
    const sql = `SELECT count() AS c FROM events WHERE project_id = {project:Int32} AND distinct_id IN
  (SELECT distinct_id FROM events WHERE project_id = {project:Int32})`;
    expect(await cluster.store.query(sql, { project })).toEqual([{ c: '50' }]);
  });

  it('the schema is created on every server, and later processes leave it unchanged', async () => {
    const changes = statementsOf(/^(CREATE|ALTER)/);
    expect(changes.length).toBeGreaterThan(migrations.length);
    for (const sql of changes) expect(sql).toContain(` ON CLUSTER '${standInCluster}'`);
    await (await connectClickhouse(cluster.url, options())).close();
    expect(statementsOf(/^(CREATE|ALTER)/)).toEqual(changes);
  });

  it('a process that does not migrate contacts no server before its first query', async () => {
    const before = cluster.standIn.statements.length;
    const store = await connectClickhouse(cluster.url, { ...options(), migrates: false });
    expect(cluster.standIn.statements.length).toBe(before);
    expect(await store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await store.close();
  });

  it('a cluster whose shards have changed is refused', async () => {
    const { standIn, url } = cluster;
    const connect = () => connectClickhouse(url, options());
    await standIn.run('TRUNCATE TABLE cluster_layout');
    await standIn.run('INSERT INTO cluster_layout (weights) SELECT [1, 1, 1]');
    await expect(connect()).rejects.toBeInstanceOf(ClusterLayoutError);
    await standIn.run('TRUNCATE TABLE cluster_layout');
    await standIn.run('INSERT INTO cluster_layout (weights) SELECT [1, 1]');
    await (await connect()).close();
  });

  it('work continues at the other replica when one is unavailable, and fails when a shard has none', async () => {
    const project = newProject();
    const rows = Array.from({ length: 20 }, (_, i) => testRow(project, { distinctId: `user-${i}` }));
    await insertRows(cluster.store, `away-${project}`, rows);
    await cluster.standIn.stopReplica(1, 0);
    await insertRows(cluster.store, `away-${project}`, rows);
    expect(await countRows(cluster.store, project)).toEqual({ all: 20, shown: 20 });
    expect(await cluster.store.health()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('Shard 2 of the ClickHouse cluster has 1 of 2 replicas') as string,
    });
    await cluster.standIn.stopReplica(1, 1);
    await expect(insertRows(cluster.store, `gone-${project}`, rows)).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});

describe('a delete on a cluster (test double, not replicated)', () => {
  let cluster: Cluster;
  let store: RunStore;
  beforeAll(async () => {
    cluster = await open({ shards: 2, replicas: 2 });
    const { standIn, url } = cluster;
    store = await connectClickhouse(url, { cluster: standInCluster, replicas: standIn.replicas, pollMs: 50 });
  });
  afterAll(async () => {
    await store.close();
    await cluster.close();
  });

  const hostsOf = (shard: number): string[] => (cluster.standIn.replicas.split(';')[shard] ?? '').split(',');
  const run = { runId: 'run-1', from: '2024-03-01', to: '2024-03-31' };

  async function stored(): Promise<number> {
    const project = newProject();
    const mark = { properties: '{"a":1,"$import_run_id":"run-1"}', keyDay: 19_783 };
    const rows = Array.from({ length: 40 }, (_, i) => testRow(project, { distinctId: `user-${i}`, ...mark }));
    await insertRows(store, `delete-${project}`, rows);
    return project;
  }

  it('a delete that waits for replicas names them with their state, and ends with them', async () => {
    const project = await stored();
    await cluster.standIn.run('SYSTEM STOP MERGES events_local');
    const reasons = new Set<string>();
    const deleted = store.deleteRun({ ...run, projectId: project }, { onWait: (reason) => reasons.add(reason) });
    await expect.poll(() => reasons.size).toBeGreaterThanOrEqual(2);
    for (const shard of [0, 1]) {
      const atWork = hostsOf(shard).map((host) => `${host} is still deleting`);
      expect(reasons).toContain(
        `shard ${shard + 1} of the ClickHouse cluster has not deleted the events on every replica: ${atWork.join('; ')}`,
      );
    }
    expect((await countRows(store, project)).all).toBe(40);
    await cluster.standIn.run('SYSTEM START MERGES events_local');
    await deleted;
    expect(await countRows(store, project)).toEqual({ all: 0, shown: 0 });
  });

  it('the wait for a delete ends when its signal is aborted', async () => {
    const project = await stored();
    await cluster.standIn.run('SYSTEM STOP MERGES events_local');
    const stop = new AbortController();
    const onWait = (): void => stop.abort(new Error('paused'));
    const waiting = store.deleteRun({ ...run, projectId: project }, { signal: stop.signal, onWait });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await cluster.standIn.run('SYSTEM START MERGES events_local');
    await store.deleteRun({ ...run, projectId: project });
    expect(await countRows(store, project)).toEqual({ all: 0, shown: 0 });
  });

  it('a delete waits for a replica that does not answer, and reports it', async () => {
    const project = await stored();
    await cluster.standIn.run('SYSTEM STOP MERGES events_local');
    const [, missing = ''] = hostsOf(1);
    await cluster.standIn.stopReplica(1, 1);
    const stop = new AbortController();
    const reasons: string[] = [];
    const waiting = store.deleteRun(
      { ...run, projectId: project },
      { signal: stop.signal, onWait: (reason) => reasons.push(reason) },
    );
    await expect.poll(() => reasons.at(-1)).toContain(`${missing} does not answer`);
    await cluster.standIn.run('SYSTEM START MERGES events_local');
    const only = `shard 2 of the ClickHouse cluster has not deleted the events on every replica: ${missing} does not answer`;
    await expect.poll(() => reasons.at(-1)).toBe(only);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('attaching a month of a run on a cluster (test double, not replicated)', () => {
  let cluster: Cluster;
  let store: RunStore;
  const warned: { readonly about: Record<string, unknown>; readonly message: string }[] = [];
  beforeAll(async () => {
    cluster = await open({ shards: 2, replicas: 3 });
    const { standIn, url } = cluster;
    const log = { warn: (about: object, message: string) => void warned.push({ about: { ...about }, message }) };
    store = await connectClickhouse(url, { cluster: standInCluster, replicas: standIn.replicas, pollMs: 50, log });
  });
  afterAll(async () => {
    await store.close();
    await cluster.close();
  });

  const hostsOf = (shard: number): string[] => (cluster.standIn.replicas.split(';')[shard] ?? '').split(',');

  async function checkedRun(): Promise<RunRef> {
    const run = { projectId: newProject(), runId: randomUUID() };
    await store.runTables.create(run);
    const rows = Array.from({ length: 40 }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    await insertSegment(store, run, '0', rows);
    return run;
  }

  it('a wait for replicas is logged with the shard, the table and the replicas that are behind', async () => {
    const run = await checkedRun();
    const release = Promise.withResolvers<void>();
    cluster.standIn.caughtUp = async () => await release.promise;
    warned.length = 0;
    const attached = store.runTables.attach(run, 202_403);
    const table = `${runTableName({ run, table: 'rows' })}_local`;
    for (const shard of [1, 2]) {
      const replicas = [hostsOf(shard - 1)[0]];
      await expect
        .poll(() => warned.map(({ about }) => about))
        .toContainEqual({
          shard,
          table,
          replicas,
          needed: 1,
          waited_ms: expect.any(Number) as number,
        });
    }
    expect((await countRows(store, run.projectId)).all).toBe(0);
    release.resolve();
    await attached;
    expect((await countRows(store, run.projectId)).all).toBe(40);
    const said = warned.length;
    await store.runTables.drop(run);
    expect(warned).toHaveLength(said);
  });

  it('without most replicas of a shard it fails with their names and errors, and the same call completes it later', async () => {
    const run = await checkedRun();
    const behind = hostsOf(1).slice(1);
    cluster.standIn.caughtUp = async (table, host) => {
      if (table !== 'events_local' || !behind.includes(host)) return;
      throw new Error(
        'Code: 159. DB::Exception: SYNC REPLICA default.events_local: command timed out. (TIMEOUT_EXCEEDED)',
      );
    };
    const failure: unknown = await store.runTables.attach(run, 202_403).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    const { message } = failure as Error;
    expect(message).toContain(
      'Shard 2 of the ClickHouse cluster: expected 2 of 3 replicas to have all rows of events_local, got 1',
    );
    for (const host of behind) expect(message).toContain(`${host} (The event store aborted a query: Code: 159.`);
    cluster.standIn.caughtUp = async () => undefined;
    await store.runTables.attach(run, 202_403);
    expect(await countRows(store, run.projectId)).toMatchObject({ shown: 40 });
    await store.runTables.drop(run);
  });
});
