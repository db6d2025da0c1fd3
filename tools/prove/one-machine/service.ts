/** The real program on its own directory and port, which can be killed and restarted. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { importPid, sandboxPids, storePid } from '../../../test/support/processes.ts';
import { freePort } from '../../with-server.ts';

export const program = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
export const proofKeys = {
  project: 'phc_proofProjectKey0123456789',
  personal: 'phx_proofPersonalKey0123456789',
} as const;

/** The service itself and its children: the embedded event store, and what plugins run in. */
export const proofParts = ['service', 'store', 'plugins'] as const;
export type ProofPart = (typeof proofParts)[number];
/** Including the import process. */
export type KillablePart = ProofPart | 'imports';

export interface ProofService {
  readonly url: string;
  readonly dataDir: string;
  /** As a start does it again after `kill`. `untilReady` false: it answers nothing yet. `failAt`: where it dies as by kill -9. */
  start(untilReady: boolean, failAt?: string): Promise<void>;
  /** Killed, dead or stopped. */
  hasEnded(): boolean;
  /** kill -9; false: there is no such process now. */
  kill(part: KillablePart): Promise<boolean>;
  untilReady(): Promise<void>;
  /** Its processes that are there now. */
  pids(): Partial<Readonly<Record<ProofPart, number>>>;
  /** SIGTERM. */
  stop(): Promise<void>;
  /** What it has printed lately. */
  said(): string;
  /** Throws on anything but 2xx; what is answered 503 is asked again for a while. */
  call<T>(method: string, path: string, body?: object): Promise<T>;
}

const readyMs = 120_000;
/** The store may be busy with what was sent. */
const busyMs = 60_000;
const saidMax = 20_000;

export interface ProofServiceOptions {
  /** Of Node, e.g. what it shall trace. */
  readonly nodeOptions?: readonly string[];
  /** Called with what it writes to stdout, in pieces. */
  readonly onOutput?: (text: string) => void;
}

/** Not started yet. */
export async function createService(
  dataDir: string,
  { nodeOptions = [], onOutput }: ProofServiceOptions = {},
): Promise<ProofService> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let said = '';
  const running = (): ChildProcess => {
    if (child === undefined) throw new Error('expected the service to be started');
    return child;
  };
  // Whatever goes wrong here leaves no service behind.
  process.once('exit', () => child?.kill('SIGKILL'));
  const untilReady = async (): Promise<void> => {
    for (const end = Date.now() + readyMs; Date.now() < end; await sleep(50)) {
      if (isOver(running())) throw new Error(`expected the service to stay, it ended; it printed:\n${said}`);
      if ((await statusOf(`${url}/readyz`)) === 200) return;
    }
    throw new Error(`expected the service to be ready within ${readyMs / 1000} s; it printed:\n${said}`);
  };
  return {
    url,
    dataDir,
    hasEnded: () => isOver(running()),
    start: async (wait, failAt) => {
      const env = { ...environment(dataDir, port), ...(failAt !== undefined && failing(failAt)) };
      child = spawn(process.execPath, [...nodeOptions, program, 'serve'], { env, stdio: 'pipe' });
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidMax)));
      }
      if (onOutput !== undefined) child.stdout?.on('data', onOutput);
      if (wait) await untilReady();
    },
    kill: async (part) => {
      if (part === 'service') return end(running(), 'SIGKILL').then(() => true);
      const pid = part === 'imports' ? importPid({ child: running() }) : pidsOf(running())[part];
      return pid !== undefined && killed(pid);
    },
    untilReady,
    pids: () => pidsOf(running()),
    stop: async () => end(running(), 'SIGTERM'),
    said: () => said,
    call: (method, path, body) => call(url + path, method, body),
  };
}

function pidsOf(child: ChildProcess): Partial<Readonly<Record<ProofPart, number>>> {
  const [store, plugins] = [storePid({ child }), sandboxPids({ child })[0]];
  return {
    ...(child.pid === undefined ? {} : { service: child.pid }),
    ...(store === undefined ? {} : { store }),
    ...(plugins === undefined ? {} : { plugins }),
  };
}

function environment(dataDir: string, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    MILLRACE_PORT: String(port),
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: proofKeys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: proofKeys.personal,
    MILLRACE_API_RATE_LIMIT: 'off',
    MILLRACE_LOG_LEVEL: 'warn',
  };
}

function failing(failAt: string): NodeJS.ProcessEnv {
  return { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' };
}

const isOver = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (isOver(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** False when it ended meanwhile. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function statusOf(url: string): Promise<number> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status ?? 0;
}

async function call<T>(url: string, method: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${proofKeys.personal}`, 'content-type': 'application/json' };
  const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const end = Date.now() + busyMs;
  let answer = await fetch(url, request);
  for (; answer.status === 503 && Date.now() < end; answer = await fetch(url, request)) {
    await answer.arrayBuffer();
    await sleep(1000);
  }
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${url} to succeed, got: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
