import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated } from './stated.ts';

const time = Type.String({
  maxLength: 64,
  examples: ['2026-11-20T10:00:00.000000Z'],
  ...stated.time,
});
const after = { description: 'Only from this time on (inclusive). ISO 8601, UTC if without offset.' };
const before = { description: 'Only before this time (exclusive). ISO 8601, UTC if without offset.' };

export const eventLimitDefault = 100;
export const eventLimitMax = 1000;

const filters = {
  event: Type.Optional(Type.String({ description: 'Only events with this name.' })),
  after: Type.Optional(Type.String({ ...time, ...after })),
  before: Type.Optional(Type.String({ ...time, ...before })),
};

const narrower = {
  distinct_id: Type.Optional(Type.String({ description: 'Only events with this distinct_id.' })),
  person_id: Type.Optional(
    Type.String({ description: 'Only events of the person with this uuid, under any of its ids.' }),
  ),
  historical_migration: Type.Optional(
    Type.Boolean({ description: 'True selects events of historical imports, false the others.' }),
  ),
  import_run: Type.Optional(Type.String({ maxLength: 100, description: 'Only events stored by this import run.' })),
  properties: Type.Optional(
    Type.String({
      description:
        'JSON array of {key, value, operator}, all of which must match. Operators: exact (default), is_not, icontains, ' +
        'not_icontains, starts_with, gt, gte, lt, lte (exact numbers), is_set, is_not_set. If the value is an array, any of ' +
        'its values matches.',
      ...stated.propertyFilters,
      examples: ['[{"key":"plan","value":"pro"}]'],
    }),
  ),
};

export const eventListQuerySchema = Type.Object({
  ...filters,
  ...narrower,
  order: Type.Optional(
    Type.Enum(['newest_first', 'oldest_first'], { default: 'newest_first', description: 'By the time of the event.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: eventLimitMax, default: eventLimitDefault, description: 'Events per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Position after the previous page, from `next`.' }),
  ),
});
export type EventListQuery = Static<typeof eventListQuerySchema>;

export const eventSchema = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The uuid of the event.' }),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: Type.String({ format: 'date-time', description: 'ISO 8601 UTC with microseconds.' }),
  properties: Type.Record(Type.String(), Type.Unknown()),
  person: Type.Union([
    Type.Null(),
    Type.Object({
      id: Type.String(),
      distinct_ids: Type.Array(Type.String(), { description: 'At most 25 ids of the person.' }),
      distinct_ids_total: Type.Integer({ description: 'Number of ids.' }),
      properties: Type.Record(Type.String(), Type.Unknown()),
      created_at: Type.String(),
      is_identified: Type.Boolean(),
    }),
  ]),
  historical_migration: Type.Boolean({ description: 'Whether the event is from a historical import.' }),
});

export const eventPageSchema = Type.Object({
  next: orNull(Type.String(), 'URL of the next page, with older events.'),
  previous: Type.Null({ description: 'Always null: pages only go from new to old.' }),
  results: Type.Array(eventSchema),
});

export const eventCountsQuerySchema = Type.Object({
  ...filters,
  ...narrower,
  timezone: Type.Optional(
    Type.String({
      ...stated.timeZone,
      maxLength: 100,
      description: 'IANA time zone of the intervals. Default UTC.',
    }),
  ),
  top: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'Number of most frequent event names to list; the rest is combined. Default all.',
    }),
  ),
  interval: Type.Optional(
    Type.Union([Type.Literal('hour'), Type.Literal('day'), Type.Literal('week'), Type.Literal('month')], {
      default: 'day',
      description: 'Weeks start on Monday.',
    }),
  ),
});

const totalSchema = Type.Object({
  standard: Type.Integer({ description: 'Events that are not from a historical import.' }),
  historical: Type.Integer({ description: 'Events of historical imports.' }),
});

export type EventCountsQuery = Static<typeof eventCountsQuerySchema>;

export const eventCountsSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      time: Type.String({ format: 'date-time', description: 'Start of the interval.' }),
      event: orNull(Type.String(), 'Event name. Null for the rest beyond `top`.'),
      historical_migration: Type.Boolean(),
      count: Type.Integer(),
    }),
  ),
  total: totalSchema,
});

const date = { examples: ['2026-11-20'], maxLength: 10, ...stated.day };

export const usageQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ ...date, description: 'First day (inclusive), UTC.' })),
  before: Type.Optional(Type.String({ ...date, description: 'The day after the last one (exclusive), UTC.' })),
});

export const usageSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      date: Type.String({ description: 'Day on which the events were received, UTC.' }),
      standard: Type.Integer(),
      historical: Type.Integer(),
    }),
  ),
  total: totalSchema,
});
