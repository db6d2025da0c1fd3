import { setTimeout as sleep } from 'node:timers/promises';

export interface RepeatDeps {
  /** Aborting ends it after the time that is under way. */
  readonly signal: AbortSignal;
  /** The first of failures in a row. */
  readonly onTrouble: (error: unknown) => void;
}

/** Does something again and again, `ms` after it was done. Never rejects: after a failure it is tried again. */
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
