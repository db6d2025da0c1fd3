import type { ClickhouseServer } from './server.ts';

/** Servers of a cluster: its shards in their order, each with its replicas. */
export interface ClusterLayout {
  /** Weight of each shard in `remote_servers`: its share of all rows. */
  readonly weights: readonly number[];
  /** Addresses of each shard's replicas, in their order. */
  readonly replicas: readonly (readonly URL[])[];
}

/** Servers and settings do not match; the message states which to change. */
export class ClusterLayoutError extends Error {
  override name = 'ClusterLayoutError';
}

/** A row of system.clusters, in order of shard and replica. */
export interface ClusterRow {
  readonly shard_num: number;
  readonly shard_weight: number;
  readonly host_name: string;
}

export const clusterRowsSql = `SELECT toUInt32(shard_num) AS shard_num, toUInt32(shard_weight) AS shard_weight, host_name
FROM system.clusters WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num`;

/**
 * `replicas` has a shard's addresses separated by commas and shards by semicolons (`a:8123,b:8123;c:8123,d:8123`). If empty, the
 * hosts that the servers use for each other are used, with the port of `url`. Scheme, user, password and database are those of `url`.
 */
export function clusterLayout(
  rows: readonly ClusterRow[],
  { url, cluster, replicas }: { readonly url: URL; readonly cluster: string; readonly replicas: string },
): ClusterLayout {
  if (rows.length === 0) {
    throw new ClusterLayoutError(
      `expected the ClickHouse server to have a cluster ${cluster} (MILLRACE_CLICKHOUSE_CLUSTER), got none of that name; ` +
        'see remote_servers in its configuration, or SELECT DISTINCT cluster FROM system.clusters',
    );
  }
  const shards = Map.groupBy(rows, (row) => row.shard_num);
  const weights = [...shards.values()].map(([row]) => row?.shard_weight ?? 1);
  const known = [...shards.values()].map((members) => members.map(({ host_name: host }) => host));
  const hosts = replicas === '' ? known : parseReplicas(replicas);
  if (hosts.length !== weights.length) {
    throw new ClusterLayoutError(
      `expected MILLRACE_CLICKHOUSE_REPLICAS to name ${weights.length} shards, as the cluster ${cluster} has, got ${hosts.length}; ` +
        'separate shards by semicolons and the replicas of one by commas',
    );
  }
  return { weights, replicas: hosts.map((shard) => shard.map((host) => addressOf(url, host))) };
}

function parseReplicas(text: string): string[][] {
  return text.split(';').map((shard) =>
    shard
      .split(',')
      .map((host) => host.trim())
      .filter((host) => host !== ''),
  );
}

/** Returns addresses that can be queried for the layout of the cluster. */
export function knownAddresses(url: URL, replicas: string): URL[] {
  return [url, ...(replicas === '' ? [] : parseReplicas(replicas).flat()).map((host) => addressOf(url, host))];
}

function addressOf(url: URL, host: string): URL {
  const address = new URL(url);
  // A literal IPv6 address comes without brackets from the servers.
  const isBareV6 = (host.match(/:/g)?.length ?? 0) > 1 && !host.startsWith('[');
  address.host = isBareV6 ? `[${host}]` : host;
  return address;
}

/** Returns the shard by remainder of the hash, as the engine's Distributed table does: each shard has as many remainders as its weight. */
export function slotsOf({ weights }: Pick<ClusterLayout, 'weights'>): number[] {
  return weights.flatMap((weight, shard) => Array.from({ length: weight }, () => shard));
}

/** Checks that shards are unchanged: rows stay on their original shard, and reads would look for them on another. */
export async function checkLayout(
  server: Pick<ClickhouseServer, 'rows'>,
  { weights }: ClusterLayout,
  cluster: string,
): Promise<void> {
  const sql = 'SELECT weights FROM cluster_layout ORDER BY made_at LIMIT 1';
  const [row] = await server.rows<{ weights: number[] }>(sql);
  const made = row?.weights.join(', ') ?? 'none';
  if (made === weights.join(', ')) return;
  throw new ClusterLayoutError(
    `expected the cluster ${cluster} to have the shards that its events were stored on (weights ${made}), got ` +
      `${weights.join(', ')}; restore its shards`,
  );
}
