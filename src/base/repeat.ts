import { setTimeout as sleep } from 'node:timers/promises';

export interface RepeatDeps {
  /** Aborting ends the loop after the current iteration. */
  readonly signal: AbortSignal;
  /** Called with the first of consecutive failures. */
  readonly onTrouble: (error: unknown) => void;
}

/** Repeats `work`, `ms` after it ends. Never rejects: failures are retried. */
export async function repeat(ms: number, work: () => Promise<void>, { signal, onTrouble }: RepeatDeps): Promise<void> {
  let troubles = 0;
  while (!signal.aborted) {
    try {
      await work();
      troubles = 0;
    } catch (error) {
      if (troubles++ === 0 && !signal.aborted) onTrouble(error);
    }
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
