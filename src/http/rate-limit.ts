import type { Clock } from '../base/clock.ts';
import { ConfigError } from '../config/load.ts';

export interface RateWindow {
  readonly limit: number;
  readonly ms: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** Of the window that is closest to its end. */
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until that window starts anew. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of this caller, unless it is over a limit. */
  take(caller: string): RateDecision;
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  sec: 1000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const windowForm = /^(\d{1,9})\/(s|sec|m|min|h|d)$/;

/**
 * Reads `480/min,4800/h`; `off` gives no windows.
 * @throws ConfigError on anything else
 */
export function parseRateLimit(text: string): readonly RateWindow[] {
  if (text.trim() === 'off') return [];
  return text.split(',').map((part) => {
    const match = windowForm.exec(part.trim());
    const limit = Number(match?.[1]);
    const ms = unitMs[match?.[2] ?? ''];
    if (ms === undefined || limit < 1) {
      const expected = '"off" or limits such as "480/min,4800/h" (units s, min, h, d)';
      throw new ConfigError([`MILLRACE_API_RATE_LIMIT: expected ${expected}, got: ${JSON.stringify(text)}`]);
    }
    return { limit, ms };
  });
}

interface Count {
  startedAt: number;
  used: number;
}

/** Fixed windows that start with a caller's first request. At most `callersMax` callers are remembered, the oldest go first. */
export function createRateLimiter(windows: readonly RateWindow[], clock: Clock, callersMax = 10_000): RateLimiter {
  const callers = new Map<string, Count[]>();
  const countsOf = (caller: string, now: number): Count[] => {
    const known = callers.get(caller);
    if (known !== undefined) return known;
    const oldest = callers.size >= callersMax ? callers.keys().next().value : undefined;
    if (oldest !== undefined) callers.delete(oldest);
    const fresh = windows.map(() => ({ startedAt: now, used: 0 }));
    callers.set(caller, fresh);
    return fresh;
  };
  return {
    take(caller) {
      const now = clock.now();
      const counts = countsOf(caller, now);
      let allowed = true;
      windows.forEach((window, index) => {
        const count = counts[index];
        if (count === undefined) return;
        if (now - count.startedAt >= window.ms || now < count.startedAt) {
          count.startedAt = now;
          count.used = 0;
        }
        if (count.used >= window.limit) allowed = false;
      });
      if (allowed) for (const count of counts) count.used += 1;
      return tightest(windows, counts, now, allowed);
    },
  };
}

/** The window to report: when refused, the one that frees last; else the one with the fewest requests left. */
function tightest(
  windows: readonly RateWindow[],
  counts: readonly Count[],
  now: number,
  allowed: boolean,
): RateDecision {
  let best: RateDecision | undefined;
  for (const [index, window] of windows.entries()) {
    const count = counts[index];
    if (count === undefined) continue;
    const remaining = window.limit - count.used;
    const resetSeconds = Math.max(1, Math.ceil((count.startedAt + window.ms - now) / 1000));
    if (!allowed && remaining > 0) continue;
    const tighter = best === undefined || (allowed ? remaining < best.remaining : resetSeconds > best.resetSeconds);
    if (tighter) best = { allowed, limit: window.limit, remaining, resetSeconds };
  }
  return best ?? { allowed, limit: 0, remaining: 0, resetSeconds: 0 };
}
