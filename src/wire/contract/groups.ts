import { Type, type Static } from 'typebox';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const groupSchema = Type.Object({
  group_type_index: Type.Integer({ minimum: 0, maximum: 4 }),
  group_key: Type.String(),
  group_properties: Type.Record(Type.String(), Type.Unknown()),
  created_at: Type.String({ format: 'date-time', description: 'Time of the earliest event about the group.' }),
});
export type GroupRecord = Static<typeof groupSchema>;

export const groupPageSchema = pageSchema(groupSchema);

const typeIndexSchema = Type.Integer({
  minimum: 0,
  maximum: 4,
  description: 'Index of the group type, as in /groups_types.',
});

export const groupQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  group_type_index: typeIndexSchema,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only groups whose key contains this text, ignoring case.',
    }),
  ),
});

export const groupFindSchema = Type.Object({
  group_type_index: typeIndexSchema,
  group_key: Type.String({ minLength: 1 }),
});

export const groupTypeSchema = Type.Object({
  group_type: Type.String({ description: 'Name of the type in events.' }),
  group_type_index: Type.Integer({ minimum: 0, maximum: 4 }),
});
