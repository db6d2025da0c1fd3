import type { Static } from 'typebox';
import type { usageSchema } from '../../../../src/wire/contract/events.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import type { Period } from './usage-search.ts';

export type Usage = Static<typeof usageSchema>;
export type UsageDay = Usage['results'][number];

const dayMs = 86_400_000;
export const periodDays: Readonly<Record<Period, number>> = { '30d': 30, '90d': 90, '365d': 365 };

/** Returns the first UTC day of the period that ends today: `2026-11-22`. */
export function firstDay(period: Period, now: number): string {
  return dayOf(now - (periodDays[period] - 1) * dayMs);
}

export function usageQuery(projectId: number, period: Period, now: number) {
  return apiQuery<Usage>(projectPath(projectId, 'usage'), { after: firstDay(period, now) });
}

/** Returns every day of the period, oldest first; the API omits days without events. */
export function everyDay(results: readonly UsageDay[], period: Period, now: number): UsageDay[] {
  const known = new Map(results.map((day) => [day.date, day]));
  const start = Date.parse(firstDay(period, now));
  return Array.from({ length: periodDays[period] }, (_, index) => {
    const date = dayOf(start + index * dayMs);
    return known.get(date) ?? { date, standard: 0, historical: 0 };
  });
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
