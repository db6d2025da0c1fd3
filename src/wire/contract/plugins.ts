import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema } from './pagination.ts';
import { schemaEntrySchema } from './plugin-fields.ts';

/** Capabilities of a plugin, which determine the families of its configs. */
export const capabilitiesSchema = Type.Object({
  methods: Type.Array(Type.String()),
  scheduled_tasks: Type.Array(Type.String()),
  jobs: Type.Array(Type.String()),
});
export type Capabilities = Static<typeof capabilitiesSchema>;

/** A plugin of kind `both` has two families. */
export const pluginFamilies = ['import-app', 'transformation'] as const;
export type Family = (typeof pluginFamilies)[number];

/** Path segment of each family. */
export const familyPaths = {
  'import-app': 'pipeline_import_apps_configs',
  transformation: 'pipeline_transformation_configs',
} as const satisfies Record<Family, string>;

/** Origin of an installed plugin's code. */
export const pluginSourceKinds = ['source', 'archive', 'npm', 'git'] as const;
export type PluginSourceKind = (typeof pluginSourceKinds)[number];

export const pluginSchema = Type.Object({
  id: Type.Integer(),
  slug: Type.String({ description: 'Stable name, e.g. `drop-events`.' }),
  name: Type.String(),
  description: Type.String(),
  kind: Type.String({
    description: '`transformation`, `import-app` or `both`. `none`: nothing that a config can run.',
  }),
  families: Type.Array(Type.Enum([...pluginFamilies]), { description: "Families of this plugin's configs." }),
  version: Type.String({ description: 'Version that new configs run.' }),
  url: orNull(Type.String()),
  config_schema: Type.Array(schemaEntrySchema, { description: 'Settings of the plugin.' }),
  public_jobs: Type.Record(Type.String(), Type.Unknown()),
  capabilities: capabilitiesSchema,
  is_built_in: Type.Boolean({
    description: 'Whether the plugin is part of the program and cannot be changed or deleted.',
  }),
  source_kind: orNull(Type.Enum([...pluginSourceKinds]), 'Origin of the version. Null if built in.'),
  source_url: orNull(Type.String(), 'URL or `npm:NAME@VERSION`. Null if sent with the request or built in.'),
  latest_version: Type.String({ description: 'Same as `version`: target of an upgrade without a version.' }),
  versions: Type.Integer({ description: 'Number of kept versions. 0 if built in.' }),
  metrics: Type.Record(Type.String(), Type.String(), {
    description: 'Metrics defined by the plugin, by name: `sum`, `min` or `max`.',
  }),
  has_frontend: Type.Boolean({ description: 'Whether the plugin contains a front end.' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type PluginRecord = Static<typeof pluginSchema>;

export const pluginKinds = ['transformation', 'import-app', 'both', 'none'] as const;
export type PluginKind = (typeof pluginKinds)[number];

export const pluginQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  kind: Type.Optional(
    Type.Enum([...pluginKinds], { description: 'Kind of plugin. `transformation` and `import-app` include `both`.' }),
  ),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Text contained in name, slug or description.' })),
});

const sourceFields = {
  files: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Text by path: `plugin.json`, `index.ts` or `index.js`, `frontend.tsx`, and what they import.',
    }),
  ),
  url: Type.Optional(
    Type.String({
      maxLength: 2000,
      description:
        'github.com or gitlab.com repository (also `/tree/REF`, `/tree/REF/FOLDER`, `/commit/SHA`, `/releases/tag/TAG`), ' +
        'package page on npmjs.com, or address of a .zip or .tar.gz archive.',
    }),
  ),
  npm: Type.Optional(Type.String({ maxLength: 300, description: 'npm package `NAME` or `NAME@VERSION`.' })),
  name: Type.Optional(Type.String({ maxLength: 200, minLength: 1, description: "Overrides the plugin's name." })),
  description: Type.Optional(Type.String({ maxLength: 5000, description: "Overrides the plugin's description." })),
};

export const pluginInstallSchema = Type.Object({
  ...sourceFields,
  version: Type.Optional(
    Type.String({ maxLength: 200, description: 'With `npm`, a version, range or tag. Default `latest`.' }),
  ),
});
export const pluginUpdateSchema = Type.Object({
  ...sourceFields,
  version: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'With `npm`, the version, range or tag to fetch. On its own, a kept version to make the latest one.',
    }),
  ),
});
export type PluginInstall = Static<typeof pluginInstallSchema>;
export type PluginUpdate = Static<typeof pluginUpdateSchema>;

export const pluginVersionSchema = Type.Object({
  version: Type.String(),
  is_latest: Type.Boolean({ description: 'Whether new configs run this version.' }),
  source_kind: Type.Enum([...pluginSourceKinds]),
  source_url: orNull(Type.String()),
  capabilities: capabilitiesSchema,
  configs: Type.Integer({ description: 'Number of configs of this project that run it, including the bin.' }),
  sha256: Type.String({ description: 'SHA-256 of the running code, hexadecimal.' }),
  created_at: Type.String({ format: 'date-time' }),
});
export type PluginVersionRecord = Static<typeof pluginVersionSchema>;

export const pluginSourceSchema = Type.Object({
  version: Type.String(),
  files: Type.Record(Type.String(), Type.String(), {
    description: 'Text by path, without binary and very large files.',
  }),
});

/** Methods that receive events. */
const eventMethods = ['processEvent', 'processEventBatch', 'onEvent', 'exportEvents'];

/**
 * Determines the families of a plugin: a method that receives events makes it a transformation, scheduled tasks or an import
 * source an import app. Jobs make it an import app only if no method receives events.
 */
export function familiesOf(capabilities: Capabilities): readonly Family[] {
  const processes = eventMethods.some((method) => capabilities.methods.includes(method));
  const fetches = capabilities.scheduled_tasks.length > 0 || capabilities.methods.includes('importEvents');
  const imports = fetches || (capabilities.jobs.length > 0 && !processes);
  return pluginFamilies.filter((family) => (family === 'transformation' ? processes : imports));
}

export function kindOf(capabilities: Capabilities): PluginKind {
  const [first, ...others] = familiesOf(capabilities);
  return others.length > 0 ? 'both' : (first ?? 'none');
}

/** Built-in transformations that keep values between events, which a project spread over slots must not use. */
export const keepingSlugs: ReadonlySet<string> = new Set(['first-time-events', 'sequence-timer']);
