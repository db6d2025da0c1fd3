import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** Waits until it has closed. What has not by `msMax` would keep the process for ever: it is said, and the process ends with 1. */
export async function closeInTime(
  close: () => Promise<void>,
  msMax: number,
  terminal: Pick<Terminal, 'problem' | 'process'>,
): Promise<void> {
  const timer = setTimeout(() => {
    terminal.problem(`did not stop within ${msMax / 1000} s, so it ends as after a crash; the next start recovers`);
    terminal.process.exit(exitCodes.failed.code);
  }, msMax);
  try {
    await close();
  } finally {
    clearTimeout(timer);
  }
}
