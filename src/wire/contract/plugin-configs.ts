import { Type, type Static } from 'typebox';
import { stated, statedChoice } from './stated.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';
import { familyPaths, type Family } from './plugins.ts';

/** Range of `order` and ids. */
export const int32Max = 2_147_483_647;
export const int32Min = -2_147_483_648;
export const nameLengthMax = 400;
export const descriptionLengthMax = 1000;

const order = Type.Integer({ minimum: int32Min, maximum: int32Max, description: 'Position in the family, 0-based.' });

/** Exactly these 14 fields in this order, in every response of both families. */
export const pluginConfigSchema = Type.Object({
  id: Type.Integer(),
  plugin: Type.Integer({ description: 'Id of the plugin.' }),
  enabled: Type.Boolean(),
  order,
  config: Type.String({ description: 'The settings as JSON text, with secrets masked.' }),
  error: Type.String({ description: 'Empty if healthy, otherwise a sentence with what to do.' }),
  team_id: Type.Integer({ description: 'Id of the project.' }),
  plugin_info: Type.String({ description: 'Description of the plugin, as JSON text.' }),
  delivery_rate_24h: Type.String({
    description: 'delivered / (delivered + failed) over the last 24 h, e.g. `0.9987`. Empty if there were no events.',
  }),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  name: Type.String({ description: 'Name of the config, or of the plugin.' }),
  description: Type.String({ description: 'Description of the config, or of the plugin.' }),
  deleted: Type.Boolean({ description: 'Whether the config is in the bin: not listed, not running, restorable.' }),
});
export type PluginConfigRecord = Static<typeof pluginConfigSchema>;

export const pluginConfigPageSchema = pageSchema(pluginConfigSchema);

/** Filters of the list, in addition to pagination. */
export const pluginConfigListQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Text contained in name, description or plugin, ignoring case.' }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'Only enabled configs, or only disabled ones.' })),
  failing: Type.Optional(Type.Boolean({ description: 'Only configs with an `error`, or only those without.' })),
  plugin: Type.Optional(Type.Integer({ description: 'Only configs of the plugin with this id.' })),
  deleted: Type.Optional(Type.Boolean({ description: 'True returns the configs in the bin instead.' })),
});

export const restorableFields = ['settings', 'enabled', 'name', 'description', 'plugin', 'deleted'] as const;
export type RestorableField = (typeof restorableFields)[number];

export const pluginConfigRestoreSchema = Type.Object({
  at: Type.String({ ...stated.time, description: 'ISO 8601 time of the state to restore.' }),
  fields: Type.Optional(
    Type.Array(Type.Enum([...restorableFields]), {
      description: 'Fields to restore. Default all. `plugin` is the plugin and its version.',
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing and return the resulting record.' })),
});

const optionalFields = {
  enabled: Type.Optional(
    Type.Boolean({ description: 'Whether the config takes part in automatic work. Default false.' }),
  ),
  order: Type.Optional(order),
  name: Type.Optional(Type.String({ maxLength: nameLengthMax })),
  description: Type.Optional(Type.String({ maxLength: descriptionLengthMax })),
  deleted: Type.Optional(
    Type.Boolean({ description: 'True moves the config to the bin, which also disables it; false restores it.' }),
  ),
};
const plugin = Type.Integer({ description: 'Id of a plugin of this family.' });

export const pluginConfigCreateSchema = Type.Object({ plugin, ...optionalFields });
export const pluginConfigUpdateSchema = Type.Object({ plugin: Type.Optional(plugin), ...optionalFields });
export type PluginConfigCreate = Static<typeof pluginConfigCreateSchema>;
export type PluginConfigUpdate = Static<typeof pluginConfigUpdateSchema>;

export const pluginConfigJobSchema = Type.Object({
  ...pluginConfigUpdateSchema.properties,
  job: Type.Optional(
    Type.Object(
      {
        type: Type.Optional(Type.String({ maxLength: 200, description: "Name of one of the plugin's jobs." })),
        payload: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Payload of the job.' })),
        operation: Type.Optional(Type.String({ maxLength: 200, description: 'Default `start`.' })),
      },
      statedChoice(['type']),
    ),
  ),
});

export const pluginConfigRearrangeSchema = Type.Object(
  {
    ...pluginConfigUpdateSchema.properties,
    plugin: Type.Optional(
      Type.Integer({ description: "Id of the config's plugin, instead of `id`, if no other config uses it." }),
    ),
    id: Type.Optional(Type.Integer({ description: 'Id of the config to move.' })),
    orders: Type.Optional(
      Type.Record(Type.String(), order, {
        stated: { minProperties: 1 },
        description: 'Positions of several configs, by id.',
      }),
    ),
  },
  { stated: { anyOf: [{ required: ['id'] }, { required: ['plugin'] }, { required: ['orders'] }] } },
);
export type PluginConfigRearrange = Static<typeof pluginConfigRearrangeSchema>;

export const pluginConfigIdSchema = Type.Object({ id: Type.Integer({ description: 'Id of the plugin config.' }) });

export const pluginSettingsSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: "Settings by key, as listed in the plugin's config_schema. Secrets are write-only.",
});

export const comparedSettingsSchema = Type.Object({
  same: Type.Array(Type.String(), { description: 'Keys whose stored values equal the given ones.' }),
  different: Type.Array(Type.String(), { description: 'The other keys.' }),
});

/** Names of the families for sentences. */
export const familyNames = {
  'import-app': 'an import app',
  transformation: 'a transformation',
} as const satisfies Record<Family, string>;

export function configsPath(projectId: number, family: Family): string {
  return `/api/projects/${projectId}/${familyPaths[family]}/`;
}
