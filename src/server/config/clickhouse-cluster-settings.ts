/** Beside CLICKHOUSE_URL: what makes one server a cluster. Part of the table in settings.ts. */
export const clickhouseClusterSettings = {
  clickhouseCluster: {
    env: 'MILLRACE_CLICKHOUSE_CLUSTER',
    type: 'string',
    default: '',
    help: 'Name of the ClickHouse cluster that CLICKHOUSE_URL is a server of: replicated tables, rows spread over its shards. Empty: one server.',
  },
  clickhouseReplicas: {
    env: 'MILLRACE_CLICKHOUSE_REPLICAS',
    type: 'string',
    default: '',
    help: 'Addresses of its servers, replicas separated by commas, shards by semicolons (a:8123,b:8123;c:8123,d:8123). Empty: as the servers know each other, on the port of CLICKHOUSE_URL.',
  },
} as const;
