import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated, statedChoice } from './stated.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const deadLetterStates = ['open', 'replayed', 'discarded'] as const;
/** Dead letters that one call replays. */
export const replayMax = 1000;

const fields = {
  id: Type.String({ format: 'uuid' }),
  lane: Type.Enum(['live', 'historical']),
  reason: Type.String({ description: 'Type of the ingestion warning.' }),
  detail: Type.String({ description: 'What was expected, and what came.' }),
  attr: orNull(Type.String(), 'The field at fault.'),
  event: orNull(Type.String(), 'Name of the event, if it has one.'),
  distinct_id: orNull(Type.String(), 'Its distinct_id, if it has one.'),
  event_uuid: orNull(Type.String(), 'Its uuid, if it has one.'),
  received_at: Type.String({ format: 'date-time' }),
  state: Type.Enum([...deadLetterStates]),
  decided_at: orNull(Type.String(), 'When it was replayed or discarded.'),
  replay_id: orNull(Type.String(), 'The replay in the background that has it in hand, or had.'),
};

export const deadLetterSchema = Type.Object(fields);
export type DeadLetterRecord = Static<typeof deadLetterSchema>;
export const deadLetterPageSchema = pageSchema(deadLetterSchema);

export const deadLetterWithOriginalSchema = Type.Object({
  ...fields,
  original: Type.String({ description: 'The bytes as they were received.' }),
  original_encoding: Type.Enum(['text', 'base64'], { description: 'base64 where the bytes are no UTF-8 text.' }),
});

const filters = {
  reason: Type.Optional(Type.String({ description: 'Type of the ingestion warning.' })),
  event: Type.Optional(Type.String({ description: 'Name of the event.' })),
  distinct_id: Type.Optional(Type.String()),
  lane: Type.Optional(Type.Enum(['live', 'historical'])),
  after: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601 time: received then or later.' })),
  before: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601 time: received earlier.' })),
};

export const deadLetterQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  ...filters,
  state: Type.Optional(Type.Enum([...deadLetterStates])),
});

/** Which open dead letters: `ids`, or those that match a `filter` that is not empty. */
export const deadLetterChoiceSchema = Type.Object(
  {
    ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: replayMax })),
    filter: Type.Optional(Type.Object(filters, { stated: { minProperties: 1 } })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing, only tell what would happen.' })),
  },
  statedChoice(['ids'], ['filter']),
);
export type DeadLetterChoice = Static<typeof deadLetterChoiceSchema>;

export const replayResultSchema = Type.Object({
  matched: Type.Integer({ description: 'Open dead letters that were chosen.' }),
  replayed: Type.Integer({ description: 'Sent through again; with dry_run: that would be.' }),
  failed: Type.Array(Type.Object({ id: Type.String(), code: Type.String(), detail: Type.String() }), {
    description: 'Still not acceptable as they are: they stay open. Replay them one by one with a corrected `event`.',
  }),
  remaining: Type.Integer({ description: `Matching ones beyond the ${replayMax} of this call.` }),
});

export const discardResultSchema = Type.Object({ matched: Type.Integer(), discarded: Type.Integer() });

export const replayOneSchema = Type.Object({
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'The corrected event, instead of the original.' }),
  ),
});

export const deadLetterCountsQuerySchema = Type.Object({
  ...filters,
  state: Type.Optional(Type.Enum([...deadLetterStates], { description: 'Default open.' })),
});

export const deadLetterCountsSchema = Type.Object({
  count: Type.Integer({ description: 'Of all reasons.' }),
  results: Type.Array(
    Type.Object({
      reason: Type.String({ description: 'Type of the ingestion warning.' }),
      meaning: Type.String(),
      count: Type.Integer(),
      oldest: Type.String({ format: 'date-time', description: 'Arrival of the oldest one.' }),
      newest: Type.String({ format: 'date-time' }),
      events: Type.Array(
        Type.Object({ event: orNull(Type.String(), 'Null: without a name.'), count: Type.Integer() }),
        {
          description: 'The most frequent names of events.',
        },
      ),
    }),
    { description: 'The most frequent reason first.' },
  ),
});
