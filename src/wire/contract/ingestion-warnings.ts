import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated } from './stated.ts';
import { warningSeverities } from './warnings.ts';

const severity = Type.Enum([...warningSeverities], {
  description: '`error`: the event was not stored. `warning`: it was changed and stored. `info`: nothing was lost.',
});

export const ingestionWarningSchema = Type.Object({
  type: Type.String({ description: 'Stable name from the list of ingestion warnings.' }),
  severity,
  meaning: Type.String(),
  count: Type.Integer({ description: 'Occurrences since `after`.' }),
  last_seen: Type.String({ format: 'date-time' }),
  samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    description: 'The most recent samples, at most 5.',
  }),
  sparkline: Type.Array(Type.Object({ hour: Type.String({ format: 'date-time' }), count: Type.Integer() }), {
    description: 'Counts by hour of arrival, oldest first, without empty hours.',
  }),
});
export type IngestionWarningRecord = Static<typeof ingestionWarningSchema>;

export const ingestionWarningListSchema = Type.Object({ results: Type.Array(ingestionWarningSchema) });

export const ingestionWarningQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({
      ...stated.time,
      description: 'ISO 8601 time, rounded down to the hour. Default 7 days ago.',
    }),
  ),
  before: Type.Optional(
    Type.String({ ...stated.time, description: 'Only hours that start before this ISO 8601 time.' }),
  ),
  severity: Type.Optional(Type.Enum([...warningSeverities], { description: 'Only types of this severity.' })),
});

export const warningHoursMax = 200;
export const warningHoursDefault = 24;

export const ingestionWarningTypeSchema = Type.Object({
  type: Type.String({ description: 'Stable name from the list.' }),
});

export const ingestionWarningHoursQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601 time, rounded down to the hour.' })),
  before: Type.Optional(
    Type.String({ ...stated.time, description: 'Only hours that start before this ISO 8601 time.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: warningHoursMax,
      default: warningHoursDefault,
      description: 'Number of hours per page.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Position after the previous page, from `next`.' }),
  ),
});

export const ingestionWarningHoursSchema = Type.Object({
  type: Type.String(),
  severity,
  meaning: Type.String(),
  next: orNull(Type.String(), 'URL of the next page, with older hours.'),
  previous: Type.Null({ description: 'Always null: pages only go back in time.' }),
  results: Type.Array(
    Type.Object({
      hour: Type.String({ format: 'date-time', description: 'Start of the hour of arrival.' }),
      count: Type.Integer(),
      last_seen: Type.String({ format: 'date-time' }),
      samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'The most recent samples, at most 5.',
      }),
    }),
    { description: 'Newest hour first, without empty hours.' },
  ),
});
