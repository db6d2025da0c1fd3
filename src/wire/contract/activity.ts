import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';
import { stated } from './stated.ts';

/** Kinds of items that have an activity log. */
export const activityScopeMeanings = {
  PluginConfig: 'Configs of transformations and import apps',
  Plugin: 'Installed plugins',
  ImportRun: 'Import runs: user actions, undo included',
  Project: 'Projects',
  PersonalApiKey: 'Personal API keys',
  User: 'Users',
  HistoricalMigration: 'Agreements for historical imports',
  NoticeDestination: 'Notification destinations',
  RetentionPolicy: 'How long the events of a project are kept',
  ProjectLimits: 'What a project may send',
  TrackingPlan: 'Tracking plans',
  Erasure: 'Erasures of persons and events',
  EventReplay: 'Replays of stored events through a plugin',
  DeadLetter: 'Dead letters that a user replayed, corrected or discarded',
  Export: 'Exports of events, persons and groups',
} as const;

export type ActivityScope = keyof typeof activityScopeMeanings;
export const activityScopes = Object.keys(activityScopeMeanings) as readonly ActivityScope[];

export const activityChangeSchema = Type.Object({
  field: Type.String({ description: "Name of the record's field, or `settings.KEY`." }),
  action: Type.Enum(['created', 'changed', 'deleted']),
  before: Type.Unknown({ description: 'Previous value, with secrets masked. Null if it did not exist.' }),
  after: Type.Unknown({ description: 'New value, with secrets masked. Null if it was removed.' }),
});
export type ActivityChange = Static<typeof activityChangeSchema>;

const user = Type.Object({
  id: Type.Integer(),
  first_name: Type.String({ description: 'First name. For a deleted user, the last known name and address.' }),
  email: Type.String({ description: 'Email address. Empty if the user has been deleted.' }),
});

export const activityEntrySchema = Type.Object({
  id: Type.String(),
  activity: Type.String({ description: 'What happened, e.g. `created`, `enabled`, `config_updated`.' }),
  scope: Type.String(),
  item_id: Type.String(),
  user: orNull(user),
  is_system: Type.Boolean({
    description: 'Whether the service made the change, on its own or through its command line.',
  }),
  key_id: orNull(Type.String(), 'Id of the personal API key used.'),
  key_label: orNull(Type.String(), 'Label of the key. Null if no key was used or the key has been deleted.'),
  request_id: orNull(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  detail: Type.Object({ name: Type.String(), changes: Type.Array(activityChangeSchema) }),
});
export type ActivityEntry = Static<typeof activityEntrySchema>;

export const activityPageSchema = pageSchema(activityEntrySchema);

/** An activity log entry with the item's state at that time. */
export const activityDetailSchema = Type.Object({
  ...activityEntrySchema.properties,
  snapshot: Type.Unknown({
    description: 'The complete item after the change (before it, for a deletion), with secrets masked.',
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
      description: 'Index of the first result, for clients that do not follow `next`.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, maxLength: 100, description: 'Position after the previous page, from `next`.' }),
  ),
  scope: Type.Optional(Type.Enum([...activityScopes], { description: 'Kind of item.' })),
  item_id: Type.Optional(Type.String({ description: 'Id of one item. Requires `scope`.' })),
  activity: Type.Optional(Type.String({ maxLength: 100, description: 'Kind of activity, e.g. `deleted` or `undo`.' })),
  user: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Id of the user, deleted users included.' }),
  ),
  is_system: Type.Optional(
    Type.Boolean({ description: 'True selects changes made by the service, false those made by users.' }),
  ),
  after: Type.Optional(Type.String({ ...time, description: 'Only entries from this ISO 8601 time onwards.' })),
  before: Type.Optional(Type.String({ ...time, description: 'Only entries before this ISO 8601 time.' })),
});
