/** A cluster on this machine whose processes and servers end and come back: real Kafka and PostgreSQL, ClickHouse as a stand-in. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { testBucketServer } from '../../test/support/bucket-server.ts';
import { ClickhouseStandIn } from '../../test/support/clickhouse-stand-in.ts';
import { findKafkaJars, startKafkaBroker, type KafkaBroker } from '../../test/support/kafka-broker.ts';
import { findPostgres, startPostgres, type PostgresServer } from '../../test/support/postgres-server.ts';
import { freePort } from '../with-server.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const restMs = 300;

export const stormKeys = { project: 'phc_stormProjectKey0123456789', personal: 'phx_stormPersonalKey0123456789' };

/** One process of the program, started again whenever it ends. */
export interface StormProcess {
  readonly name: string;
  readonly url: string;
  signal(signal: NodeJS.Signals): void;
  end(): Promise<void>;
  /** What it has said on a fault of the program's, not of a server that is away. */
  readonly said: string[];
}

export interface StormCluster extends AsyncDisposable {
  readonly clickhouse: ClickhouseStandIn;
  readonly databaseUrl: string;
  readonly clickhouseUrl: string;
  readonly topicPrefix: string;
  readonly broker: KafkaBroker;
  readonly postgres: PostgresServer;
  start(name: string, roles: string): Promise<StormProcess>;
}

export interface StormClusterOptions {
  readonly slots: number;
  /** Events of one window; odd, so that ranges do not fall in with batches. */
  readonly windowEvents: number;
  readonly fence: boolean;
}

export async function openStormCluster(options: StormClusterOptions): Promise<StormCluster> {
  await using cleanup = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'millrace-storm-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  // PostgreSQL runs as another user, who has to get through.
  chmodSync(dir, 0o711);
  const [brokerDir, postgresDir] = ['kafka', 'postgres'].map((name) => {
    mkdirSync(join(dir, name));
    return join(dir, name);
  });
  const jars = await findKafkaJars();
  if (typeof jars === 'string') throw new Error(`no Kafka broker: ${jars}`);
  const binaries = findPostgres();
  if (binaries === undefined)
    throw new Error('expected PostgreSQL, got none: install it (Debian: apt-get install postgresql)');
  const broker = await startKafkaBroker(jars, brokerDir ?? dir);
  cleanup.defer(() => broker.kill());
  const postgres = await startPostgres(binaries, postgresDir ?? dir);
  cleanup.defer(() => postgres.stop());
  const clickhouse = new ClickhouseStandIn();
  cleanup.defer(() => clickhouse.close());
  const clickhouseUrl = await clickhouse.listen();
  const bucket = cleanup.use(await testBucketServer({ bucket: 'millrace', accessKeyId: 'millrace' }));
  const topicPrefix = `storm-${randomUUID()}`;
  const env = {
    PATH: process.env['PATH'],
    KAFKA_BROKERS: broker.plain,
    MILLRACE_KAFKA_TOPIC_PREFIX: topicPrefix,
    MILLRACE_KAFKA_REPLICATION: '1',
    MILLRACE_KAFKA_MIN_INSYNC: '1',
    MILLRACE_SLOTS: String(options.slots),
    MILLRACE_WINDOW_EVENTS_MAX: String(options.windowEvents),
    DATABASE_URL: postgres.url,
    MILLRACE_DATABASE_CONNECTIONS: '9',
    CLICKHOUSE_URL: clickhouseUrl,
    MILLRACE_IMPORT_STAGING: 's3://millrace/staging',
    MILLRACE_IMPORT_STAGING_ENDPOINT: bucket.endpoint,
    MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'millrace',
    MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'secret',
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: stormKeys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: stormKeys.personal,
    MILLRACE_API_RATE_LIMIT: 'off',
    MILLRACE_LOG_LEVEL: 'warn',
    ...(!options.fence && { MILLRACE_ALLOW_FAILPOINTS: 'true', MILLRACE_SLOT_FENCE: 'false' }),
  };
  const owned = cleanup.move();
  return {
    clickhouse,
    broker,
    postgres,
    databaseUrl: postgres.url,
    clickhouseUrl,
    topicPrefix,
    start: async (name, roles) => {
      const dataDir = join(dir, name);
      mkdirSync(dataDir, { recursive: true });
      const started = await keepRunning(name, { ...env, MILLRACE_ROLES: roles, MILLRACE_DATA_DIR: dataDir });
      owned.defer(() => started.end());
      return started;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function keepRunning(name: string, env: Readonly<Record<string, string | undefined>>): Promise<StormProcess> {
  const port = await freePort();
  const said: string[] = [];
  let isOver = false;
  let child: ChildProcess;
  const start = (): void => {
    child = spawn(process.execPath, [program, 'serve'], {
      env: { ...env, MILLRACE_PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      said.push(chunk.toString());
      if (said.length > 500) said.shift();
    });
    child.once('exit', () => {
      if (!isOver) setTimeout(() => isOver || start(), restMs);
    });
  };
  start();
  const killNow = (): void => void child.kill('SIGKILL');
  // Whatever goes wrong here leaves no process behind.
  process.once('exit', killNow);
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    said,
    signal: (signal) => void child.kill(signal),
    end: async () => {
      isOver = true;
      process.off('exit', killNow);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

export async function untilReady({ url, name, said }: StormProcess, withinMs: number): Promise<void> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(100)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error(`expected ${name} to be ready within ${withinMs / 1000} s; it said:\n${said.join('').slice(-3000)}`);
}
