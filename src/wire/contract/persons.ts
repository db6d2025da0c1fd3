import { Type, type Static } from 'typebox';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const personSchema = Type.Object({
  id: Type.String({ description: 'The same as `uuid`.' }),
  uuid: Type.String({ format: 'uuid' }),
  name: Type.String({ description: 'What to call the person: email, name or username, else one of its ids.' }),
  distinct_ids: Type.Array(Type.String(), { description: 'At most 1,000 of its ids; in a list at most 100.' }),
  distinct_ids_total: Type.Integer({ description: 'How many ids it has.' }),
  properties: Type.Record(Type.String(), Type.Unknown()),
  created_at: Type.String({ format: 'date-time', description: 'Time of the earliest event.' }),
  is_identified: Type.Boolean({ description: 'Somebody said who it is: `$identify`, an alias or a merge.' }),
});
/** With every id. */
export type PersonRecord = Omit<Static<typeof personSchema>, 'distinct_ids_total'>;

export const personPageSchema = pageSchema(personSchema);

export const personQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  distinct_id: Type.Optional(Type.String({ description: 'Only the person of this id.' })),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only persons one of whose ids begins with this, or whose uuid or email it is. At most 1,000.',
    }),
  ),
  email: Type.Optional(Type.String({ description: 'Only persons whose property `email` is exactly this.' })),
});
