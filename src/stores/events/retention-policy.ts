import { dayMs, startOfDay } from '../../base/time.ts';
import type { RetentionPolicy } from '../../wire/contract/retention.ts';
import type { KeptSince, ProjectExpiry } from './expired-rows.ts';

type KeptDays = Pick<RetentionPolicy, 'live_days' | 'historical_days'>;

export const keepAll: RetentionPolicy = { live_days: null, historical_days: null, events: [] };

/**
 * Returns what has expired at a time (ms): events before the UTC day that is `days` days ago. So an event is kept for at least its days,
 * and the result is the same all day.
 */
export function expiryOf(projectId: number, policy: RetentionPolicy, now: number): ProjectExpiry {
  const since = (days: number | null): bigint | null =>
    days === null ? null : BigInt(startOfDay(now) - days * dayMs) * 1000n;
  const kept = ({ live_days, historical_days }: KeptDays): KeptSince => ({
    live: since(live_days),
    historical: since(historical_days),
  });
  return {
    projectId,
    keptSince: kept(policy),
    events: policy.events.map((rule) => ({ event: rule.event, ...kept(rule) })),
  };
}

/** Returns whether the policy never removes anything. */
export function keepsAll(policy: RetentionPolicy): boolean {
  return [policy, ...policy.events].every((days) => days.live_days === null && days.historical_days === null);
}

/**
 * Returns, by name, the time before which historical events have expired, ms since the epoch; `null` for names that never do. `undefined` if
 * the policy removes no historical events.
 */
export function historicalExpiry(policy: RetentionPolicy, now: number): ((event: string) => number | null) | undefined {
  if ([policy, ...policy.events].every(({ historical_days }) => historical_days === null)) return undefined;
  const { keptSince, events } = expiryOf(0, policy, now);
  return (event) => {
    const { historical } = events.find((rule) => rule.event === event) ?? keptSince;
    return historical === null ? null : Number(historical / 1000n);
  };
}
