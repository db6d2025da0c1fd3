/** A cluster on this machine: real Kafka (unless PostgreSQL has the event log), PostgreSQL and processes; ClickHouse and the bucket are stand-ins over HTTP. */
import { randomUUID } from 'node:crypto';
import { testBucketServer } from './bucket-server.ts';
import { ClickhouseStandIn, standInCluster } from './clickhouse-stand-in.ts';
import { kafkaBrokers } from './kafka-servers.ts';
import { startServer, tempDataDir, type TestServer } from './server.ts';

/** Several start at once, on what may be two cores. */
const readyMs = 90_000;

export interface TestCluster extends AsyncDisposable {
  readonly clickhouse: ClickhouseStandIn;
  /** Settings of every process. */
  readonly env: Readonly<Record<string, string>>;
  /** Starts one process with these roles. It ends with the cluster. */
  start(roles: string, env?: Readonly<Record<string, string>>): Promise<TestServer>;
}

interface ClusterOptions {
  readonly slots?: number;
  readonly eventLog?: 'kafka' | 'postgres';
  /** Of ClickHouse; 0: one server without a cluster. */
  readonly shards?: number;
}

/** Without a process yet. `databaseUrl`: an empty database. */
export async function openCluster(
  databaseUrl: string,
  { slots = 4, eventLog = 'kafka', shards = 0 }: ClusterOptions = {},
): Promise<TestCluster> {
  await using cleanup = new AsyncDisposableStack();
  const clickhouse = new ClickhouseStandIn({ shards });
  cleanup.defer(() => clickhouse.close());
  const bucket = cleanup.use(await testBucketServer({ bucket: 'millrace', accessKeyId: 'millrace' }));
  const env = {
    ...(eventLog === 'postgres' ? { MILLRACE_EVENT_LOG: 'postgres' } : kafkaSettings()),
    MILLRACE_SLOTS: String(slots),
    DATABASE_URL: databaseUrl,
    MILLRACE_DATABASE_CONNECTIONS: '9',
    CLICKHOUSE_URL: await clickhouse.listen(),
    ...(shards > 0 && {
      MILLRACE_CLICKHOUSE_CLUSTER: standInCluster,
      MILLRACE_CLICKHOUSE_REPLICAS: clickhouse.replicas,
    }),
    MILLRACE_IMPORT_STAGING: 's3://millrace/staging',
    MILLRACE_IMPORT_STAGING_ENDPOINT: bucket.endpoint,
    MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'millrace',
    MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'secret',
    MILLRACE_LOG_LEVEL: 'info',
  };
  const owned = cleanup.move();
  return {
    clickhouse,
    env,
    start: async (roles, more = {}) => {
      const data = owned.use(await tempDataDir());
      const server = await startServer(data.path, { ...env, MILLRACE_ROLES: roles, ...more }, { readyMs });
      owned.defer(() => server.kill());
      return server;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export function kafkaSettings(): Readonly<Record<string, string>> {
  return {
    KAFKA_BROKERS: kafkaBrokers,
    MILLRACE_KAFKA_TOPIC_PREFIX: `cluster-${randomUUID()}`,
    MILLRACE_KAFKA_REPLICATION: '1',
    MILLRACE_KAFKA_MIN_INSYNC: '1',
  };
}
