import { Type, type Static } from 'typebox';
import { eventSelectionSchema } from './event-selection.ts';
import { orNull } from './or-null.ts';

/** Erasures: background tasks that remove persons with all of their events, events by a filter, or the events of a deleted project. */

export const erasedIdsMax = 10_000;

const ids = { maxItems: erasedIdsMax, uniqueItems: true } as const;
const selection = Type.Object(eventSelectionSchema.properties, {
  description: 'Erases the events that match, instead of persons. At least one condition.',
});

export const erasureStartSchema = Type.Object({
  person_ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      ...ids,
      description: 'uuids of the persons to erase, under all their ids.',
    }),
  ),
  distinct_ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      ...ids,
      description: 'distinct_ids to erase, with the persons that they belong to and all their other ids.',
    }),
  ),
  selection: Type.Optional(selection),
  keep_out: Type.Optional(
    Type.Boolean({
      description:
        'Whether events of the persons are dropped from now on, live and in imports. Only hashes of their ids are kept. Default false.',
    }),
  ),
});
export type ErasureStart = Static<typeof erasureStartSchema>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const counts = {
  events: count('Events, each once.'),
  rows: count('Stored rows, including repetitions that reads do not return.'),
  by_name: Type.Record(Type.String(), Type.Integer(), { description: 'Events by name.' }),
  by_month: Type.Record(Type.String(), Type.Integer(), {
    description: 'Events by month of their timestamp, `2026-11`.',
  }),
  distinct_ids: count('distinct_ids concerned.'),
  persons: count('Persons that are erased. For a filter those that are computed again from their remaining events.'),
  dead_letters: count('Dead letters that contain one of the ids. 0 for a filter.'),
  other_rows: count('Deliveries, sample events and samples of warnings that contain one of the ids. 0 for a filter.'),
  staged_runs: Type.Array(Type.String(), {
    description:
      'Ended import runs whose staged records and results contain one of the ids: these files are removed as a whole.',
  }),
};

export const erasureCountsSchema = Type.Object(counts);
export type ErasureCounts = Static<typeof erasureCountsSchema>;

export const erasureSpecSchema = Type.Object({
  by: Type.Enum(['persons', 'events', 'project']),
  requested_ids: count('Number of ids in the request, which are not kept.'),
  selection: orNull(Type.Object(eventSelectionSchema.properties), 'Null unless events are erased by a filter.'),
  keep_out: Type.Optional(Type.Boolean({ description: 'Whether the ids are kept out. Absent: they are not.' })),
});
export type ErasureSpec = Static<typeof erasureSpecSchema>;

export const erasureSteps = ['waiting', 'counted', 'erased', 'cleaned', 'rebuilding', 'forgetting'] as const;

const progress = Type.Object({
  step: Type.Enum([...erasureSteps], {
    description:
      '`waiting` for events in flight; `counted`: nothing is deleted yet, and the last step in which it can be cancelled; `erased` ' +
      'from the event store; `cleaned`: dead letters and staged records too; `rebuilding` persons; `forgetting` what files of the log contain.',
  }),
  requested_at: Type.String({
    description: 'When the work began, µs since the epoch. Events received later may remain.',
  }),
  ends: Type.Array(Type.Object({ slot: Type.Integer(), lane: Type.String(), seq: Type.Integer() }), {
    description: 'Positions of the event log that are stored first.',
  }),
  counts: orNull(erasureCountsSchema, 'Null until they are known.'),
});
export type ErasureProgress = Static<typeof progress>;

export const erasureResultSchema = Type.Object({
  ...counts,
  rows_left: count('Rows that match and were received before the request, after the erasure: always 0.'),
  persons_rebuilt: count('Persons that were computed again from remaining events.'),
  groups_rebuilt: count('Groups that were computed again.'),
  log: Type.Enum(['erased', 'kept_by_brokers'], {
    description:
      'Whether files of the event log were replaced. Kafka and PostgreSQL decide themselves when the bytes of deleted requests are overwritten.',
  }),
});
export type ErasureResult = Static<typeof erasureResultSchema>;

export const erasureSchemas = { spec: erasureSpecSchema, progress, result: erasureResultSchema };
