import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated, statedChoice } from './stated.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const deadLetterStates = ['open', 'replayed', 'discarded'] as const;
/** Maximum of dead letters that one call replays. */
export const replayMax = 1000;

const fields = {
  id: Type.String({ format: 'uuid' }),
  lane: Type.Enum(['live', 'historical']),
  reason: Type.String({ description: 'Type of the ingestion warning.' }),
  detail: Type.String({ description: 'What was expected and what was received.' }),
  attr: orNull(Type.String(), 'The invalid field.'),
  event: orNull(Type.String(), 'Event name, if present.'),
  distinct_id: orNull(Type.String(), '`distinct_id` of the event, if present.'),
  event_uuid: orNull(Type.String(), '`uuid` of the event, if present.'),
  received_at: Type.String({ format: 'date-time' }),
  state: Type.Enum([...deadLetterStates]),
  decided_at: orNull(Type.String(), 'Time at which it was replayed or discarded.'),
  replay_id: orNull(Type.String(), 'Id of the background replay that last claimed it.'),
};

export const deadLetterSchema = Type.Object(fields);
export type DeadLetterRecord = Static<typeof deadLetterSchema>;
export const deadLetterPageSchema = pageSchema(deadLetterSchema);

export const deadLetterWithOriginalSchema = Type.Object({
  ...fields,
  original: Type.String({ description: 'The bytes as received.' }),
  original_encoding: Type.Enum(['text', 'base64'], { description: '`base64` if the bytes are not valid UTF-8.' }),
});

const filters = {
  reason: Type.Optional(Type.String({ description: 'Type of the ingestion warning.' })),
  event: Type.Optional(Type.String({ description: 'Name of the event.' })),
  distinct_id: Type.Optional(Type.String()),
  lane: Type.Optional(Type.Enum(['live', 'historical'])),
  after: Type.Optional(
    Type.String({ ...stated.time, description: 'Only those received at this ISO 8601 time or later.' }),
  ),
  before: Type.Optional(Type.String({ ...stated.time, description: 'Only those received before this ISO 8601 time.' })),
};

export const deadLetterQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  ...filters,
  state: Type.Optional(Type.Enum([...deadLetterStates])),
});

/** Selects open dead letters by `ids` or by a `filter` that is not empty. */
export const deadLetterChoiceSchema = Type.Object(
  {
    ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: replayMax })),
    filter: Type.Optional(Type.Object(filters, { stated: { minProperties: 1 } })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only report what would happen.' })),
  },
  statedChoice(['ids'], ['filter']),
);
export type DeadLetterChoice = Static<typeof deadLetterChoiceSchema>;

export const replayResultSchema = Type.Object({
  matched: Type.Integer({ description: 'Number of selected open dead letters.' }),
  replayed: Type.Integer({ description: 'Number replayed, or that would be with `dry_run`.' }),
  failed: Type.Array(Type.Object({ id: Type.String(), code: Type.String(), detail: Type.String() }), {
    description:
      'Dead letters that were rejected again and stay open. Replay them one by one with a corrected `event`.',
  }),
  remaining: Type.Integer({ description: `Number of matching dead letters beyond the ${replayMax} of this call.` }),
});

export const discardResultSchema = Type.Object({ matched: Type.Integer(), discarded: Type.Integer() });

export const replayOneSchema = Type.Object({
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Corrected event that replaces the original.' }),
  ),
});

export const deadLetterCountsQuerySchema = Type.Object({
  ...filters,
  state: Type.Optional(Type.Enum([...deadLetterStates], { description: 'Default `open`.' })),
});

export const deadLetterCountsSchema = Type.Object({
  count: Type.Integer({ description: 'Number of dead letters for all reasons.' }),
  results: Type.Array(
    Type.Object({
      reason: Type.String({ description: 'Type of the ingestion warning.' }),
      meaning: Type.String(),
      count: Type.Integer(),
      oldest: Type.String({ format: 'date-time', description: 'Time at which the oldest one was received.' }),
      newest: Type.String({ format: 'date-time' }),
      events: Type.Array(
        Type.Object({ event: orNull(Type.String(), 'Event name. Null if it has none.'), count: Type.Integer() }),
        {
          description: 'The most frequent event names.',
        },
      ),
    }),
    { description: 'Most frequent reason first.' },
  ),
});
