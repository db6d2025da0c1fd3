import type { CommandProcess } from './command-process.ts';
import { CommandError } from './exit-codes.ts';

/**
 * A wish to stop, from Ctrl-C or SIGTERM. The first one is passed on, the second ends the process at once. One Ctrl-C arrives several
 * times when npm, npx or the launcher started the program: the terminal sends it to all of them, and each passes it on. What comes
 * within a second of the first is that same one.
 */
export interface StopSignal {
  readonly signal: AbortSignal;
  /** Throws the CommandError of the signal when one came. */
  rethrow(): void;
  /** Signals act again as if this had never been. */
  release(): void;
}

const sameMs = 1_000;
const exitCodeOf = { SIGINT: 130, SIGTERM: 143 } as const;

/** Does `work` until it is done or somebody wishes to stop. Errors: those of `work`; CommandError of the signal when one came. */
export async function untilStopped<T>(process: CommandProcess, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

/** @param now ms of a clock that is never set */
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
