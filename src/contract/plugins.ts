import { Type, type Static } from 'typebox';

/** What a plugin can do; decides to which families its configs belong. */
export const capabilitiesSchema = Type.Object({
  methods: Type.Array(Type.String()),
  scheduled_tasks: Type.Array(Type.String()),
  jobs: Type.Array(Type.String()),
});
export type Capabilities = Static<typeof capabilitiesSchema>;

/** `both` in a plugin's kind shows as two families. */
export const pluginFamilies = ['import-app', 'transformation'] as const;
export type Family = (typeof pluginFamilies)[number];

/** Path segment of each family, as published. */
export const familyPaths = {
  'import-app': 'pipeline_import_apps_configs',
  transformation: 'pipeline_transformation_configs',
} as const satisfies Record<Family, string>;

export const pluginSchema = Type.Object({
  id: Type.Integer(),
  slug: Type.String({ description: 'Stable name, e.g. `drop-events`.' }),
  name: Type.String(),
  description: Type.String(),
  kind: Type.String({ description: '`transformation`, `import-app` or `both`.' }),
  families: Type.Array(Type.Enum([...pluginFamilies]), { description: 'Where configs of this plugin belong.' }),
  version: Type.String(),
  url: Type.Union([Type.String(), Type.Null()]),
  config_schema: Type.Array(Type.Unknown(), { description: 'The settings that the plugin takes.' }),
  public_jobs: Type.Record(Type.String(), Type.Unknown()),
  capabilities: capabilitiesSchema,
});
export type PluginRecord = Static<typeof pluginSchema>;

/**
 * Families of a plugin: `processEvent` makes a transformation; scheduled tasks or an import source make an import app;
 * jobs do so only without `processEvent`.
 */
export function familiesOf(capabilities: Capabilities): readonly Family[] {
  const processes = capabilities.methods.includes('processEvent');
  const fetches = capabilities.scheduled_tasks.length > 0 || capabilities.methods.includes('importEvents');
  const imports = fetches || (capabilities.jobs.length > 0 && !processes);
  return pluginFamilies.filter((family) => (family === 'transformation' ? processes : imports));
}
