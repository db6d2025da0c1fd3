import type { EventStore } from './eventstore.ts';
import { filterConditions, timeConditions, type EventFilter } from './filters.ts';
import { eventsOf, keysIn, spans, type EventKey, type EventPage, type FoundEvent } from './reads.ts';

/** Lists events from the oldest on. Time spans grow forwards, so that the cost depends on the page, as in `listEvents`. */
export async function listOldestFirst(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  page: { readonly limit: number; readonly cursor?: EventKey },
): Promise<EventPage> {
  const found: FoundEvent[] = [];
  let { cursor } = page;
  // A full page each time: a query for the few missing ones would find duplicates again, query after query.
  const wanted = page.limit + 1;
  while (found.length <= page.limit) {
    const keys = await nextKeys(store, projectId, filter, cursor, wanted);
    found.push(...(await eventsOf(store, projectId, filter, keys)));
    // Duplicates among the keys may have left the page short.
    if (keys.length < wanted) break;
    cursor = keys.at(-1);
  }
  const events = found.slice(0, page.limit);
  const last = events.at(-1);
  return { events, next: found.length > page.limit && last ? last.key : null };
}

async function nextKeys(
  store: EventStore,
  projectId: number,
  filter: EventFilter,
  cursor: EventKey | undefined,
  wanted: number,
): Promise<EventKey[]> {
  const from = cursor?.timestampMicros ?? (await oldestMicros(store, projectId, filter));
  if (from === undefined) return [];
  let keys: EventKey[] = [];
  for (const span of spans) {
    const end = span === null ? undefined : from + span;
    const isLast = end === undefined || (filter.before !== undefined && end >= filter.before);
    const range = { after: from, before: isLast ? filter.before : end };
    keys = await keysIn(store, projectId, filter, range, cursor, wanted, 'oldest_first');
    if (keys.length === wanted || isLast) break;
  }
  return keys;
}

/** Returns the time of the oldest row that may match; cheap, because it ignores duplicates and properties. */
async function oldestMicros(store: EventStore, projectId: number, filter: EventFilter): Promise<bigint | undefined> {
  const base = filterConditions(projectId, { ...filter, properties: [], run: undefined });
  const time = timeConditions('timestamp', filter.after, filter.before);
  const rows = await store.query<{ found: string; micros: string }>(
    `SELECT count() AS found, toUnixTimestamp64Micro(min(timestamp)) AS micros
FROM events WHERE ${[...base.sql, ...time.sql].join(' AND ')}`,
    { ...base.params, ...time.params },
  );
  const [row] = rows;
  return row && row.found !== '0' ? BigInt(row.micros) : undefined;
}
