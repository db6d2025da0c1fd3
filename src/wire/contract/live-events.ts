import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { statedList } from './stated.ts';

/** Where an event can be seen, in the order in which it gets there; `dropped` and `dead_letter` are ends, as `stored` is. */
export const liveStages = ['received', 'transformed', 'stored', 'dropped', 'dead_letter'] as const;
export type LiveStage = (typeof liveStages)[number];

export const liveEventsPerSecondDefault = 100;
export const liveEventsPerSecondMax = 500;
/** Properties of more bytes of JSON are left out. */
export const livePropertiesBytesMax = 65_536;

export const liveEventsQuerySchema = Type.Object({
  stages: Type.Optional(
    Type.String({
      description: `Only these stages, with commas between: ${liveStages.join(', ')}. Default: all.`,
      examples: ['stored,dropped'],
      ...statedList(liveStages),
    }),
  ),
  event: Type.Optional(Type.String({ description: 'Only events of this name.' })),
  distinct_id: Type.Optional(Type.String({ description: 'Only events of this distinct_id.' })),
  steps: Type.Optional(
    Type.Boolean({ default: false, description: 'With what each transformation made of the event.' }),
  ),
  events_per_second: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: liveEventsPerSecondMax,
      default: liveEventsPerSecondDefault,
      description: 'Of each stage at most; the others are counted.',
    }),
  ),
});
export type LiveEventsQuery = Static<typeof liveEventsQuerySchema>;

const snapshot = {
  uuid: orNull(Type.String(), 'Null: it came without one, and gets it when it is stored.'),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: orNull(Type.String({ format: 'date-time' }), 'Null: it cannot be read.'),
  properties: orNull(
    Type.Record(Type.String(), Type.Unknown()),
    `Null: larger than ${livePropertiesBytesMax} bytes, or not readable.`,
  ),
};

export const liveSnapshotSchema = Type.Object(snapshot);
export type LiveSnapshot = Static<typeof liveSnapshotSchema>;

export const liveStepSchema = Type.Object({
  config_id: Type.Integer({ description: 'The transformation.' }),
  label: Type.String({ description: 'As the events name it.' }),
  outcome: Type.Union(
    [Type.Literal('succeeded'), Type.Literal('failed'), Type.Literal('dropped'), Type.Literal('skipped')],
    { description: 'skipped: it could not run just then; the event went on untouched, as after a failure.' },
  ),
  error: orNull(Type.String(), 'Of a failure; without secrets.'),
  after: orNull(liveSnapshotSchema, 'The event after it. Null: it was dropped here.'),
});

/** The data of a message `event`. */
export const liveEventSchema = Type.Object({
  stage: Type.Union([
    Type.Literal('received'),
    Type.Literal('transformed'),
    Type.Literal('stored'),
    Type.Literal('dropped'),
    Type.Literal('dead_letter'),
  ]),
  at: Type.String({ format: 'date-time', description: 'When it was seen there.' }),
  ...snapshot,
  historical_migration: Type.Boolean(),
  received_at: Type.String({ format: 'date-time' }),
  reason: orNull(Type.String(), 'Of a drop or a dead letter: a type of ingestion warning.'),
  detail: orNull(Type.String(), 'The same as a sentence.'),
  dead_letter: orNull(Type.String(), 'Its id among the dead letters.'),
  before: orNull(liveSnapshotSchema, 'With `steps`: the event before the first transformation.'),
  steps: orNull(Type.Array(liveStepSchema), 'With `steps`: every transformation that saw the event, in order.'),
});
export type LiveEvent = Static<typeof liveEventSchema>;

/** The data of a message `skipped`: what came by since the last one and is not shown. */
export const liveSkippedSchema = Type.Object({
  rate: Type.Record(Type.String(), Type.Integer(), { description: 'By stage: more than `events_per_second`.' }),
  slow: Type.Record(Type.String(), Type.Integer(), { description: 'By stage: the reader was too slow.' }),
});
export type LiveSkipped = Static<typeof liveSkippedSchema>;

/** The data of a message `end`, the last one. `reason`: `shutdown`, or the code of the error that refuses the reader now. */
export const liveEndSchema = Type.Object({ reason: Type.String(), detail: Type.String() });
export type LiveEnd = Static<typeof liveEndSchema>;
