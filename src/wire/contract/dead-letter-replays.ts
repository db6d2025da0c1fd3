import { Type, type Static } from 'typebox';
import { deadLetterChoiceSchema } from './dead-letters.ts';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';
import { statedChoice } from './stated.ts';
import { chainTestResultSchema, requestsField } from './transformation-tests.ts';

/** Background replays of dead letters, and dry runs. */

/** Maximum of dead letters that a dry run examines. */
export const dryRunMax = 100;

const { ids, filter } = deadLetterChoiceSchema.properties;
export const replayStartSchema = Type.Object({ ids, filter }, statedChoice(['ids'], ['filter']));
export type ReplayStart = Static<typeof replayStartSchema>;

export const deadLetterReplaySchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  state: Type.Enum(['queued', 'running', 'done', 'cancelled']),
  ids: orNull(Type.Integer(), 'Number of ids given. Null if chosen by a filter.'),
  filter: orNull(Type.Record(Type.String(), Type.Unknown()), 'The filter as requested. Null if chosen by ids.'),
  matched: Type.Integer({
    description: 'Number of selected open dead letters, without those claimed by another replay.',
  }),
  replayed: Type.Integer({ description: 'Number of dead letters replayed.' }),
  failed: Type.Integer({ description: 'Number that were rejected again. They stay open.' }),
  remaining: Type.Integer({ description: 'Number not yet replayed.' }),
  failures: Type.Array(
    Type.Object({
      code: Type.String({ description: 'Type of the ingestion warning.' }),
      detail: Type.String({ description: 'Detail of the first failure.' }),
      count: Type.Integer(),
      ids: Type.Array(Type.String(), { description: 'Ids of the first dead letters that failed.' }),
    }),
  ),
  error: Type.String({ description: 'Why the replay is waiting. Empty if it is not.' }),
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
      Type.Integer({
        minimum: 1,
        maximum: dryRunMax,
        description: 'Number of dead letters to examine, oldest first. Default 20.',
      }),
    ),
    requests: requestsField,
  },
  statedChoice(['ids'], ['filter']),
);
export type DryRun = Static<typeof dryRunSchema>;

const outcome = Type.Enum(['stored', 'dropped', 'refused'], {
  description:
    '`stored`: it would be stored, even if a transformation fails. `dropped`: a transformation drops it. `refused`: it is still invalid.',
});
const refusal = {
  outcome,
  code: orNull(Type.String(), 'If refused, the type of the ingestion warning.'),
  detail: orNull(Type.String(), 'If refused, what was expected and what was received.'),
};

export const dryRunResultSchema = Type.Object({
  matched: Type.Integer({ description: 'Number of selected open dead letters.' }),
  examined: Type.Integer({ description: 'Number of dead letters examined.' }),
  stored: Type.Integer(),
  dropped: Type.Integer(),
  refused: Type.Integer(),
  results: Type.Array(
    Type.Object({
      id: Type.String(),
      event: orNull(Type.String(), 'Event name after the transformations, or as received.'),
      ...refusal,
      dropped_by: orNull(Type.Integer(), 'Id of the config that drops the event.'),
      failed_in: Type.Array(Type.Integer(), {
        description: 'Ids of configs that fail on the event and pass it unchanged.',
      }),
    }),
  ),
});

export const dryRunOneSchema = Type.Object({
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Corrected event that replaces the original.' }),
  ),
  requests: requestsField,
});
export type DryRunOne = Static<typeof dryRunOneSchema>;

export const dryRunOneResultSchema = Type.Object({
  ...refusal,
  chain: orNull(chainTestResultSchema, 'Result of each transformation. Null if the event is refused before them.'),
});
