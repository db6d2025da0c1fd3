/**
 * A cluster on this machine whose processes and servers are ended and restarted: real Kafka and PostgreSQL, and the ClickHouse replicas of
 * tools/with-clickhouse.ts, or without them a test double.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseBroker } from '../../../src/log/kafka-connection/access.ts';
import type { KafkaLogOptions } from '../../../src/server/service/stores.ts';
import { testBucketServer, type TestBucketServer } from '../../../test/support/bucket-server.ts';
import { ClickhouseStandIn } from '../../../test/support/clickhouse-stand-in.ts';
import { findKafkaJars, startKafkaBroker, type KafkaBroker } from '../../../test/support/kafka-broker.ts';
import { findPostgres, startPostgres, type PostgresServer } from '../../../test/support/postgres-server.ts';
import { freePort } from '../../with-server.ts';

const program = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const restMs = 300;
const linesKept = 500;
/** Last lines of a process that ended unexpectedly. */
const linesOfEnd = 6;
const charsOfEnd = 600;

export const stormKeys = { project: 'phc_stormProjectKey0123456789', personal: 'phx_stormPersonalKey0123456789' };

/** One process of the program, restarted whenever it ends. */
export interface StormProcess {
  readonly name: string;
  readonly roles: string;
  readonly url: string;
  signal(signal: NodeJS.Signals): void;
  /** Ends it without a restart; SIGKILL by default. Resolves when it is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
  /** Adds a note to its output. */
  note(text: string): void;
  /** The last warnings and errors. */
  readonly said: readonly string[];
  /** Its last output for each unexpected end, and for each stop that failed. */
  readonly failures: string[];
}

/** The differences between processes. */
export interface StormRole {
  readonly name: string;
  readonly roles: string;
  /** Events per window, different for each process, so that they divide the log differently. */
  readonly windowEvents: number;
}

export interface StormCluster extends AsyncDisposable {
  readonly clickhouse: StormClickhouse;
  readonly databaseUrl: string;
  readonly broker: KafkaBroker;
  readonly postgres: PostgresServer;
  /** Connection to its event log. */
  readonly kafka: KafkaLogOptions;
  start(role: StormRole): Promise<StormProcess>;
}

export interface StormClickhouse extends ClickhousePlace {
  /** Removes and returns the statements that it has received; `undefined` if separate servers have. */
  takeStatements(): readonly string[] | undefined;
}

interface ClickhousePlace {
  readonly url: string;
  /** Empty for one server. */
  readonly cluster: string;
  readonly replicas: string;
}

export interface StormClusterOptions {
  readonly slots: number;
  readonly fence: boolean;
}

