/** What works for the service beside its main thread: a thread of the same process, or a process of its own, which can be killed. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import { mebibytes, offerToOutOfMemory, watchMemory } from '../../base/child-watch.ts';
import { environmentWithoutSettings } from '../config/child-environment.ts';
import type { ThreadData } from './thread.ts';

export interface HostedWorker {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Resolves when it has ended, with how: the reason of the kill, its error, or the code. */
  readonly ended: Promise<string>;
  /** At once, whatever it is at. */
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

/** As engine-flags.ts of the command line gives them to the service. */
const engineFlags = ['--no-parallel-scavenge', '--concurrent-turbofan-max-threads=1'];

export interface ProcessLimits {
  /** Of all its memory. */
  readonly memoryBytesMax: number;
  /** How the limit is called. */
  readonly memoryLimit: string;
}

/** It is given `data` as its first message, with the settings. */
export function startProcess(entry: URL, data: object, { memoryBytesMax, memoryLimit }: ProcessLimits): HostedWorker {
  const child = fork(fileURLToPath(entry), [], {
    execArgv: [
      `--max-old-space-size=${Math.round(memoryBytesMax / 1024 ** 2)}`,
      '--max-semi-space-size=8',
      ...engineFlags,
    ],
    env: environmentWithoutSettings(),
    serialization: 'advanced',
    // A group of its own: Ctrl-C in a terminal is for us.
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
  // One that is just ending takes nothing any more; its end is reported.
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
