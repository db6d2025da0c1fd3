/** A cluster on this machine with each part in a separate process, so that the CPU time of each can be read. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { testBucketServer } from '../../../test/support/bucket-server.ts';
import { findKafkaJars, startKafkaBroker } from '../../../test/support/kafka-broker.ts';
import { findPostgres, startPostgres } from '../../../test/support/postgres-server.ts';
import { forkServer } from '../../bench/process.ts';
import { freePort } from '../../with-server.ts';

const program = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const readyMs = 600_000;

export const scalingKeys = { project: 'phc_scalingProjectKey0123456789', personal: 'phx_scalingPersonalKey0123456789' };

export interface ScalingProcess {
  readonly pid: number;
  readonly url: string;
  /** Sends SIGSTOP, so that a backlog accumulates. A process loses its slots when it is suspended for longer than their lease. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGTERM; resolves when it is gone. */
  stop(): Promise<void>;
}

export interface ScalingCluster extends AsyncDisposable {
  /** Processes of the servers. */
  readonly pids: { readonly kafka: number; readonly postgres: number; readonly store: number };
  readonly databaseUrl: string;
  readonly storeUrl: string;
  /** Resolves when it is ready. */
  start(roles: string): Promise<ScalingProcess>;
}

/** Real Kafka and PostgreSQL; ClickHouse is chDB behind HTTP, the bucket a test double in this process. */
export async function openScalingCluster(slots: number): Promise<ScalingCluster> {
  await using cleanup = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'millrace-scaling-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  // PostgreSQL runs as another user, who has to get through.
  chmodSync(dir, 0o711);
  const jars = await findKafkaJars();
  if (typeof jars === 'string') throw new Error(`no Kafka broker: ${jars}`);
  const binaries = findPostgres();
  if (binaries === undefined)
    throw new Error('expected PostgreSQL, got none: install it (Debian: apt-get install postgresql)');
  const broker = await startKafkaBroker(jars, makeDir(dir, 'kafka'));
  deferAlways(cleanup, () => broker.kill());
  const postgres = await startPostgres(binaries, makeDir(dir, 'postgres'));
  deferAlways(cleanup, () => postgres.stop());
  const store = await forkServer(new URL('stand-in-process.ts', import.meta.url), []);
  cleanup.defer(() => store.stop());
  const bucket = cleanup.use(await testBucketServer({ bucket: 'millrace', accessKeyId: 'millrace' }));
  const env = {
    PATH: process.env['PATH'],
    KAFKA_BROKERS: broker.plain,
    MILLRACE_KAFKA_TOPIC_PREFIX: `scaling-${randomUUID()}`,
    MILLRACE_KAFKA_REPLICATION: '1',
    MILLRACE_KAFKA_MIN_INSYNC: '1',
    MILLRACE_SLOTS: String(slots),
    DATABASE_URL: postgres.url,
    MILLRACE_DATABASE_CONNECTIONS: '12',
    CLICKHOUSE_URL: store.url,
    MILLRACE_IMPORT_STAGING: 's3://millrace/staging',
    MILLRACE_IMPORT_STAGING_ENDPOINT: bucket.endpoint,
    MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'millrace',
    MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'secret',
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: scalingKeys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: scalingKeys.personal,
    MILLRACE_API_RATE_LIMIT: 'off',
    MILLRACE_LOG_LEVEL: 'error',
  };
  let made = 0;
  const owned = cleanup.move();
  return {
    pids: { kafka: broker.pid(), postgres: postgres.pid(), store: store.pid },
    databaseUrl: postgres.url,
    storeUrl: store.url,
    start: async (roles) => {
      made += 1;
      const data = makeDir(dir, `${roles}-${made}`);
      const started = await startProcess({ ...env, MILLRACE_ROLES: roles, MILLRACE_DATA_DIR: data });
      owned.defer(() => started.stop());
      return started;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whatever goes wrong leaves no server behind. */
function deferAlways(cleanup: AsyncDisposableStack, stop: () => void | Promise<void>): void {
  const atExit = (): void => void stop();
  process.once('exit', atExit);
  cleanup.defer(async () => {
    process.off('exit', atExit);
    await stop();
  });
}

function makeDir(parent: string, name: string): string {
  const path = join(parent, name);
  mkdirSync(path);
  return path;
}

async function startProcess(env: Readonly<Record<string, string | undefined>>): Promise<ScalingProcess> {
  const port = await freePort();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { ...env, MILLRACE_PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  const url = `http://127.0.0.1:${port}`;
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  for (const end = Date.now() + readyMs; ; await sleep(50)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) break;
    if (!isGone() && Date.now() < end) continue;
    killNow();
    throw new Error(`expected ${env['MILLRACE_ROLES']} to be ready within ${readyMs / 1000} s, it was not`);
  }
  return {
    pid: child.pid ?? 0,
    url,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: async () => {
      process.off('exit', killNow);
      if (isGone()) return;
      const gone = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await gone;
    },
  };
}
