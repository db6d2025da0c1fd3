import { Type, type Static } from 'typebox';
import { stated, statedChoice } from './stated.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';
import { familyPaths, type Family } from './plugins.ts';

/** Bounds of `order` and of every id. */
export const int32Max = 2_147_483_647;
export const int32Min = -2_147_483_648;
export const nameLengthMax = 400;
export const descriptionLengthMax = 1000;

const order = Type.Integer({ minimum: int32Min, maximum: int32Max, description: 'Position in the family, 0-based.' });

/** Exactly these 14 fields, in this order, from every operation and both families. */
export const pluginConfigSchema = Type.Object({
  id: Type.Integer(),
  plugin: Type.Integer({ description: 'Id of the plugin.' }),
  enabled: Type.Boolean(),
  order,
  config: Type.String({ description: 'The settings as JSON text; secrets are masked.' }),
  error: Type.String({ description: 'Empty when healthy, else one sentence that says what to do.' }),
  team_id: Type.Integer({ description: 'Id of the project.' }),
  plugin_info: Type.String({ description: 'What the plugin is, as JSON text.' }),
  delivery_rate_24h: Type.String({
    description: 'delivered / (delivered + failed) of the last 24 h, e.g. `0.9987`; empty when nothing passed.',
  }),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  name: Type.String({ description: "The config's own name, else the plugin's." }),
  description: Type.String({ description: "The config's own description, else the plugin's." }),
  deleted: Type.Boolean({ description: 'In the bin: not listed, not running, restorable.' }),
});
export type PluginConfigRecord = Static<typeof pluginConfigSchema>;

export const pluginConfigPageSchema = pageSchema(pluginConfigSchema);

/** Parameters beside those of pages; without them the list is as it has always been. */
export const pluginConfigListQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Part of the name, the description or the plugin, in any case.' }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'Only those that are enabled, or only the others.' })),
  failing: Type.Optional(Type.Boolean({ description: 'Only those with an `error`, or only the others.' })),
  plugin: Type.Optional(Type.Integer({ description: 'Only those of this plugin, by its id.' })),
  deleted: Type.Optional(Type.Boolean({ description: 'true: those in the bin, instead of the others.' })),
});
export type PluginConfigListQuery = Static<typeof pluginConfigListQuerySchema>;

export const restorableFields = ['settings', 'enabled', 'name', 'description', 'plugin', 'deleted'] as const;
export type RestorableField = (typeof restorableFields)[number];

export const pluginConfigRestoreSchema = Type.Object({
  at: Type.String({ ...stated.time, description: 'ISO 8601 time: the config becomes as it stood then.' }),
  fields: Type.Optional(
    Type.Array(Type.Enum([...restorableFields]), {
      description: 'Only these. Default: all of them. `plugin` is the plugin and its version.',
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing, only answer with the record as it would be.' })),
});
export type PluginConfigRestore = Static<typeof pluginConfigRestoreSchema>;

const optionalFields = {
  enabled: Type.Optional(Type.Boolean({ description: 'Takes part in automatic work. Default false.' })),
  order: Type.Optional(order),
  name: Type.Optional(Type.String({ maxLength: nameLengthMax })),
  description: Type.Optional(Type.String({ maxLength: descriptionLengthMax })),
  deleted: Type.Optional(Type.Boolean({ description: 'true: into the bin, which also disables; false: restore.' })),
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
        payload: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Handed to the job.' })),
        operation: Type.Optional(Type.String({ maxLength: 200, description: 'Default `start`.' })),
      },
      statedChoice(['type']),
    ),
  ),
});

export const pluginConfigRearrangeSchema = Type.Object(
  {
    ...pluginConfigUpdateSchema.properties,
    plugin: Type.Optional(Type.Integer({ description: 'Instead of `id`: its plugin, if no other config uses it.' })),
    id: Type.Optional(Type.Integer({ description: 'The config to move.' })),
    orders: Type.Optional(
      Type.Record(Type.String(), order, {
        stated: { minProperties: 1 },
        description: 'Several at once: position by id of the config.',
      }),
    ),
  },
  { stated: { anyOf: [{ required: ['id'] }, { required: ['plugin'] }, { required: ['orders'] }] } },
);
export type PluginConfigRearrange = Static<typeof pluginConfigRearrangeSchema>;

export const pluginConfigIdSchema = Type.Object({ id: Type.Integer({ description: 'Id of the plugin config.' }) });

export const pluginSettingsSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: "Settings by key, as the plugin's config_schema lists them. Secrets are write-only.",
});

export const comparedSettingsSchema = Type.Object({
  same: Type.Array(Type.String(), { description: 'Keys that are stored as given.' }),
  different: Type.Array(Type.String(), { description: 'The other keys.' }),
});

/** How the family is called in a sentence. */
export const familyNames = {
  'import-app': 'an import app',
  transformation: 'a transformation',
} as const satisfies Record<Family, string>;

export function configsPath(projectId: number, family: Family): string {
  return `/api/projects/${projectId}/${familyPaths[family]}/`;
}
