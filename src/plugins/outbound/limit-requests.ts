import { minuteMs } from '../../base/time.ts';
import { isFresh } from '../../base/clock.ts';
import { OutboundError, type OutboundFetch } from './outbound.ts';

export interface RequestLimits {
  readonly perMinute: number;
  /** Further requests are queued, up to a minute's quota. */
  readonly atOnce: number;
  /** ms since the epoch. */
  readonly now?: () => number;
}

/** Returns a fetch with these limits for one user. @throws OutboundError `limit` beyond them */
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
        `expected at most ${perMinute} requests per minute, got more; retry in ${inSeconds} s`,
      );
    }
    sent += 1;
  };

  return async (request) => {
    count();
    if (waiting.length >= perMinute) {
      throw new OutboundError(
        'limit',
        `expected at most ${atOnce} concurrent requests and ${perMinute} queued ones, got more; wait for responses`,
      );
    }
    if (running < atOnce) running += 1;
    // A request that ends passes its slot to the next.
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
