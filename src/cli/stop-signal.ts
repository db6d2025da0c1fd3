import type { CommandProcess } from './command-process.ts';
import { CommandError } from './exit-codes.ts';

/** A wish to stop, from Ctrl-C or SIGTERM. The first one is passed on, the second ends the process at once. */
export interface StopSignal {
  readonly signal: AbortSignal;
  /** Throws the CommandError of the signal when one came. */
  rethrow(): void;
  /** Signals act again as if this had never been. */
  release(): void;
}

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

export function stopSignal(process: CommandProcess): StopSignal {
  const controller = new AbortController();
  const onSignal = (name: 'SIGINT' | 'SIGTERM'): void => {
    if (controller.signal.aborted) process.exit(exitCodeOf[name]);
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
