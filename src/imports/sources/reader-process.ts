/** A process that reads one file with native code, which can only be interrupted by ending the process. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { mebibytes, offerToOutOfMemory, watchMemory } from '../../base/child-watch.ts';

/** The process ended without a response. */
export class ReaderEndedError extends Error {
  override name = 'ReaderEndedError';
  /** It exceeded its limit because of its input. */
  readonly overLimit: boolean;

  constructor(how: string, overLimit: boolean) {
    super(how);
    this.overLimit = overLimit;
  }
}

interface ReaderProcess<Answer> {
  /** Requests the next response, one at a time. Rejects with ReaderEndedError, or with the reason of the signal. */
  ask(signal: AbortSignal): Promise<Answer>;
  /** Ends the process immediately. */
  kill(): void;
}

/** Starts an entry that receives `read` as JSON and responds to each message with one. */
export function startReader<Answer>(entry: URL, read: object, memoryBytesMax: number): ReaderProcess<Answer> {
  const child = fork(fileURLToPath(entry), [JSON.stringify(read)], {
    // An empty environment, since ours contains secrets.
    env: { TZ: 'UTC' },
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const over = { limit: false };
  offerToOutOfMemory(child);
  watchMemory(child, memoryBytesMax, () => {
    over.limit = true;
    child.kill('SIGKILL');
  });
  return {
    ask: (signal) =>
      ask<Answer>(child, signal, (how) => {
        const tooMuch = `it took more than ${mebibytes(memoryBytesMax)} of memory`;
        return new ReaderEndedError(over.limit ? tooMuch : how, over.limit);
      }),
    kill: () => void child.kill('SIGKILL'),
  };
}

async function ask<Answer>(
  child: ChildProcess,
  signal: AbortSignal,
  endedError: (how: string) => ReaderEndedError,
): Promise<Answer> {
  const settled = new AbortController();
  const waits = { signal: AbortSignal.any([signal, settled.signal]) };
  const ended = once(child, 'exit', waits).then(([code, by]: readonly unknown[]): never => {
    throw endedError(typeof by === 'string' ? by : `code ${String(code)}`);
  });
  const answered = once(child, 'message', waits).then(([answer]) => answer as Answer);
  try {
    child.send('next', () => undefined);
    return await Promise.race([answered, ended]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    settled.abort();
    await Promise.allSettled([answered, ended]);
  }
}