export async function openStormCluster(options: StormClusterOptions): Promise<StormCluster> {
  await using cleanup = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'millrace-storm-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  // PostgreSQL runs as another user, which needs access.
  chmodSync(dir, 0o711);
  const broker = await startBroker(makeDir(dir, 'kafka'), cleanup);
  const postgres = await startDatabase(makeDir(dir, 'postgres'), cleanup);
  const clickhouse = await openClickhouse(cleanup);
  const bucket = cleanup.use(await testBucketServer({ bucket: 'millrace', accessKeyId: 'millrace' }));
  const kafka = kafkaOptions(broker.plain, options.slots);
  const env = processEnv(options, { kafka, broker: broker.plain, clickhouse, bucket });
  const owned = cleanup.move();
  return {
    clickhouse,
    broker,
    postgres,
    databaseUrl: postgres.url,
    kafka,
    start: async (role) => {
      const own = {
        MILLRACE_ROLES: role.roles,
        MILLRACE_DATA_DIR: makeDir(dir, role.name),
        MILLRACE_WINDOW_EVENTS_MAX: String(role.windowEvents),
        // So that its transactions can be distinguished from those of others.
        DATABASE_URL: `${postgres.url}?application_name=${role.name}`,
      };
      const started = await keepRunning(role, { ...env, ...own });
      owned.defer(() => started.end());
      return started;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function makeDir(parent: string, name: string): string {
  const path = join(parent, name);
  mkdirSync(path);
  return path;
}

/** Ends all servers even if the proof fails. */
function deferAlways(cleanup: AsyncDisposableStack, stop: () => void | Promise<void>): void {
  const atExit = (): void => void stop();
  process.once('exit', atExit);
  cleanup.defer(async () => {
    process.off('exit', atExit);
    await stop();
  });
}

async function startBroker(dir: string, cleanup: AsyncDisposableStack): Promise<KafkaBroker> {
  const jars = await findKafkaJars();
  if (typeof jars === 'string') throw new Error(`no Kafka broker: ${jars}`);
  const broker = await startKafkaBroker(jars, dir);
  deferAlways(cleanup, () => broker.kill());
  return broker;
}

async function startDatabase(dir: string, cleanup: AsyncDisposableStack): Promise<PostgresServer> {
  const binaries = findPostgres();
  if (binaries === undefined)
    throw new Error('expected PostgreSQL, got none: install it (Debian: apt-get install postgresql)');
  const postgres = await startPostgres(binaries, dir);
  deferAlways(cleanup, () => postgres.stop());
  return postgres;
}

async function openClickhouse(cleanup: AsyncDisposableStack): Promise<StormClickhouse> {
  const {
    CLICKHOUSE_URL: url,
    MILLRACE_CLICKHOUSE_CLUSTER: cluster,
    MILLRACE_CLICKHOUSE_REPLICAS: replicas,
  } = process.env;
  if (url !== undefined)
    return { url, cluster: cluster ?? '', replicas: replicas ?? '', takeStatements: () => undefined };
  const standIn = new ClickhouseStandIn();
  cleanup.defer(() => standIn.close());
  const takeStatements = (): string[] => standIn.statements.splice(0);
  return { url: await standIn.listen(), cluster: '', replicas: '', takeStatements };
}

function kafkaOptions(address: string, slots: number): KafkaLogOptions {
  const broker = parseBroker(address);
  if (broker === undefined) throw new Error(`expected host:port, got: ${address}`);
  const topicPrefix = `storm-${randomUUID()}`;
  const access = { tls: undefined, sasl: undefined };
  return { brokers: [broker], access, topicPrefix, slots, replication: 1, minInsync: 1, bodyBytesMax: 20_971_520 };
}

interface Servers {
  readonly kafka: KafkaLogOptions;
  readonly broker: string;
  readonly clickhouse: ClickhousePlace;
  readonly bucket: TestBucketServer;
}

function processEnv({ fence }: StormClusterOptions, servers: Servers) {
  return {
    PATH: process.env['PATH'],
    KAFKA_BROKERS: servers.broker,
    MILLRACE_KAFKA_TOPIC_PREFIX: servers.kafka.topicPrefix,
    MILLRACE_KAFKA_REPLICATION: '1',
    MILLRACE_KAFKA_MIN_INSYNC: '1',
    MILLRACE_SLOTS: String(servers.kafka.slots),
    MILLRACE_DATABASE_CONNECTIONS: '9',
    CLICKHOUSE_URL: servers.clickhouse.url,
    MILLRACE_CLICKHOUSE_CLUSTER: servers.clickhouse.cluster,
    MILLRACE_CLICKHOUSE_REPLICAS: servers.clickhouse.replicas,
    MILLRACE_IMPORT_STAGING: 's3://millrace/staging',
    MILLRACE_IMPORT_STAGING_ENDPOINT: servers.bucket.endpoint,
    MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'millrace',
    MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'secret',
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: stormKeys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: stormKeys.personal,
    MILLRACE_API_RATE_LIMIT: 'off',
    MILLRACE_LOG_LEVEL: 'warn',
    ...(!fence && { MILLRACE_ALLOW_FAILPOINTS: 'true', MILLRACE_SLOT_FENCE: 'false' }),
  };
}

async function keepRunning(
  { name, roles }: StormRole,
  env: Readonly<Record<string, string | undefined>>,
): Promise<StormProcess> {
  const port = await freePort();
  const said: string[] = [];
  const failures: string[] = [];
  let isOver = false;
  let child: ChildProcess;
  const start = (): void => {
    child = spawn(process.execPath, [program, 'serve'], {
      env: { ...env, MILLRACE_PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n')) if (line !== '') said.push(shortened(line));
      said.splice(0, said.length - linesKept);
    });
    child.once('exit', (code) => {
      if (!isOver && code !== null && code !== 0) failures.push(`${name} ended with ${code}: ${lastOf(said)}`);
      if (!isOver) setTimeout(() => isOver || start(), restMs);
    });
  };
  start();
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  return {
    name,
    roles,
    url: `http://127.0.0.1:${port}`,
    said,
    failures,
    note: (text) => void said.push(`${new Date().toISOString()} ${text}`),
    signal: (signal) => void child.kill(signal),
    end: async (signal = 'SIGKILL') => {
      isOver = true;
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.kill(signal);
        await gone;
      }
      process.off('exit', killNow);
    },
  };
}

function lastOf(said: readonly string[]): string {
  return said.slice(-linesOfEnd).join('; ').slice(-charsOfEnd);
}

/** Returns the message and the reason of a log line, without the stack. */
function shortened(line: string): string {
  try {
    const { time, level, msg, err } = JSON.parse(line) as Record<string, string> & { err?: { message: string } };
    return `${time} ${level} ${msg}${err === undefined ? '' : `: ${err.message}`}`;
  } catch {
    // Output of the program for its starter, or a line that arrived in two pieces.
    return line;
  }
}

export async function untilReady({ url, name, said }: StormProcess, withinMs: number): Promise<void> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(100)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error(`expected ${name} to be ready within ${withinMs / 1000} s; it said:\n${said.slice(-20).join('\n')}`);
}
