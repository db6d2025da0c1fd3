import type { CommandProcess } from './terminal.ts';
import { CommandError } from './exit-codes.ts';

/**
 * A request to stop, from Ctrl-C or SIGTERM. The first one aborts the signal, the second ends the process immediately. One Ctrl-C arrives
 * several times when npm, npx or the launcher started the program: the terminal sends it to all of them, and each forwards it. Those
 * within a second of the first count as the same one.
 */
interface StopSignal {
  readonly signal: AbortSignal;
  /** Throws the CommandError of the signal if one was received. */
  rethrow(): void;
  /** Restores the default handling of signals. */
  release(): void;
}

const sameMs = 1_000;
const exitCodeOf = { SIGINT: 130, SIGTERM: 143 } as const;

/** Runs `work` until it ends or the user stops it. Errors: those of `work`; the CommandError of a signal. */
export async function runUntilStopped<T>(
  process: CommandProcess,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = stopSignal(process);
  try {
    return await work(stop.signal);
  } catch (error) {
    stop.rethrow();
    throw error;
  } finally {
    stop.release();
  }
}

/** @param now monotonic clock in ms */
export function stopSignal(process: CommandProcess, now = () => performance.now()): StopSignal {
  const controller = new AbortController();
  let first: number | undefined;
  const onSignal = (name: 'SIGINT' | 'SIGTERM'): void => {
    if (first !== undefined) {
      if (now() - first >= sameMs) process.exit(exitCodeOf[name]);
      return;
    }
    first = now();
    controller.abort(new CommandError(name === 'SIGINT' ? 'interrupted' : 'terminated', 'stopped'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    rethrow: () => controller.signal.throwIfAborted(),
    release: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
