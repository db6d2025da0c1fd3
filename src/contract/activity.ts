import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

/** Kinds of items that have an activity log. */
export const activityScopes = ['PluginConfig', 'Plugin', 'User'] as const;
export type ActivityScope = (typeof activityScopes)[number];

export const activityChangeSchema = Type.Object({
  field: Type.String({ description: 'Field of the record, or `settings.KEY`.' }),
  action: Type.Enum(['created', 'changed', 'deleted']),
  before: Type.Unknown({ description: 'Null when there was nothing; secrets are masked.' }),
  after: Type.Unknown({ description: 'Null when there is nothing any more; secrets are masked.' }),
});
export type ActivityChange = Static<typeof activityChangeSchema>;

export const activityEntrySchema = Type.Object({
  id: Type.String(),
  activity: Type.String({ description: 'What happened, e.g. `created`, `enabled`, `config_updated`.' }),
  scope: Type.String(),
  item_id: Type.String(),
  user: orNull(Type.Object({ id: Type.Integer(), first_name: Type.String(), email: Type.String() })),
  is_system: Type.Boolean({ description: 'The service itself did it.' }),
  key_id: orNull(Type.String(), 'Personal API key used.'),
  request_id: orNull(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  detail: Type.Object({ name: Type.String(), changes: Type.Array(activityChangeSchema) }),
});
export type ActivityEntry = Static<typeof activityEntrySchema>;

export const activityPageSchema = pageSchema(activityEntrySchema);

export const activityQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  scope: Type.Optional(Type.Enum([...activityScopes], { description: 'Kind of item.' })),
  item_id: Type.Optional(Type.String({ description: 'Id of one item; needs `scope`.' })),
});
