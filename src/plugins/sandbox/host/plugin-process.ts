import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../../server/telemetry/log.ts';
import { compileCacheDir } from '../../../base/compile-cache.ts';
import { FrameReader, writeFrame, type Frame } from '../../../base/frames.ts';
import type { ChildOptions, FromChild, ToChild } from '../wire/messages.ts';
import { monotonicMs, readDeadline } from '../wire/deadline.ts';

/** Why the process ended, and the running instance, which caused it; 0 if none was running. */
export interface Ending {
  readonly cause: 'crashed' | 'memory' | 'time' | 'closed';
  readonly instance: number;
  readonly detail: string;
}

export interface PluginProcess {
  readonly pid: number;
  send(message: ToChild, body?: string): void;
  /** Kills the process if it is stuck or too large. Call it often while the process has work. */
  watch(): void;
  /** Whether an instance is running, within its limits or not: `watch` checks those. */
  isComputing(): boolean;
  /** Resident memory; 0 if the system does not report it. */
  rssBytes(): number;
  /** Kills the process; resolves when it has ended. */
  kill(): Promise<void>;
}

interface PluginProcessDeps {
  readonly options: ChildOptions;
  readonly processBytesMax: number;
  /** The guest's script from an earlier process; empty before the first. */
  readonly bundle: string;
  readonly log: Log;
  readonly onFrame: (frame: Frame<FromChild>) => void;
  readonly onEnd: (ending: Ending) => void;
}

const entry = fileURLToPath(new URL('../child/main.ts', import.meta.url));
/** How far an entry may exceed its limit before the process counts as stuck: isolates interrupt themselves. */
const graceMs = 1000;
const ownHeapMegabytes = 512;
const pageBytes = 4096;

/** Starts a process for plugins. Throws if that fails. */
export function startPluginProcess(deps: PluginProcessDeps): PluginProcess {
  const deadlineFile = openDeadlineFile();
  const flags = ['--no-node-snapshot', `--max-old-space-size=${ownHeapMegabytes}`];
  const compiled = compileCacheDir();
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [...flags, entry, ...(compiled === undefined ? [] : [compiled])], {
      // Nothing of our environment, which contains secrets.
      env: { TZ: 'UTC' },
      // A separate process group: Ctrl-C in a terminal is meant for the service.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', deadlineFile],
    });
  } catch (error) {
    closeSync(deadlineFile);
    throw error;
  }
  return follow(child, deadlineFile, deps);
}

function follow(child: ChildProcess, deadlineFile: number, deps: PluginProcessDeps): PluginProcess {
  const socket = child.stdio[3] as Socket;
  const pid = child.pid ?? 0;
  let killed: Pick<Ending, 'cause' | 'instance' | 'detail'> | undefined;
  let stderrTail = '';
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    const end = (detail: string): void => {
      if (ended) return;
      ended = true;
      const ending = killed ?? { cause: 'crashed', instance: readDeadline(deadlineFile).instance, detail };
      closeSync(deadlineFile);
      socket.destroy();
      resolve();
      deps.onEnd(ending);
    };
    child.once('close', (code, signal) => end(`${signal ?? `code ${code}`} ${stderrTail}`.trim()));
    child.once('error', (error) => end(error.message));
  });
  const kill = (ending: Ending): void => {
    if (killed || ended) return;
    killed = ending;
    child.kill('SIGKILL');
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderrTail = (stderrTail + text).slice(-1000);
  });
  readFrames(socket, deps, (detail) => kill({ cause: 'crashed', instance: 0, detail }));
  writeFrame(socket, { kind: 'init', options: deps.options } satisfies ToChild, deps.bundle);

  return {
    pid,
    send: (message, body) => writeFrame(socket, message, body),
    watch: () => {
      if (ended) return;
      const { instance, until } = readDeadline(deadlineFile);
      if (instance !== 0 && monotonicMs() > until + graceMs) {
        kill({ cause: 'time', instance, detail: 'it could not be interrupted' });
      } else if (residentBytes(pid) > deps.processBytesMax) {
        kill({ cause: 'memory', instance, detail: `more than ${deps.processBytesMax} bytes` });
      }
    },
    isComputing: () => !ended && readDeadline(deadlineFile).instance !== 0,
    rssBytes: () => (ended ? 0 : residentBytes(pid)),
    kill: async () => {
      kill({ cause: 'closed', instance: 0, detail: '' });
      await exited;
    },
  };
}

function readFrames(socket: Socket, { log, onFrame }: PluginProcessDeps, onNonsense: (detail: string) => void): void {
  const reader = new FrameReader<FromChild>();
  socket.on('data', (chunk: Buffer) => {
    let frames: Frame<FromChild>[];
    try {
      frames = reader.push(chunk);
    } catch (error) {
      onNonsense(error instanceof Error ? error.message : String(error));
      return;
    }
    for (const frame of frames) onFrame(frame);
  });
  // The end of the process is reported separately.
  socket.on('error', (error) => log.debug({ error: error.message }, 'plugin process socket failed'));
}

/** Opens an unlinked file, which disappears when both sides have closed it. */
function openDeadlineFile(): number {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-'));
  try {
    return openSync(join(dir, 'deadline'), 'wx+', 0o600);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1] ?? 0) * pageBytes;
  } catch {
    // It just ended, or the system has no such files: then only the isolates' own limits apply.
    return 0;
  }
}
