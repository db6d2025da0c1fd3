import { Type, type Static } from 'typebox';
import { stated } from './stated.ts';

export const ingestionWarningSchema = Type.Object({
  type: Type.String({ description: 'Stable name, see the list of ingestion warnings.' }),
  severity: Type.Enum(['error', 'warning', 'info'], {
    description: 'error: the event was not stored; warning: stored, but changed; info: nothing lost.',
  }),
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
});
