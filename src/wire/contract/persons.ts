import { Type, type Static } from 'typebox';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const personSchema = Type.Object({
  id: Type.String({ description: 'Same as `uuid`.' }),
  uuid: Type.String({ format: 'uuid' }),
  name: Type.String({ description: 'Display name: email, name or username, otherwise one of the ids.' }),
  distinct_ids: Type.Array(Type.String(), { description: "At most 1,000 of the person's ids, 100 in lists." }),
  distinct_ids_total: Type.Integer({ description: 'Number of ids.' }),
  properties: Type.Record(Type.String(), Type.Unknown()),
  created_at: Type.String({ format: 'date-time', description: 'Time of the earliest event.' }),
  is_identified: Type.Boolean({
    description: 'Whether the person was identified by `$identify`, an alias or a merge.',
  }),
});
/** A person with all ids. */
export type PersonRecord = Omit<Static<typeof personSchema>, 'distinct_ids_total'>;

export const personPageSchema = pageSchema(personSchema);

export const personQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  distinct_id: Type.Optional(Type.String({ description: 'Only the person with this id.' })),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only persons with an id that starts with this text, or with this uuid or email. At most 1,000.',
    }),
  ),
  email: Type.Optional(Type.String({ description: 'Only persons with exactly this `email` property.' })),
  is_identified: Type.Optional(Type.Boolean({ description: 'Only identified persons, or only anonymous ones.' })),
  order: Type.Optional(
    Type.Enum(['-created_at', 'created_at'], {
      default: '-created_at',
      description: 'Newest or oldest first. Persons found by `search` are ordered by id.',
    }),
  ),
});
