import { Type, type Static } from 'typebox';
import { stated } from './stated.ts';

/** Selects stored events in the body of a request: exports, replays, erasures. All conditions must match. */

export const selectedNamesMax = 100;
export const selectedIdsMax = 10_000;

const propertyFilterSchema = Type.Object(
  {
    key: Type.String({ minLength: 1, description: 'Name of the property, on the top level.' }),
    operator: Type.Optional(
      Type.String({
        description:
          'exact (default), is_not, icontains, not_icontains, starts_with, gt, gte, lt, lte (exact numbers), is_set, is_not_set.',
      }),
    ),
    value: Type.Optional(
      Type.Unknown({ description: 'A string, number, boolean or null, or an array of those, any of which matches.' }),
    ),
  },
  { examples: [{ key: 'plan', value: 'pro' }] },
);

const time = { maxLength: 64, ...stated.time };

export const eventSelectionSchema = Type.Object({
  events: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      minItems: 1,
      maxItems: selectedNamesMax,
      description: 'Only events with one of these names. `*` matches any characters.',
      examples: [['$pageview', 'order *']],
    }),
  ),
  distinct_ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      minItems: 1,
      maxItems: selectedIdsMax,
      description: 'Only events with one of these distinct_ids.',
    }),
  ),
  person_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only events of the person with this uuid, under any of its ids.' }),
  ),
  after: Type.Optional(
    Type.String({ ...time, description: 'Only from this time on (inclusive). ISO 8601, UTC if without offset.' }),
  ),
  before: Type.Optional(
    Type.String({ ...time, description: 'Only before this time (exclusive). ISO 8601, UTC if without offset.' }),
  ),
  historical_migration: Type.Optional(
    Type.Boolean({ description: 'True selects events of historical imports, false the others.' }),
  ),
  import_run: Type.Optional(Type.String({ maxLength: 100, description: 'Only events stored by this import run.' })),
  properties: Type.Optional(
    Type.Array(propertyFilterSchema, { maxItems: 20, description: 'Conditions on properties of the event.' }),
  ),
});
export type EventSelection = Static<typeof eventSelectionSchema>;
