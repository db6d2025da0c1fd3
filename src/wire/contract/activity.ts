import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';
import { stated } from './stated.ts';

/** Kinds of items that have an activity log. */
export const activityScopeMeanings = {
  PluginConfig: 'Configs of transformations and import apps',
  Plugin: 'Installed plugins',
  ImportRun: 'Import runs: what somebody did with them, undo included',
  Project: 'Projects',
  PersonalApiKey: 'Personal API keys',
  User: 'Users',
  HistoricalMigration: 'Agreements for historical imports',
  NoticeDestination: 'Where notices go',
  DeadLetter: 'Dead letters: what somebody replayed, corrected or discarded',
} as const;

export type ActivityScope = keyof typeof activityScopeMeanings;
export const activityScopes = Object.keys(activityScopeMeanings) as readonly ActivityScope[];

export const activityChangeSchema = Type.Object({
  field: Type.String({ description: 'Field of the record, or `settings.KEY`.' }),
  action: Type.Enum(['created', 'changed', 'deleted']),
  before: Type.Unknown({ description: 'Null when there was nothing; secrets are masked.' }),
  after: Type.Unknown({ description: 'Null when there is nothing any more; secrets are masked.' }),
});
export type ActivityChange = Static<typeof activityChangeSchema>;

const user = Type.Object({
  id: Type.Integer(),
  first_name: Type.String({ description: 'Of a user that has been deleted: name and address as they were.' }),
  email: Type.String({ description: 'Empty when the user has been deleted.' }),
});

export const activityEntrySchema = Type.Object({
  id: Type.String(),
  activity: Type.String({ description: 'What happened, e.g. `created`, `enabled`, `config_updated`.' }),
  scope: Type.String(),
  item_id: Type.String(),
  user: orNull(user),
  is_system: Type.Boolean({ description: 'The service itself did it, or somebody on its command line.' }),
  key_id: orNull(Type.String(), 'Personal API key used.'),
  key_label: orNull(Type.String(), 'Its label; null: no key was used, or it has been deleted.'),
  request_id: orNull(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  detail: Type.Object({ name: Type.String(), changes: Type.Array(activityChangeSchema) }),
});
export type ActivityEntry = Static<typeof activityEntrySchema>;

export const activityPageSchema = pageSchema(activityEntrySchema);

/** One entry with the item as it stood then. */
export const activityDetailSchema = Type.Object({
  ...activityEntrySchema.properties,
  snapshot: Type.Unknown({
    description: 'The whole item after the change, of a deletion before it; secrets are masked.',
  }),
});

export const activityParamsSchema = Type.Object({ id: Type.String({ description: 'Id of the entry.' }) });

const time = stated.time;
export const activityQuerySchema = Type.Object({
  limit: pageQuerySchema.properties.limit,
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Index of the first result, for whoever does not follow `next`.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, maxLength: 100, description: 'Where the page before ended; taken from `next`.' }),
  ),
  scope: Type.Optional(Type.Enum([...activityScopes], { description: 'Kind of item.' })),
  item_id: Type.Optional(Type.String({ description: 'Id of one item; needs `scope`.' })),
  activity: Type.Optional(Type.String({ maxLength: 100, description: 'What happened, e.g. `deleted` or `undo`.' })),
  user: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Id of the user who did it, also a deleted one.' }),
  ),
  is_system: Type.Optional(Type.Boolean({ description: 'True: what the service did itself; false: what people did.' })),
  after: Type.Optional(Type.String({ ...time, description: 'Only from this time on. ISO 8601.' })),
  before: Type.Optional(Type.String({ ...time, description: 'Only before this time. ISO 8601.' })),
});
