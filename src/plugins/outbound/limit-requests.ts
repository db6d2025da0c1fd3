import { minuteMs } from '../../base/time.ts';
import { isFresh } from '../../base/clock.ts';
import { OutboundError, type OutboundFetch } from './outbound.ts';

export interface RequestLimits {
  readonly perMinute: number;
  /** Further ones wait for their turn, as many as may be sent in a minute. */
  readonly atOnce: number;
  /** ms since the epoch. */
  readonly now?: () => number;
}

/** A fetch for one user of it, who may send so many requests. @throws OutboundError `limit` beyond */
export function limitRequests(
  fetch: OutboundFetch,
  { perMinute, atOnce, now = Date.now }: RequestLimits,
): OutboundFetch {
  let minuteStart = now();
  let sent = 0;
  let running = 0;
  const waiting: (() => void)[] = [];

  const count = (): void => {
    if (!isFresh(minuteStart, minuteMs, now())) {
      minuteStart = now();
      sent = 0;
    }
    if (sent >= perMinute) {
      const inSeconds = Math.ceil((minuteStart + minuteMs - now()) / 1000);
      throw new OutboundError(
        'limit',
        `expected at most ${perMinute} requests per minute, got more; try again in ${inSeconds} s`,
      );
    }
    sent += 1;
  };

  return async (request) => {
    count();
    if (waiting.length >= perMinute) {
      throw new OutboundError(
        'limit',
        `expected at most ${atOnce} requests at once and ${perMinute} in line, got more; wait for answers`,
      );
    }
    if (running < atOnce) running += 1;
    // Whoever ends hands its place on.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await fetch(request);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
