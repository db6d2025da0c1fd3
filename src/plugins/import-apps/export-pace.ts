import { setTimeout as sleep } from 'node:timers/promises';
import { SourceWaitError } from '../../imports/source.ts';

/** So many requests in any stretch of so many ms. */
export interface PaceRule {
  readonly requests: number;
  readonly windowMs: number;
}

const shortMs = 5000;

/**
 * Waits until one more request is within what a service allows; call it before each. A long wait is a SourceWaitError, so that
 * people see it; with `patient` it is waited for here.
 */
export type Pace = (signal: AbortSignal, patient?: boolean) => Promise<void>;

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
  return async (signal, patient = false) => {
    for (let waitMs = freeInMs(); waitMs > 0; waitMs = freeInMs()) {
      if (waitMs > shortMs && !patient) {
        throw new SourceWaitError(`${name} allows no more requests at the moment`, {
          unlimited: true,
          retryAfterMs: waitMs,
        });
      }
      await sleep(waitMs, undefined, { signal }).catch((reason: unknown) => {
        throw signal.aborted ? signal.reason : reason;
      });
    }
    sent.push(now());
    if (sent.length > keep) sent.shift();
  };
}
