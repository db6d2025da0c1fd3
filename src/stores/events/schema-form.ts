/** SQL for the tables of the event store, on one server or on each of a cluster's. */
export interface SchemaForm {
  /** Follows a table's name in a statement for all servers; empty on one server. */
  readonly everywhere: string;
  /** The table with the rows; on one server it is also the one that is read. */
  readonly rowsOf: (table: string) => string;
  /** Engine of a table whose rows are distributed over the shards. */
  readonly engine: (name: 'ReplacingMergeTree', table: string, version: string) => string;
  /** Engine of a small table that is complete on every server. */
  readonly wholeEngine: (table: string) => string;
  /** Settings that make a repeated insert token harmless. */
  readonly tokenWindow: string;
  /** Statements that create the table through which all shards are read, with the columns of the shard key; none on one server. */
  readonly readThrough: (table: string, columns: string) => readonly string[];
  /** The same for a table without those columns, which servers refuse with the key. */
  readonly readThroughUnkeyed: (table: string, columns: string) => readonly string[];
  /** The same for a table with the columns of another one. */
  readonly readThroughAs: (table: string, like: string) => readonly string[];
  /** Statements that change that table; none on one server. */
  readonly alterReadThrough: (table: string, change: string) => readonly string[];
  /** Further statements for a cluster. */
  readonly extra: readonly string[];
}

/** Number of remembered tokens: more than the inserts before the last attempt of one. */
const tokens = 10_000;

export const singleForm: SchemaForm = {
  everywhere: '',
  rowsOf: (table) => table,
  engine: (name, _table, version) => `${name}(${version})`,
  wholeEngine: () => 'MergeTree',
  tokenWindow: `non_replicated_deduplication_window = ${tokens}`,
  readThrough: () => [],
  readThroughUnkeyed: () => [],
  readThroughAs: () => [],
  alterReadThrough: () => [],
  extra: [],
};

/** How long a token is remembered: a worker that repeats a range after a week still duplicates nothing. */
const tokenSeconds = 30 * 86_400;

export interface ClusterPlace {
  /** Its name on the servers (`remote_servers`). */
  readonly cluster: string;
  readonly database: string;
  /** Weights of its shards. */
  readonly weights: readonly number[];
}

/**
 * Returns the SQL for a cluster. The servers' macros `{shard}` and `{replica}` identify them; a table that is complete on all servers
 * has one path for all of them, the others have one per shard.
 */
export function clusterForm({ cluster, database, weights }: ClusterPlace, shardKeySql: string): SchemaForm {
  const everywhere = ` ON CLUSTER '${cluster}'`;
  const wholeEngine = (table: string): string =>
    `ReplicatedMergeTree('/clickhouse/tables/all/{database}/${table}', '{shard}-{replica}')`;
  const distributed = (table: string, key = `, ${shardKeySql}`): string =>
    `ENGINE = Distributed('${cluster}', '${database}', '${table}_local'${key})`;
  const through = (table: string, columns: string, engine: string): string =>
    `CREATE TABLE IF NOT EXISTS ${table}${everywhere} (
  ${columns}
)
${engine}`;
  return {
    everywhere,
    rowsOf: (table) => `${table}_local`,
    engine: (name, table, version) =>
      `Replicated${name}('/clickhouse/tables/{shard}/{database}/${table}_local', '{replica}', ${version})`,
    wholeEngine,
    tokenWindow: `replicated_deduplication_window = ${tokens}, replicated_deduplication_window_seconds = ${tokenSeconds}`,
    readThrough: (table, columns) => [through(table, columns, distributed(table))],
    readThroughUnkeyed: (table, columns) => [through(table, columns, distributed(table, ''))],
    readThroughAs: (table, like) => [
      `CREATE TABLE IF NOT EXISTS ${table}${everywhere} AS ${like}
${distributed(table)}`,
    ],
    alterReadThrough: (table, change) => [`ALTER TABLE ${table}${everywhere} ${change}`],
    extra: [
      `CREATE TABLE IF NOT EXISTS cluster_layout${everywhere} (
  weights Array(UInt32),
  made_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ${wholeEngine('cluster_layout')}
ORDER BY made_at
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
      // The oldest row counts: a second one, after a crash, changes nothing.
      `INSERT INTO cluster_layout (weights) SELECT [${weights.join(', ')}]`,
    ],
  };
}
