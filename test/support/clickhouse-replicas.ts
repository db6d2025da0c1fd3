/** Queries each ClickHouse replica of tools/with-clickhouse.ts separately. */
import { setTimeout as sleep } from 'node:timers/promises';
import { testReplicas, type TestReplica } from './clickhouse-servers.ts';

export interface ReplicaAccess {
  readonly shards: readonly (readonly TestReplica[])[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

const askMs = 60_000;
const sessionMsMax = 60_000;

/** Returns the replicas that the environment names; none if nothing is replicated. */
export function replicaAccess(): ReplicaAccess {
  const { username: user, password, pathname } = new URL(process.env['CLICKHOUSE_URL'] ?? 'http://none');
  return { shards: testReplicas(), user, password, database: pathname.slice(1) };
}

export async function askReplica(
  { user, password, database }: ReplicaAccess,
  host: string,
  sql: string,
): Promise<string> {
  // The database is named by a statement that creates it.
  const named = sql.startsWith('CREATE DATABASE') ? '' : `?database=${database}`;
  const answer = await fetch(`http://${host}/${named}`, {
    method: 'POST',
    body: sql,
    headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
    signal: AbortSignal.timeout(askMs),
  });
  const text = (await answer.text()).trim();
  if (!answer.ok) throw new Error(`expected ${host} to run ${sql}, got: ${text}`);
  return text;
}

/**
 * Returns what prevents a replica from having caught up: with its rows, and with tables that were created while it was away. Empty if all
 * have.
 */
export async function stateOfReplicas(access: ReplicaAccess): Promise<string> {
  const sql = `SELECT count() = 1 AND max(is_readonly) = 0 AND max(absolute_delay) <= 2 AND min(active_replicas = total_replicas)
  AND (SELECT count() FROM system.distributed_ddl_queue
    WHERE status != 'Finished' AND port = tcpPort() AND query_create_time < now() - 3) = 0
FROM system.replicas WHERE database = currentDatabase() AND table = 'events_local'`;
  for (const { host } of access.shards.flat()) {
    const state = await askReplica(access, host, sql).catch((error: Error) => error.message);
    if (state !== '1') return `${host}: ${state}`;
  }
  return '';
}

/**
 * Does what docs/guides/clickhouse-cluster.md says of a server that lost its disk, which runs without tables. Its macros are the numbers of
 * shard and replica.
 */
export async function replaceReplica(access: ReplicaAccess, shard: number, replica: number): Promise<void> {
  const [healthy, lost] = [access.shards[shard]?.find((_, at) => at !== replica), access.shards[shard]?.[replica]];
  if (healthy === undefined || lost === undefined) throw new Error('expected a replica and another one of its shard');
  const [own, whole] = [`${replica + 1}`, `${shard + 1}-${replica + 1}`];
  for (const [name, table] of [
    [own, 'events_local'],
    [whole, 'schema_version'],
    [whole, 'cluster_layout'],
  ])
    await dropReplica(access, healthy.host, `SYSTEM DROP REPLICA '${name}' FROM TABLE ${table}`);
  await askReplica(access, lost.host, `CREATE DATABASE ${access.database}`);
  for (const table of ['events_local', 'events', 'schema_version', 'cluster_layout'])
    await askReplica(
      access,
      lost.host,
      await askReplica(access, healthy.host, `SHOW CREATE TABLE ${table} FORMAT TSVRaw`),
    );
}

/** Keeper takes a killed replica for active until its session expires. */
async function dropReplica(access: ReplicaAccess, host: string, sql: string): Promise<void> {
  for (const end = performance.now() + sessionMsMax; ; await sleep(1000)) {
    try {
      return void (await askReplica(access, host, sql));
    } catch (error) {
      if (performance.now() > end || !String(error).includes("because it's active")) throw error;
    }
  }
}

/** Compares the rows of the replicas of each shard, once each has all. Returns a line for each shard whose replicas differ. */
export async function replicaDifferences(access: ReplicaAccess): Promise<string[]> {
  const row = 'project_id, day, event, distinct_id, uuid, timestamp, properties, received_at';
  const found: string[] = [];
  for (const [at, replicas] of access.shards.entries()) {
    const sums = [];
    for (const { host } of replicas) {
      await askReplica(access, host, 'SYSTEM SYNC REPLICA events_local');
      sums.push(await askReplica(access, host, `SELECT count(), sum(cityHash64(${row})) FROM events_local FINAL`));
    }
    if (new Set(sums).size > 1) found.push(`replicas of shard ${at + 1} differ: ${sums.join(' / ')}`);
  }
  return found;
}
