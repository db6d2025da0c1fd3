import { flag, oneOf, searchOf, text, texts } from '../../search.ts';
import { propertyFilters } from './property-filter.ts';

export const periods = ['1h', '24h', '7d', '30d'] as const;
export const zones = ['utc', 'browser'] as const;

/** What the address of the page holds beside its path. */
export const eventsSearch = searchOf({
  event: text,
  distinct_id: text,
  /** Uuid of a person: its events, of whatever id. */
  person_id: text,
  /** Absent: `after` and `before`, or all there are. */
  period: oneOf(...periods),
  /** Times or days, as the API takes them. */
  after: text,
  before: text,
  historical: flag,
  import_run: text,
  properties: propertyFilters,
  /** Properties that have a column of their own. */
  columns: texts,
  /** Absent: the project's. */
  zone: oneOf(...zones),
  /** Event whose details are open. */
  uuid: text,
});

export type EventsSearch = ReturnType<typeof eventsSearch>;
