import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished, TestRunner } from 'vitest';
import { freePort } from '../../tools/with-server.ts';
import { hasProc, storePid } from './processes.ts';
import { personalKey, projectKey } from './server-keys.ts';
import { untilDrained } from '../../tools/bench/server.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export { freePort, personalKey, projectKey };

export interface TestServer {
  readonly url: string;
  readonly dataDir: string;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  output(): string;
  /** As `kill -9` does; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with exit code and the time it took. */
  terminate(): Promise<{ code: number | null; ms: number }>;
}

/** A data directory that outlives kills and restarts of the servers on it. */
export async function tempDataDir(): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'millrace-e2e-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/**
 * Nothing that a test starts outlives it, however it ends: not the server, and not its event store, which, stopped by the
 * test, would not notice that the server is gone. What beforeAll starts, afterAll ends.
 */
function endWithTest(child: ChildProcess): void {
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => killWithStore(child));
}

function killWithStore(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const store = hasProc ? storePid({ child }) : undefined;
  child.kill('SIGKILL');
  if (store !== undefined) process.kill(store, 'SIGKILL');
}

export interface StartOptions {
  readonly waitForReady?: boolean;
  readonly stderr?: 'pipe' | number;
  /** Default 90,000: on a busy machine a start takes many times what it takes alone. */
  readonly readyMs?: number;
}

/**
 * Starts the real program on `dataDir` and waits until it is ready. It ends with the test that starts it. One that others know
 * by its address gets its port in `env`. `stderr`: a file that is open, instead of what `output` gives.
 */
export async function startServer(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  { waitForReady = true, stderr = 'pipe', readyMs = 90_000 }: StartOptions = {},
): Promise<TestServer> {
  const port = Number(env['MILLRACE_PORT'] ?? (await freePort()));
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: projectKey,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: personalKey,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', stderr],
  });
  endWithTest(child);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const url = `http://127.0.0.1:${port}`;
  const server: TestServer = {
    url,
    dataDir,
    child,
    output: () => output,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    terminate: async () => {
      const started = performance.now();
      child.kill('SIGTERM');
      return { code: await exited, ms: performance.now() - started };
    },
  };
  try {
    await untilUp(server, waitForReady, readyMs);
  } catch (error) {
    killWithStore(child);
    throw error;
  }
  return server;
}

/** Ready, or past its start whatever it says of its parts then; one that is made to die at work may be gone before it is asked. */
async function untilUp(server: TestServer, isReady: boolean, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline) {
    if (!isReady && server.child.signalCode === 'SIGKILL') return;
    if (server.child.exitCode !== null || server.child.signalCode !== null) break;
    const answer = await fetch(`${server.url}${isReady ? '/readyz' : '/livez'}`).catch(() => undefined);
    const body = (await answer?.json().catch(() => undefined)) as { readonly starting?: true } | undefined;
    if (answer?.status === 200 && body !== undefined && body.starting !== true) return;
    await delay(50);
  }
  throw new Error(
    `expected the server to be ${isReady ? 'ready' : 'started'} within ${withinMs / 1000} s; it printed:\n${server.output()}`,
  );
}

/** GET on the management API with the bootstrap key; throws on anything but 200. */
export async function apiGet<T>(server: Pick<TestServer, 'url'>, path: string): Promise<T> {
  const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${personalKey}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`expected 200 from ${path}, got: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

export interface CountsAnswer {
  readonly results: readonly { time: string; event: string; historical_migration: boolean; count: number }[];
  readonly total: { readonly standard: number; readonly historical: number };
}

/** Waits until the store shows as many events, then returns the counts; throws with what there was after `withinMs`. */
export async function untilStored(
  server: Pick<TestServer, 'url'>,
  expected: { standard?: number; historical?: number },
  withinMs = 30_000,
): Promise<CountsAnswer> {
  const deadline = Date.now() + withinMs;
  let last: CountsAnswer | undefined;
  while (Date.now() < deadline) {
    last = await apiGet<CountsAnswer>(server, '/api/projects/@current/events/counts/').catch(() => undefined);
    const standard = expected.standard ?? last?.total.standard;
    const historical = expected.historical ?? last?.total.historical;
    if (last && last.total.standard === standard && last.total.historical === historical) return last;
    await delay(100);
  }
  throw new Error(`expected ${JSON.stringify(expected)} events to be stored, got: ${JSON.stringify(last?.total)}`);
}

/** As untilStored, and until persons, usage and dead letters are there, too: they come a moment after the rows. */
export async function untilSettled(...stored: Parameters<typeof untilStored>): Promise<void> {
  await untilStored(...stored);
  await untilDrained(stored[0].url, 60_000);
}
