import { flag, oneOf, searchOf, text, texts } from '../../search.ts';
import { propertyFilters } from '../../api/property-filter.ts';

export const periods = ['1h', '24h', '7d', '30d'] as const;
export const zones = ['utc', 'browser'] as const;

/** Search parameters of the page. */
export const eventsSearch = searchOf({
  event: text,
  distinct_id: text,
  /** UUID of a person; matches events of all its distinct ids. */
  person_id: text,
  /** If absent, `after` and `before` apply. */
  period: oneOf(...periods),
  /** Times or days in the format of the API. */
  after: text,
  before: text,
  historical: flag,
  import_run: text,
  properties: propertyFilters,
  /** Properties with a separate column. */
  columns: texts,
  /** Defaults to the project's time zone. */
  zone: oneOf(...zones),
  /** UUID of the open event. */
  uuid: text,
});

export type EventsSearch = ReturnType<typeof eventsSearch>;
