import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { statedList } from './stated.ts';

/** Stages of an event in order. `dropped`, `dead_letter` and `stored` are final. */
export const liveStages = ['received', 'transformed', 'stored', 'dropped', 'dead_letter'] as const;
export type LiveStage = (typeof liveStages)[number];

export const liveEventsPerSecondDefault = 100;
export const liveEventsPerSecondMax = 500;
/** Size in bytes of JSON above which properties are omitted. */
export const livePropertiesBytesMax = 65_536;

export const liveEventsQuerySchema = Type.Object({
  stages: Type.Optional(
    Type.String({
      description: `Comma-separated stages to show: ${liveStages.join(', ')}. Default all.`,
      examples: ['stored,dropped'],
      ...statedList(liveStages),
    }),
  ),
  event: Type.Optional(Type.String({ description: 'Only events with this name.' })),
  distinct_id: Type.Optional(Type.String({ description: 'Only events with this distinct_id.' })),
  steps: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to include the event after each transformation.' }),
  ),
  events_per_second: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: liveEventsPerSecondMax,
      default: liveEventsPerSecondDefault,
      description: 'Maximum of events per second and stage. Others are only counted.',
    }),
  ),
});
export type LiveEventsQuery = Static<typeof liveEventsQuerySchema>;

const snapshot = {
  uuid: orNull(Type.String(), 'Null if the event was sent without one: it gets one when it is stored.'),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: orNull(Type.String({ format: 'date-time' }), 'Null if it cannot be read.'),
  properties: orNull(
    Type.Record(Type.String(), Type.Unknown()),
    `Null if larger than ${livePropertiesBytesMax} bytes or not readable.`,
  ),
};

export const liveSnapshotSchema = Type.Object(snapshot);
export type LiveSnapshot = Static<typeof liveSnapshotSchema>;

export const liveStepSchema = Type.Object({
  config_id: Type.Integer({ description: 'Id of the transformation config.' }),
  label: Type.String({ description: 'Name of the transformation, as stored with events.' }),
  outcome: Type.Union(
    [Type.Literal('succeeded'), Type.Literal('failed'), Type.Literal('dropped'), Type.Literal('skipped')],
    { description: '`skipped`: it could not run, and the event passed unchanged, as after a failure.' },
  ),
  error: orNull(Type.String(), 'Error message, without secrets. Null if it did not fail.'),
  after: orNull(liveSnapshotSchema, 'The event after this step. Null if the step dropped it.'),
});

/** Data of an `event` message. */
export const liveEventSchema = Type.Object({
  stage: Type.Union([
    Type.Literal('received'),
    Type.Literal('transformed'),
    Type.Literal('stored'),
    Type.Literal('dropped'),
    Type.Literal('dead_letter'),
  ]),
  at: Type.String({ format: 'date-time', description: 'Time at which the event reached the stage.' }),
  ...snapshot,
  historical_migration: Type.Boolean(),
  received_at: Type.String({ format: 'date-time' }),
  reason: orNull(Type.String(), 'For a dropped event or dead letter, the type of the ingestion warning.'),
  detail: orNull(Type.String(), 'The reason as a sentence.'),
  dead_letter: orNull(Type.String(), 'Id of the dead letter.'),
  before: orNull(liveSnapshotSchema, 'With `steps`, the event before the first transformation.'),
  steps: orNull(Type.Array(liveStepSchema), 'With `steps`, every transformation that received the event, in order.'),
});
export type LiveEvent = Static<typeof liveEventSchema>;

/** Data of a `skipped` message: events since the last one that were not shown. */
export const liveSkippedSchema = Type.Object({
  rate: Type.Record(Type.String(), Type.Integer(), { description: 'Events beyond `events_per_second`, by stage.' }),
  slow: Type.Record(Type.String(), Type.Integer(), {
    description: 'Events skipped because the reader was too slow, by stage.',
  }),
});
export type LiveSkipped = Static<typeof liveSkippedSchema>;

/** Data of the final `end` message. `reason` is `shutdown` or the code of the error that now refuses the reader. */
export const liveEndSchema = Type.Object({ reason: Type.String(), detail: Type.String() });
export type LiveEnd = Static<typeof liveEndSchema>;
