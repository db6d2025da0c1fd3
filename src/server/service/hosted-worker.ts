/** A worker of the service: a thread of the same process, or a separate process, which can be killed. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import { mebibytes, offerToOutOfMemory, watchMemory } from '../../base/child-watch.ts';
import { childEnvironment } from '../config/child-environment.ts';
import type { ThreadData } from './thread.ts';

export interface HostedWorker {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Resolves with the reason when it has ended: that of the kill, its error, or its exit code. */
  readonly ended: Promise<string>;
  /** Ends it immediately. */
  kill(why: string): void;
}

export function startThread(entry: URL, data: ThreadData, limits: ResourceLimits): HostedWorker {
  const port = data.scans?.port;
  const thread = new Worker(entry, {
    workerData: data,
    transferList: port === undefined ? [] : [port],
    resourceLimits: limits,
  });
  let how: string | undefined;
  thread.on('error', (error) => (how ??= error.stack ?? error.message));
  return {
    post: (message) => thread.postMessage(message, []),
    onMessage: (listener) => thread.on('message', listener),
    ended: new Promise((resolve) => thread.once('exit', (code) => resolve(how ?? `it ended with code ${code}`))),
    kill: (why) => {
      how ??= why;
      void thread.terminate();
    },
  };
}

/** As set by engine-flags.ts of the command line for the service. */
const engineFlags = ['--no-parallel-scavenge', '--concurrent-turbofan-max-threads=1'];

export interface ProcessLimits {
  /** Limit of its total memory. */
  readonly memoryBytesMax: number;
  /** Name of the limit. */
  readonly memoryLimit: string;
}

/** Starts a process that receives `data` with the settings as its first message. */
export function startProcess(entry: URL, data: object, { memoryBytesMax, memoryLimit }: ProcessLimits): HostedWorker {
  const child = fork(fileURLToPath(entry), [], {
    execArgv: [
      `--max-old-space-size=${Math.round(memoryBytesMax / 1024 ** 2)}`,
      '--max-semi-space-size=8',
      ...engineFlags,
    ],
    env: childEnvironment(),
    serialization: 'advanced',
    // A separate process group: Ctrl-C in a terminal is handled by this process.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let how: string | undefined;
  const kill = (why: string): void => {
    how ??= why;
    child.kill('SIGKILL');
  };
  offerToOutOfMemory(child);
  watchMemory(child, memoryBytesMax, () =>
    kill(`it took more than ${mebibytes(memoryBytesMax)} of memory (${memoryLimit})`),
  );
  // An ending process accepts no messages; its end is reported.
  const post = (message: unknown): void => void (child.connected && child.send(message as object, () => undefined));
  post({ init: data });
  return {
    post,
    onMessage: (listener) => child.on('message', listener),
    ended: new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(how ?? `it ended with ${signal ?? `code ${code}`}`));
      child.once('error', (error) => {
        if (child.pid === undefined) resolve(error.message);
      });
    }),
    kill,
  };
}
