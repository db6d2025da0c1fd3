/** Processes of a cluster on the servers of KAFKA_BROKERS, DATABASE_URL, CLICKHOUSE_URL and BUCKET_ENDPOINT. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../with-server.ts';

export const clusterKeys = { project: 'phc_proveProjectKey0123456789', personal: 'phx_provePersonalKey0123456789' };
/** The program of this checkout. */
export const ownProgram = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));

export interface RoleOptions {
  /** For the data directories of all processes. */
  readonly dir: string;
  /** Default: the program of this checkout. */
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ClusterProcess {
  readonly name: string;
  readonly role: string;
  readonly child: ChildProcess;
  readonly url: string;
  /** Its last output. */
  readonly said: readonly string[];
}

const linesKept = 200;
const readyMsMax = 300_000;
let launched = 0;
const running = new Set<ChildProcess>();
// Whatever goes wrong in a proof leaves no process behind.
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export function neededServer(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(`expected ${name}, got none; see what this script says it needs`);
  return value;
}

/** Starts a process of a role, which need not become ready. */
export async function launchRole(
  role: string,
  { dir, program = ownProgram, env }: RoleOptions,
): Promise<ClusterProcess> {
  const name = `${role}-${(launched += 1)}`;
  const port = await freePort();
  const child = spawn(process.execPath, [program, 'serve', '--roles', role], {
    env: {
      ...process.env,
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: join(dir, name),
      DATABASE_URL: neededServer('DATABASE_URL'),
      KAFKA_BROKERS: neededServer('KAFKA_BROKERS'),
      CLICKHOUSE_URL: neededServer('CLICKHOUSE_URL'),
      MILLRACE_KAFKA_REPLICATION: '1',
      MILLRACE_KAFKA_MIN_INSYNC: '1',
      MILLRACE_IMPORT_STAGING: `s3://${neededServer('BUCKET_NAME')}/imports`,
      MILLRACE_IMPORT_STAGING_ENDPOINT: neededServer('BUCKET_ENDPOINT'),
      MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: neededServer('BUCKET_ACCESS_KEY_ID'),
      MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: neededServer('BUCKET_SECRET_ACCESS_KEY'),
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: clusterKeys.project,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: clusterKeys.personal,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'error',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    said.push(
      ...chunk
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
    );
    said.splice(0, said.length - linesKept);
  });
  return { name, role, child, url: `http://127.0.0.1:${port}`, said };
}

export async function startRole(role: string, options: RoleOptions): Promise<ClusterProcess> {
  const started = await launchRole(role, options);
  await untilReady(started);
  return started;
}

export async function untilReady({ name, url, child, said }: ClusterProcess): Promise<void> {
  for (const end = Date.now() + readyMsMax; Date.now() < end && child.exitCode === null; await delay(100)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error(
    `expected ${name} to be ready, got exit code ${child.exitCode}; it said:\n${said.slice(-20).join('\n')}`,
  );
}

/** Resolves with the exit code, null after a kill, once the process has ended. */
export async function endProcess({ child }: ClusterProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
  return child.exitCode;
}

export function endAll(): void {
  running.forEach((child) => child.kill('SIGKILL'));
}
