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
