import { setTimeout } from 'node:timers/promises';
import { SourceWaitError, type SourceContext } from '../source.ts';

/** A limit of requests within a sliding window. */
interface PaceRule {
  readonly requests: number;
  readonly windowMs: number;
}

const shortMs = 5000;

/**
 * Waits until the service's limits allow one more request; call it before each. A long wait is a SourceWaitError, so that it is
 * visible; with `inPlace` it waits here.
 */
export type Pace = (context: SourceContext, inPlace?: boolean) => Promise<void>;

export function createPace(name: string, rules: readonly PaceRule[], now: () => number): Pace {
  const keep = Math.max(0, ...rules.map(({ requests }) => requests));
  const sent: number[] = [];
  const freeInMs = (): number =>
    Math.max(
      0,
      ...rules.map(({ requests, windowMs }) => {
        const oldest = sent.at(-requests);
        return oldest === undefined ? 0 : oldest + windowMs - now();
      }),
    );
  return async ({ signal, waiting }, inPlace = false) => {
    for (let waitMs = freeInMs(); waitMs > 0; waitMs = freeInMs()) {
      if (waitMs > shortMs) {
        const reason = `${name} allows no more requests at the moment`;
        if (!inPlace) throw new SourceWaitError(reason, { unlimited: true, retryAfterMs: waitMs });
        waiting?.(reason, waitMs);
      }
      await setTimeout(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    sent.push(now());
    if (sent.length > keep) sent.shift();
  };
}
