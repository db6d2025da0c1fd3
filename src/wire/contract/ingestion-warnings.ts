import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated } from './stated.ts';
import { warningSeverities } from './warnings.ts';

const severity = Type.Enum([...warningSeverities], {
  description: 'error: the event was not stored; warning: stored, but changed; info: nothing lost.',
});

export const ingestionWarningSchema = Type.Object({
  type: Type.String({ description: 'Stable name, see the list of ingestion warnings.' }),
  severity,
  meaning: Type.String(),
  count: Type.Integer({ description: 'Occurrences since `after`.' }),
  last_seen: Type.String({ format: 'date-time' }),
  samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'The latest few, at most 5.' }),
  sparkline: Type.Array(Type.Object({ hour: Type.String({ format: 'date-time' }), count: Type.Integer() }), {
    description: 'By hour of arrival, oldest first; hours without any are left out.',
  }),
});
export type IngestionWarningRecord = Static<typeof ingestionWarningSchema>;

export const ingestionWarningListSchema = Type.Object({ results: Type.Array(ingestionWarningSchema) });

export const ingestionWarningQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({
      ...stated.time,
      description: 'ISO 8601 time; whole hours from the one it lies in. Default: 7 days ago.',
    }),
  ),
  before: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601 time: hours that begin earlier.' })),
  severity: Type.Optional(Type.Enum([...warningSeverities], { description: 'Only types of this severity.' })),
});

export const warningHoursMax = 200;
export const warningHoursDefault = 24;

export const ingestionWarningTypeSchema = Type.Object({
  type: Type.String({ description: 'Stable name, as the list shows it.' }),
});

export const ingestionWarningHoursQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({ ...stated.time, description: 'ISO 8601 time; whole hours from the one it lies in.' }),
  ),
  before: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601 time: hours that begin earlier.' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: warningHoursMax,
      default: warningHoursDefault,
      description: 'Number of hours per page.',
    }),
  ),
  cursor: Type.Optional(Type.String({ ...stated.cursor, description: 'Where the page before ended, see `next`.' })),
});

export const ingestionWarningHoursSchema = Type.Object({
  type: Type.String(),
  severity,
  meaning: Type.String(),
  next: orNull(Type.String(), 'URL of the page of older hours.'),
  previous: Type.Null({ description: 'Pages lead backwards in time only.' }),
  results: Type.Array(
    Type.Object({
      hour: Type.String({ format: 'date-time', description: 'Start of an hour of arrival.' }),
      count: Type.Integer(),
      last_seen: Type.String({ format: 'date-time' }),
      samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'The latest few, at most 5.' }),
    }),
    { description: 'Newest hour first; hours without any are left out.' },
  ),
});
