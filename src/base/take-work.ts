import { setTimeout } from 'node:timers/promises';
import { backoffMs } from './retry.ts';

export interface TakeWorkDeps<Claim> {
  /** Returns `undefined` if there is nothing to do. */
  readonly claim: () => Promise<Claim | undefined>;
  /** Never rejects. */
  readonly work: (claim: Claim) => Promise<void>;
  readonly atOnceMax: number;
  /** Interval of polling for work; it is also checked whenever some has ended. */
  readonly pollMs: number;
  /** Aborting stops claiming; current work is awaited. */
  readonly signal: AbortSignal;
  /** Called with the first of consecutive failed claims. */
  readonly onTrouble: (error: unknown) => void;
}

const troubleMsMax = 10_000;

/** Claims and runs work, several items concurrently. */
export async function takeWork<Claim>(deps: TakeWorkDeps<Claim>): Promise<void> {
  const { signal, pollMs, atOnceMax } = deps;
  const running = new Set<Promise<void>>();
  let wake = new AbortController();
  let troubles = 0;
  while (!signal.aborted) {
    let claim: Claim | undefined;
    try {
      if (running.size < atOnceMax) claim = await deps.claim();
      troubles = 0;
    } catch (error) {
      if (troubles++ === 0) deps.onTrouble(error);
    }
    if (claim !== undefined) {
      const work = deps.work(claim).finally(() => {
        running.delete(work);
        wake.abort();
      });
      running.add(work);
      continue;
    }
    const either = AbortSignal.any([signal, wake.signal]);
    await setTimeout(backoffMs(troubles, pollMs, troubleMsMax), undefined, { signal: either }).catch(() => undefined);
    if (wake.signal.aborted) wake = new AbortController();
  }
  await Promise.all(running);
}
