import type { EventSelection } from '../../wire/contract/event-selection.ts';
import type { StoreReader } from './eventstore.ts';
import { filterConditions, operatorValues, timeConditions, type Conditions, type EventFilter } from './filters.ts';
import { parseMicros } from './micros.ts';
import { readPropertyFilters } from './property-filters.ts';

/** A condition of the selection is invalid. The message is for users. */
export class SelectionError extends Error {
  override name = 'SelectionError';
  /** Name of the field. */
  readonly attr: string;

  constructor(attr: string, message: string) {
    super(message);
    this.attr = attr;
  }
}

/**
 * Returns the selection in a form that JSON keeps unchanged: values of properties as strings, which match numbers by their text, so
 * that no digit is lost.
 *
 * @throws SelectionError
 */
export function normalizeSelection(selection: EventSelection): EventSelection {
  const { after, before } = selectionFilter(selection);
  if (after !== undefined && before !== undefined && after >= before) {
    throw new SelectionError('before', `Expected a time after "after" (${selection.after}), got: ${selection.before}`);
  }
  if (selection.properties === undefined) return selection;
  const filters = readProperties(selection);
  const properties = filters.map(({ key, operator, values }) => {
    const needs = operatorValues[operator];
    return needs === 'none'
      ? { key, operator }
      : { key, operator, value: needs === 'number' ? values[0] : [...values] };
  });
  return { ...selection, properties };
}

/**
 * Returns the filter of a selection. The ids of its person are added by the caller, who resolves them at the time of the work.
 *
 * @throws SelectionError
 */
export function selectionFilter(selection: EventSelection): EventFilter {
  return {
    events: selection.events,
    distinctIds: selection.distinct_ids,
    after: readTime(selection, 'after'),
    before: readTime(selection, 'before'),
    historical: selection.historical_migration,
    run: selection.import_run,
    properties: readProperties(selection),
  };
}

/** Returns the conditions of a filter, including its time bounds. */
export function selectionConditions(projectId: number, filter: EventFilter): Conditions {
  const rows = filterConditions(projectId, filter);
  const time = timeConditions('timestamp', filter.after, filter.before);
  return { sql: [...rows.sql, ...time.sql], params: { ...rows.params, ...time.params } };
}

/** Counts the events of a filter, each once. */
export async function countSelected(store: StoreReader, projectId: number, filter: EventFilter): Promise<number> {
  const { sql, params } = selectionConditions(projectId, filter);
  const text = `SELECT count() AS events FROM events FINAL WHERE ${sql.join(' AND ')}`;
  const [row] = await store.query<{ events: string }>(text, params);
  return Number(row?.events ?? 0);
}

function readTime(selection: EventSelection, attr: 'after' | 'before'): bigint | undefined {
  const text = selection[attr];
  if (text === undefined) return undefined;
  const micros = parseMicros(text);
  if (micros !== undefined) return micros;
  const expected = 'Expected an ISO 8601 date or time, such as 2026-11-20 or 2026-11-20T10:00:00Z';
  throw new SelectionError(attr, `${expected}, got: ${text}`);
}

function readProperties({ properties = [] }: EventSelection): NonNullable<EventFilter['properties']> {
  const filters = readPropertyFilters(properties);
  if (typeof filters === 'string') throw new SelectionError('properties', filters);
  return filters;
}
