import type { Static } from 'typebox';
import type { eventCountsSchema } from '../../../../src/wire/contract/events.ts';
import type { PropertyNamesRecord } from '../../../../src/wire/contract/names.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import type { Query } from '../../api/request.ts';
import type { EventsSearch, periods } from './events-search.ts';
import { filtersParameter } from '../../api/property-filter.ts';

export type EventCounts = Static<typeof eventCountsSchema>;
export type Interval = 'hour' | 'day' | 'week' | 'month';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const periodMs: Readonly<Record<(typeof periods)[number], number>> = {
  '1h': hourMs,
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
};

/** Builds the API filter. The start of a period is rounded to the minute, so that the request can be cached. */
export function filterOf(search: EventsSearch, now: number): Query {
  const { event, distinct_id, person_id, period, before, historical, import_run, properties } = search;
  const start = period && new Date(Math.floor((now - periodMs[period]) / minuteMs) * minuteMs).toISOString();
  return {
    event,
    distinct_id,
    person_id,
    after: start ?? search.after,
    before: period === undefined ? before : undefined,
    historical_migration: historical,
    import_run,
    properties: filtersParameter(properties),
  };
}

/** Returns the interval of the volume chart. */
export function intervalOf({ period, after, before }: EventsSearch, now: number): Interval {
  const end = Date.parse(before ?? '') || now;
  const start = period === undefined ? Date.parse(after ?? '') : now - periodMs[period];
  if (Number.isNaN(start)) return 'month';
  const days = (end - start) / dayMs;
  if (days <= 4) return 'hour';
  return days <= 120 ? 'day' : days <= 800 ? 'week' : 'month';
}

/** Counts events over time: the most frequent names separately, the others combined. */
export function countsQuery(projectId: number, filter: Query, interval: Interval, timezone: string) {
  return apiQuery<EventCounts>(projectPath(projectId, 'events/counts'), { ...filter, interval, timezone, top: 5 });
}

export function propertyNamesQuery(projectId: number, event: string | undefined) {
  return apiQuery<PropertyNamesRecord>(projectPath(projectId, 'property_names'), { limit: 500, event });
}
