import { Type, type Static } from 'typebox';
import { deadLetterChoiceSchema } from './dead-letters.ts';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';
import { statedChoice } from './stated.ts';
import { chainTestResultSchema, requestsField } from './transformation-tests.ts';

/** Replays of many dead letters in the background, and what a replay would do. */

/** Dead letters that one dry run looks at. */
export const dryRunMax = 100;

const { ids, filter } = deadLetterChoiceSchema.properties;
export const replayStartSchema = Type.Object({ ids, filter }, statedChoice(['ids'], ['filter']));
export type ReplayStart = Static<typeof replayStartSchema>;

export const deadLetterReplaySchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  state: Type.Enum(['queued', 'running', 'done', 'cancelled']),
  ids: orNull(Type.Integer(), 'How many were named; null: chosen by a filter.'),
  filter: orNull(Type.Record(Type.String(), Type.Unknown()), 'As it was asked for; null: chosen by ids.'),
  matched: Type.Integer({
    description: 'Open dead letters that were chosen, without those that another replay has in hand.',
  }),
  replayed: Type.Integer({ description: 'Sent through again.' }),
  failed: Type.Integer({ description: 'Still not acceptable as they are: they stay open.' }),
  remaining: Type.Integer({ description: 'Still to be sent.' }),
  failures: Type.Array(
    Type.Object({
      code: Type.String({ description: 'Type of the ingestion warning.' }),
      detail: Type.String({ description: 'Of the first one.' }),
      count: Type.Integer(),
      ids: Type.Array(Type.String(), { description: 'The first ones.' }),
    }),
  ),
  error: Type.String({ description: 'What it waits for; empty: nothing.' }),
  created_at: Type.String({ format: 'date-time' }),
  ended_at: orNull(Type.String()),
});
export type DeadLetterReplayRecord = Static<typeof deadLetterReplaySchema>;
export const deadLetterReplayPageSchema = pageSchema(deadLetterReplaySchema);

export const dryRunSchema = Type.Object(
  {
    ids,
    filter,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: dryRunMax, description: 'How many to look at, oldest first. Default 20.' }),
    ),
    requests: requestsField,
  },
  statedChoice(['ids'], ['filter']),
);
export type DryRun = Static<typeof dryRunSchema>;

const outcome = Type.Enum(['stored', 'dropped', 'refused'], {
  description:
    'stored: it passes, perhaps past a transformation that fails; dropped: a transformation drops it; refused: still not acceptable.',
});
const refusal = {
  outcome,
  code: orNull(Type.String(), 'Of a refused one: type of the ingestion warning.'),
  detail: orNull(Type.String(), 'Of a refused one: what was expected, and what came.'),
};

export const dryRunResultSchema = Type.Object({
  matched: Type.Integer({ description: 'Open dead letters that were chosen.' }),
  examined: Type.Integer({ description: 'How many of them were looked at.' }),
  stored: Type.Integer(),
  dropped: Type.Integer(),
  refused: Type.Integer(),
  results: Type.Array(
    Type.Object({
      id: Type.String(),
      event: orNull(Type.String(), 'Its name after the transformations, or as it came.'),
      ...refusal,
      dropped_by: orNull(Type.Integer(), 'The config that drops it.'),
      failed_in: Type.Array(Type.Integer(), { description: 'Configs that fail on it; it passes them unchanged.' }),
    }),
  ),
});

export const dryRunOneSchema = Type.Object({
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'The corrected event, instead of the original.' }),
  ),
  requests: requestsField,
});
export type DryRunOne = Static<typeof dryRunOneSchema>;

export const dryRunOneResultSchema = Type.Object({
  ...refusal,
  chain: orNull(chainTestResultSchema, 'What the transformations do to it; null: it does not get that far.'),
});
