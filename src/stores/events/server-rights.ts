/** What the user of CLICKHOUSE_URL must be granted. docs/guides/clickhouse-cluster.md has the same statements; a test compares. */
export interface ClickhouseRight {
  /** `{database}` is that of CLICKHOUSE_URL. */
  readonly right: string;
  /** Whether only a cluster needs it. */
  readonly isOfCluster?: true;
}

export const clickhouseRights: readonly ClickhouseRight[] = [
  { right: 'SELECT, INSERT, CREATE TABLE, DROP TABLE ON {database}.*' },
  { right: 'ALTER DELETE, ALTER COLUMN, ALTER INDEX, ALTER SETTINGS, CHECK ON {database}.*' },
  { right: 'SYSTEM SYNC REPLICA ON {database}.*', isOfCluster: true },
  { right: 'SELECT ON system.parts' },
  { right: 'SELECT ON system.detached_parts' },
  { right: 'SELECT ON system.mutations' },
  { right: 'SELECT ON system.replicas', isOfCluster: true },
  { right: 'SELECT ON system.clusters', isOfCluster: true },
  { right: 'SELECT ON system.distributed_ddl_queue', isOfCluster: true },
  { right: 'CLUSTER, REMOTE ON *.*', isOfCluster: true },
  { right: 'TABLE ENGINE ON MergeTree, TABLE ENGINE ON ReplacingMergeTree' },
  { right: 'TABLE ENGINE ON ReplicatedMergeTree, TABLE ENGINE ON ReplicatedReplacingMergeTree', isOfCluster: true },
  { right: 'TABLE ENGINE ON Distributed', isOfCluster: true },
];
