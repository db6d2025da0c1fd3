import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../with-server.ts';
import { cpuSecondsOfTree, residentBytes, residentBytesOfTree } from './process.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export const benchProjectKey = 'phc_benchProjectKey0123456789';
export const benchPersonalKey = 'phx_benchPersonalKey0123456789';

/** Starts the real program on its own data directory, as `npm start` does. */
export interface MillraceProcess {
  readonly pid: number;
  readonly url: string;
  readonly readySeconds: number;
  stop(): Promise<void>;
}

export function benchDataDir(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** `more` adds environment variables. */
export async function startMillrace(
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Promise<MillraceProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const started = performance.now();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      // As `npm start` sets it.
      MALLOC_ARENA_MAX: '2',
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: benchProjectKey,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: benchPersonalKey,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'error',
      ...more,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const pid = child.pid ?? 0;
  while ((await statusOf(`${url}/readyz`)) !== 200) {
    if (child.exitCode !== null) throw new Error(`expected the service to start, it ended with ${child.exitCode}`);
    await delay(10);
  }
  const readySeconds = (performance.now() - started) / 1000;
  return {
    pid,
    url,
    readySeconds,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

async function statusOf(url: string): Promise<number> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status ?? 0;
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** GET with the bench key, as JSON. */
export async function getJson<T>(url: string): Promise<T> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${benchPersonalKey}` } });
  if (answer.status !== 200) throw new Error(`expected 200 from ${url}, got: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/**
 * Waits until nothing waits in the log: every row is queryable then, and persons, usage and dead letters, which come a moment after the rows,
 * are there, too. Throws with how many events wait after `withinMs`.
 */
export async function untilDrained(url: string, withinMs = 600_000, pollMs = 100): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const waiting = [...text.matchAll(/^millrace_buffer_events\{[^}]*\} (\S+)$/gm)].map((match) => Number(match[1]));
    if (waiting.length === 2 && waiting.every((events) => events === 0)) return;
    if (performance.now() > deadline) throw new Error(`expected nothing to wait, got: ${waiting.join(' and ')} events`);
    await delay(pollMs);
  }
}

/** Waits until a process and its children have been idle for a second, so that background merges have ended. */
export async function untilIdle(pid: number): Promise<void> {
  for (let quiet = 0; quiet < 4;) {
    const before = cpuSecondsOfTree(pid);
    await delay(250);
    quiet = cpuSecondsOfTree(pid) - before < 0.03 ? quiet + 1 : 0;
  }
}

/** Highest resident memory of the process tree, and of the process alone, until stopped; sampled five times a second. */
export function watchMemory(pid: number): { peakBytes: () => number; ownPeakBytes: () => number; stop: () => void } {
  let peak = 0;
  let own = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytesOfTree(pid));
    own = Math.max(own, residentBytes(pid));
  }, 200);
  return { peakBytes: () => peak, ownPeakBytes: () => own, stop: () => clearInterval(timer) };
}
