import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../base/time.ts';
import { ConfigError } from '../config/load.ts';
import { ApiError } from '../../wire/contract/errors.ts';

export interface RateWindow {
  readonly limit: number;
  readonly ms: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** Of the window that is closest to its end. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window restarts. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request of this caller, unless it is over a limit. */
  take(caller: string): RateDecision;
  /** Returns what `take` would decide, without counting. */
  peek(caller: string): RateDecision;
}

const unitMs: Readonly<Record<string, number>> = {
  s: secondMs,
  sec: secondMs,
  min: minuteMs,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};
const windowForm = /^(\d{1,9})\/(s|sec|m|min|h|d)$/;

/**
 * Parses `480/min,4800/h`; `off` means no windows.
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
  /** Part that is not yet shared with other processes. */
  unpublished: number;
}

/** Counts that several processes merge. */
export interface SharedCounts {
  /** Takes what was counted since the last time, for every caller. */
  unpublished(): readonly { readonly caller: string; readonly windowMs: number; readonly more: number }[];
  /** Sets what all processes have counted in the current window. */
  learn(total: {
    readonly caller: string;
    readonly windowMs: number;
    readonly used: number;
    readonly startedMsAgo: number;
  }): void;
}

/** Fixed windows that start with a caller's first request. At most `callersMax` callers are remembered. */
export function createRateLimiter(
  windows: readonly RateWindow[],
  clock: Clock,
  callersMax = 10_000,
): RateLimiter & SharedCounts {
  const callers = new LRUCache<string, Count[]>({ max: callersMax });
  const came = new Set<string>();
  const decide = (caller: string, takes: boolean): RateDecision => {
    const now = clock.now();
    const known = callers.get(caller);
    const counts = known ?? windows.map(() => ({ startedAt: now, used: 0, unpublished: 0 }));
    if (takes && known === undefined) callers.set(caller, counts);
    if (came.size < callersMax) came.add(caller);
    let allowed = true;
    windows.forEach((window, index) => {
      const count = counts[index];
      if (count === undefined) return;
      if (now - count.startedAt >= window.ms || now < count.startedAt) {
        count.startedAt = now;
        count.used = 0;
        count.unpublished = 0;
      }
      if (count.used >= window.limit) allowed = false;
    });
    if (allowed && takes) {
      for (const count of counts) {
        count.used += 1;
        count.unpublished += 1;
      }
    }
    return tightest(windows, counts, now, allowed);
  };
  return {
    take: (caller) => decide(caller, true),
    peek: (caller) => decide(caller, false),
    unpublished: () => {
      const unpublished = [...came].flatMap((caller) => {
        const counts = callers.peek(caller) ?? [];
        return windows.map(({ ms }, index) => {
          const count = counts[index];
          const more = count?.unpublished ?? 0;
          if (count !== undefined) count.unpublished = 0;
          return { caller, windowMs: ms, more };
        });
      });
      came.clear();
      return unpublished;
    },
    learn: ({ caller, windowMs, used, startedMsAgo }) => {
      const now = clock.now();
      const counts = callers.get(caller) ?? windows.map(() => ({ startedAt: now, used: 0, unpublished: 0 }));
      callers.set(caller, counts);
      const count = counts[windows.findIndex(({ ms }) => ms === windowMs)];
      if (count === undefined) return;
      count.used = used + count.unpublished;
      count.startedAt = now - startedMsAgo;
    },
  };
}

/** Returns the window to report: if refused, the last one to restart, otherwise the one with the fewest requests left. */
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

export function throttled({ resetSeconds }: RateDecision): ApiError {
  return new ApiError('throttled', `Request was throttled. Expected available in ${resetSeconds} seconds.`, {
    headers: { 'retry-after': String(resetSeconds) },
  });
}
