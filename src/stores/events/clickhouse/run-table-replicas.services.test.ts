import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  attachAll,
  countsOf,
  expectedCounts,
  insertSegment,
  newRun,
  runRow,
} from '../../../../test/support/run-table-rows.ts';
import { askReplica, replicaAccess, stateOfReplicas } from '../../../../test/support/clickhouse-replicas.ts';
import { countRows, insertRows } from '../../../../test/conformance/event-store/event-store.ts';
import { killClickhouse, startClickhouse, testReplicas } from '../../../../test/support/clickhouse-servers.ts';
import type { RunRef } from '../eventstore.ts';
import { clusterForm } from '../schema-form.ts';
import { runTableName } from '../run-table-names.ts';
import type { RunStore } from '../run-tables.ts';
import { connectClickhouse } from './connect-clickhouse.ts';
import { shardKeySql } from './shard-key.ts';

/** Replicas of tools/with-clickhouse.ts are killed while an import uses the tables of its run. */
const servers = testReplicas();
const isReplicated = (servers[0]?.length ?? 0) > 2;
const reason = isReplicated ? '' : ' (skipped: no three replicas of a shard, see tools/with-clickhouse.ts)';
const segmentRows = 200;

describe.skipIf(!isReplicated)(`tables of runs on ClickHouse replicas${reason}`, () => {
  const access = replicaAccess();
  const cluster = process.env.MILLRACE_CLICKHOUSE_CLUSTER ?? '';
  const form = clusterForm({ cluster, database: access.database, weights: [] }, shardKeySql);
  let store: RunStore;
  beforeAll(async () => {
    const replicas = process.env.MILLRACE_CLICKHOUSE_REPLICAS ?? '';
    store = await connectClickhouse(process.env.CLICKHOUSE_URL ?? '', { cluster, replicas, pollMs: 500 });
  });
  afterAll(async () => store.close());

  const [preferred, ...others] = servers[0] ?? [];
  const { host, home } = preferred ?? { host: '', home: '' };

  it('a segment whose process and replica are killed before another replica has its part is stored once', async () => {
    const run = newRun();
    const rows = Array.from({ length: segmentRows }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    const table = form.rowsOf(runTableName({ run, table: 'rows' }));
    await store.runTables.create(run);
    for (const other of others) await askReplica(access, other.host, `SYSTEM STOP FETCHES ${table}`);
    const arg = JSON.stringify({ run, uuids: rows.map(({ uuid }) => uuid) });
    const child = fork(fileURLToPath(new URL('./insert-segment.fixture.ts', import.meta.url)), [arg], { execArgv: [] });
    const ended = once(child, 'exit');
    try {
      await expect.poll(() => askReplica(access, host, `SELECT count() > 0 FROM ${table}`)).toBe('1');
      child.kill('SIGKILL');
      await ended;
      await killClickhouse(home);
      // As a process does that continues the check of another. The next replica waits for a quorum of the part that it knows by the token.
      const again = insertSegment(store, run, '0', rows, 'rows', true);
      const waits = `SELECT count() > 0 FROM system.processes WHERE query LIKE 'INSERT INTO ${table}%' AND elapsed > 1`;
      await expect.poll(() => askReplica(access, others[0]?.host ?? '', waits)).toBe('1');
      // Now the others find that no replica has the part, and discard it.
      for (const other of others) await askReplica(access, other.host, `SYSTEM START FETCHES ${table}`);
      await again;
    } finally {
      child.kill('SIGKILL');
      startClickhouse(home);
    }
    await expect.poll(() => stateOfReplicas(access)).toBe('');
    expect(await countsOf(store, run, 'rows')).toEqual(expectedCounts(run, rows));
    await attachAll(store, run);
    expect(await countsOf(store, run, 'shown')).toEqual(expectedCounts(run, rows));
    await store.runTables.drop(run);
  });

  it('rows that only other replicas have are read, once replicas were waited for', async () => {
    const run = newRun();
    const rows = Array.from({ length: segmentRows }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    const turned = servers
      .map((shard) =>
        shard
          .toReversed()
          .map((replica) => replica.host)
          .join(','),
      )
      .join(';');
    const other = await connectClickhouse(process.env.CLICKHOUSE_URL ?? '', { cluster, replicas: turned });
    await store.runTables.create(run);
    // Reads prefer this one for ten seconds.
    const behind = [form.rowsOf(runTableName({ run, table: 'rows' })), form.rowsOf('events')];
    for (const table of behind) await askReplica(access, host, `SYSTEM STOP FETCHES ${table}`);
    try {
      await insertSegment(other, run, '0', rows);
      await insertRows(other, `stale-${run.projectId}`, rows);
      await store.waitForReplicas(run);
      expect(await countsOf(store, run, 'rows')).toEqual(expectedCounts(run, rows));
      expect(await store.runTables.partitions(run)).toMatchObject([{ month: 202_403, rows: segmentRows }]);
      expect(await countRows(store, run.projectId)).toEqual({ all: segmentRows, shown: segmentRows });
    } finally {
      for (const table of behind) await askReplica(access, host, `SYSTEM START FETCHES ${table}`);
    }
    await store.runTables.drop(run);
    await other.close();
  });

  it('tables are created and dropped without waiting for a server that is away, which does the same once it is back', async () => {
    const [dropped, created] = [newRun(), newRun()];
    const away = others[0] ?? { host: '', home: '' };
    await killClickhouse(away.home);
    try {
      const expired = `SELECT active_replicas < total_replicas FROM system.replicas
WHERE database = currentDatabase() AND table = 'events_local'`;
      await expect.poll(() => askReplica(access, host, expired)).toBe('1');
      const begun = performance.now();
      await store.runTables.create(dropped);
      await store.runTables.create(created);
      await store.runTables.drop(dropped);
      // Sixteen statements, each of which would wait for 30 s.
      expect(performance.now() - begun).toBeLessThan(120_000);
    } finally {
      startClickhouse(away.home);
    }
    await expect.poll(() => stateOfReplicas(access)).toBe('');
    const tables = (run: RunRef): Promise<string> => {
      const name = runTableName({ run, table: 'rows' });
      return askReplica(access, away.host, `SELECT count() FROM system.tables WHERE startsWith(name, '${name}')`);
    };
    await expect.poll(() => tables(created)).toBe('2');
    await expect.poll(() => tables(dropped)).toBe('0');
    await store.runTables.drop(created);
    await expect.poll(() => tables(created)).toBe('0');
  });
});
