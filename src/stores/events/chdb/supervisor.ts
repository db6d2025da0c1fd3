import { fork, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { backoffMs } from '../../../base/retry.ts';
import { assert } from '../../../base/assert.ts';
import { compileCacheDir } from '../../../base/compile-cache.ts';
import type { Log } from '../../../server/telemetry/log.ts';
import { StoreStartError } from '../eventstore.ts';
import type { FromProcess, ProcessOptions, StartFailure, ToProcess } from './messages.ts';

export interface ChdbOptions {
  /** Directory of the stored events; created if missing. */
  readonly dir: string;
  /** Directory through which rows reach the engine; emptied at start. */
  readonly spoolDir: string;
  readonly memoryBytesMax: number;
  readonly queryTimeoutMs: number;
  readonly log: Log;
  /** Called after the engine's process ended unexpectedly, before it is restarted. */
  readonly onRestart: (reason: string) => void;
  readonly watch?: WatchLimits;
  /** How long the first start waits for an ending process to release the directory. */
  readonly lockWaitMs?: number;
  /** Longest pause before the engine's process is restarted; default 10,000. */
  readonly restartMsMax?: number;
}

export interface WatchLimits {
  /** Time between two heartbeats. */
  readonly heartbeatMs: number;
  /** Unanswered heartbeats after which the process counts as hanging. */
  readonly missedMax: number;
  /** Longest time of one insert. */
  readonly insertMs: number;
}

export interface ChdbSupervisor {
  /** For connectChdb; constant across restarts. */
  readonly socketPath: string;
  /** Pid of the engine's process; undefined between two processes. */
  readonly pid: number | undefined;
  readonly restarts: number;
  close(): Promise<void>;
}

const defaultWatch: WatchLimits = { heartbeatMs: 1000, missedMax: 10, insertMs: 180_000 };
const startMsMax = 300_000;
const defaultLockWaitMs = 10_000;
const lockRetryMs = 250;
/** Retries of the first start after another process (such as the OOM killer) has killed it. */
const killedMax = 3;
const steadyMs = 60_000;
const socketPathBytesMax = 100;
const entry = fileURLToPath(new URL('./process.ts', import.meta.url));

/**
 * Starts the embedded engine in a separate process and keeps it running: after a crash or a hang it is restarted. Rejects with
 * StoreStartError when the first start fails.
 */
export async function startChdb(options: ChdbOptions): Promise<ChdbSupervisor> {
  const processOptions = await prepare(options);
  const supervisor = new Supervisor(processOptions, options);
  await supervisor.start();
  return supervisor;
}

async function prepare(options: ChdbOptions): Promise<ProcessOptions> {
  const dir = resolve(options.dir);
  const spoolDir = resolve(options.spoolDir);
  // The engine reads these as patterns of file names.
  if (/[*?{}\n]/.test(dir + spoolDir)) {
    throw new StoreStartError(
      `expected a data directory without the characters * ? { }, got ${dir}; choose another one`,
    );
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await mkdir(spoolDir, { recursive: true, mode: 0o700 });
  for (const name of await readdir(spoolDir)) {
    if (name.endsWith('.native')) await rm(join(spoolDir, name), { force: true });
  }
  // mkdtemp creates a directory for this user only (0700), which protects the socket.
  const socketDir = await mkdtemp(join(tmpdir(), 'millrace-'));
  const socketPath = join(socketDir, 'store.sock');
  if (Buffer.byteLength(socketPath) > socketPathBytesMax) {
    await rm(socketDir, { recursive: true, force: true });
    throw new StoreStartError(`expected a short temporary directory, got ${tmpdir()}; set TMPDIR to a shorter path`);
  }
  const { memoryBytesMax, queryTimeoutMs } = options;
  return { dir, spoolDir, socketPath, memoryBytesMax, queryTimeoutMs };
}

/**
 * | from     | by      | to       | when                                                                              |
 * | -------- | ------- | -------- | --------------------------------------------------------------------------------- |
 * | stopped  | launch  | starting | the service starts                                                                |
 * | starting | ready   | running  | the process has opened the store and listens                                      |
 * | starting | its end | stopped  | it never served: `start` reports why, or retries (directory locked, killed)        |
 * | starting | its end | pausing  | it served before: the store is unchanged, so the next attempt may succeed         |
 * | running  | its end | pausing  | it crashed, or was killed because it hung                                         |
 * | pausing  | timer   | starting | after a pause that grows while it does not run for long                           |
 * | any      | close   | closed   | final; the process is killed                                                      |
 */
type State = 'stopped' | 'starting' | 'running' | 'pausing' | 'closed';

const transitions: Readonly<Record<State, readonly State[]>> = {
  stopped: ['starting', 'closed'],
  starting: ['running', 'stopped', 'pausing', 'closed'],
  running: ['pausing', 'closed'],
  pausing: ['starting', 'closed'],
  closed: ['closed'],
};

class Supervisor implements ChdbSupervisor {
  readonly socketPath: string;
  restarts = 0;
  readonly #process: ProcessOptions;
  readonly #log: Log;
  readonly #onRestart: (reason: string) => void;
  readonly #watch: WatchLimits;
  readonly #lockWaitMs: number;
  readonly #restartMsMax: number;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #heartbeat: NodeJS.Timeout | undefined;
  #restartTimer: NodeJS.Timeout | undefined;
  #attempt = 0;
  #state: State = 'stopped';
  #hasServed = false;
  /** When the last process began to serve. */
  #readyAt = 0;
  /** Why the supervisor killed the process, if it did. */
  #killReason = '';
  /** The last output of the process to stderr. */
  #stderrTail = '';

  constructor(processOptions: ProcessOptions, options: ChdbOptions) {
    this.socketPath = processOptions.socketPath;
    this.#process = processOptions;
    this.#log = options.log;
    this.#onRestart = options.onRestart;
    this.#watch = options.watch ?? defaultWatch;
    this.#lockWaitMs = options.lockWaitMs ?? defaultLockWaitMs;
    this.#restartMsMax = options.restartMsMax ?? 10_000;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** First start: retries while an ending process holds the directory, and if the process was killed; other failures are final. */
  async start(): Promise<void> {
    const deadline = performance.now() + this.#lockWaitMs;
    for (let killed = 0; ;) {
      const failure = await this.#launch();
      if (!failure) return;
      await this.#exited;
      if (failure.reason === 'killed' && killed < killedMax) {
        killed += 1;
        this.#log.warn({ killed }, 'event store process killed during start, restarting');
        continue;
      }
      // The engine reports the cause on stderr only.
      const message = `${failure.message}\n${this.#stderrTail}`.trim();
      const locked = /Cannot lock file/i.test(message);
      if (!locked || performance.now() > deadline) {
        await this.close();
        throw new StoreStartError(startSentence({ ...failure, message }, locked, this.#process.dir), {
          isPlatform: failure.reason === 'platform',
        });
      }
      await sleep(lockRetryMs);
    }
  }

  async close(): Promise<void> {
    this.#become('closed');
    clearTimeout(this.#restartTimer);
    clearInterval(this.#heartbeat);
    this.#child?.kill('SIGKILL');
    await this.#exited;
    await rm(dirname(this.socketPath), { recursive: true, force: true });
  }

  #become(state: State): void {
    assert(transitions[this.#state].includes(state), `no engine that is ${this.#state} to be ${state}`);
    this.#state = state;
  }

  /** Starts the process; resolves with the failure, or with undefined once it serves. */
  async #launch(): Promise<Failure | undefined> {
    this.#become('starting');
    await ensurePrivate(dirname(this.socketPath));
    await rm(this.socketPath, { force: true });
    if (this.#isClosed()) return { reason: 'engine', message: 'the event store is being closed' };
    const child = fork(entry, [JSON.stringify(this.#process)], {
      cwd: dirname(this.socketPath),
      // Nothing of our environment, which contains secrets. The engine runs its calls on libuv's threads.
      env: { UV_THREADPOOL_SIZE: '8', TZ: 'UTC', NODE_COMPILE_CACHE: compileCacheDir() },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.#killReason = '';
    this.#stderrTail = '';
    this.#relayStderr(child);
    this.#exited = new Promise((done) => {
      // Comes after exit, once stderr has been read to its end.
      child.once('close', (code, signal) => {
        this.#ended(child, this.#killReason || `it ended with ${signal ?? `code ${code}`}`);
        done();
      });
      // Could not be started at all: there will be no exit.
      child.once('error', (error) => {
        if (child.pid !== undefined) return;
        this.#ended(child, error.message);
        done();
      });
    });
    return await this.#firstMessage(child);
  }

  #firstMessage(child: ChildProcess): Promise<Failure | undefined> {
    return new Promise((done) => {
      const timer = setTimeout(() => this.#kill(`it was not ready after ${startMsMax} ms`), startMsMax);
      const finish = (failure: Failure | undefined): void => {
        clearTimeout(timer);
        done(failure);
      };
      child.once('message', (message) => {
        const first = message as FromProcess;
        if (first.kind === 'failed') {
          this.#killReason = `it could not open the event store: ${first.message}`;
          child.kill('SIGKILL');
          finish(first);
        } else {
          this.#serves(child);
          finish(undefined);
        }
      });
      child.once('error', (error) => finish({ reason: 'engine', message: error.message }));
      child.once('exit', (code, signal) => {
        const reason = signal === 'SIGKILL' && this.#killReason === '' ? 'killed' : 'engine';
        finish({ reason, message: this.#killReason || `the process ended with ${signal ?? `code ${code}`}` });
      });
    });
  }

  #serves(child: ChildProcess): void {
    if (this.#isClosed()) return;
    this.#become('running');
    this.#hasServed = true;
    this.#readyAt = performance.now();
    this.#beat(child);
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #beat(child: ChildProcess): void {
    const { heartbeatMs, missedMax, insertMs } = this.#watch;
    const queryMs = this.#process.queryTimeoutMs * 2 + 30_000;
    let missed = 0;
    let lastBeat = performance.now();
    child.on('message', (message) => {
      const pong = message as FromProcess;
      if (pong.kind !== 'pong') return;
      missed = 0;
      if (pong.insertMs > insertMs) this.#kill(`an insert hung for ${Math.round(pong.insertMs)} ms`);
      if (pong.queryMs > queryMs) this.#kill(`a query hung for ${Math.round(pong.queryMs)} ms`);
    });
    this.#heartbeat = setInterval(() => {
      const now = performance.now();
      // If this process was blocked itself, the response may be waiting to be read: that beat proves nothing.
      if (now - lastBeat < heartbeatMs * 2) missed++;
      lastBeat = now;
      if (missed > missedMax) this.#kill(`it did not answer ${missedMax} heartbeats`);
      else child.send({ kind: 'ping' } satisfies ToProcess, () => undefined);
    }, heartbeatMs);
  }

  #kill(reason: string): void {
    this.#killReason = reason;
    this.#child?.kill('SIGKILL');
  }

  #ended(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    clearInterval(this.#heartbeat);
    if (this.#isClosed()) return;
    if (this.#hasServed) this.#restartSoon(reason);
    else this.#become('stopped');
  }

  #restartSoon(reason: string): void {
    const steady = this.#state === 'running' && performance.now() - this.#readyAt > steadyMs;
    this.#become('pausing');
    this.#attempt = steady ? 0 : this.#attempt + 1;
    const delayMs = backoffMs(this.#attempt, 50, this.#restartMsMax);
    this.restarts++;
    this.#log.error({ reason, delayMs }, 'embedded event store stopped, restarting');
    this.#onRestart(reason);
    this.#restartTimer = setTimeout(() => void this.#relaunch(), delayMs);
  }

  /** Handles failures before there is a process; a process that starts and fails is handled at its end. */
  async #relaunch(): Promise<void> {
    try {
      await this.#launch();
    } catch (error) {
      if (!this.#isClosed()) this.#restartSoon(error instanceof Error ? error.message : String(error));
    }
  }

  #relayStderr(child: ChildProcess): void {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-2000);
      this.#log.warn({ stderr: text.slice(0, 2000).trimEnd() }, 'embedded event store stderr');
    });
  }
}

/** Recreates the temporary directory if it was cleaned up. Throws if another user has created it in the meantime. */
async function ensurePrivate(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { uid, mode } = await stat(dir);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) {
    throw new StoreStartError(`expected ${dir} to belong to this user only; remove it, or restart the service`);
  }
}

interface Failure {
  /** killed: with SIGKILL, by another process. */
  readonly reason: StartFailure | 'killed';
  readonly message: string;
}

function startSentence(failure: Failure, locked: boolean, dir: string): string {
  if (failure.reason === 'platform') {
    return (
      `chDB has no binary for this platform (${process.platform}-${process.arch}); ` +
      'set CLICKHOUSE_URL to a ClickHouse server, e.g. http://default:password@127.0.0.1:8123/default'
    );
  }
  if (failure.reason === 'schema') return failure.message;
  if (locked) return `the event store in ${dir} is in use by another process; stop that one first`;
  return `the event store in ${dir} cannot be opened: ${failure.message}`;
}
