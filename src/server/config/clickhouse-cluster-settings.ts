/** Settings that make CLICKHOUSE_URL a cluster. Part of the table in settings.ts. */
export const clickhouseClusterSettings = {
  clickhouseCluster: {
    env: 'MILLRACE_CLICKHOUSE_CLUSTER',
    type: 'string',
    default: '',
    help: 'Name of the ClickHouse cluster of CLICKHOUSE_URL, for replicated tables and sharded rows. Empty for a single server.',
  },
  clickhouseReplicas: {
    env: 'MILLRACE_CLICKHOUSE_REPLICAS',
    type: 'string',
    default: '',
    help: "Addresses of the cluster's servers: replicas separated by commas, shards by semicolons (a:8123,b:8123;c:8123,d:8123). Empty for those in the cluster's configuration, on the port of CLICKHOUSE_URL.",
  },
} as const;
