import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema } from './pagination.ts';
import { schemaEntrySchema } from './plugin-fields.ts';

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

/** Where the code of an installed plugin came from. */
export const pluginSourceKinds = ['source', 'archive', 'npm', 'git'] as const;
export type PluginSourceKind = (typeof pluginSourceKinds)[number];

export const pluginSchema = Type.Object({
  id: Type.Integer(),
  slug: Type.String({ description: 'Stable name, e.g. `drop-events`.' }),
  name: Type.String(),
  description: Type.String(),
  kind: Type.String({
    description: '`transformation`, `import-app` or `both`; `none`: nothing that a config could run.',
  }),
  families: Type.Array(Type.Enum([...pluginFamilies]), { description: 'Where configs of this plugin belong.' }),
  version: Type.String({ description: 'What new configs run.' }),
  url: orNull(Type.String()),
  config_schema: Type.Array(schemaEntrySchema, { description: 'The settings that the plugin takes.' }),
  public_jobs: Type.Record(Type.String(), Type.Unknown()),
  capabilities: capabilitiesSchema,
  is_built_in: Type.Boolean({ description: 'Part of the program: neither changed nor deleted, never out of date.' }),
  source_kind: orNull(Type.Enum([...pluginSourceKinds]), 'Where the version came from; null: built in.'),
  source_url: orNull(Type.String(), 'Address or `npm:NAME@VERSION`; null: sent with the request, or built in.'),
  latest_version: Type.String({ description: 'Same as `version`: what an upgrade without a version leads to.' }),
  versions: Type.Integer({ description: 'How many versions are kept; 0: built in.' }),
  metrics: Type.Record(Type.String(), Type.String(), {
    description: 'Metrics of its own by name: `sum`, `min` or `max`.',
  }),
  has_frontend: Type.Boolean({ description: 'Whether it brings a front end.' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type PluginRecord = Static<typeof pluginSchema>;

export const pluginKinds = ['transformation', 'import-app', 'both', 'none'] as const;
export type PluginKind = (typeof pluginKinds)[number];

export const pluginQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  kind: Type.Optional(
    Type.Enum([...pluginKinds], { description: '`transformation` and `import-app` find those that are both, too.' }),
  ),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name, slug or description.' })),
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
  npm: Type.Optional(
    Type.String({ maxLength: 300, description: 'Package `NAME` or `NAME@VERSION` of the npm registry.' }),
  ),
  name: Type.Optional(Type.String({ maxLength: 200, minLength: 1, description: "Instead of the plugin's own." })),
  description: Type.Optional(Type.String({ maxLength: 5000, description: "Instead of the plugin's own." })),
};

export const pluginInstallSchema = Type.Object({
  ...sourceFields,
  version: Type.Optional(
    Type.String({ maxLength: 200, description: 'With `npm`: version, range or tag. Default `latest`.' }),
  ),
});
export const pluginUpdateSchema = Type.Object({
  ...sourceFields,
  version: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'With `npm`: version, range or tag to fetch. Alone: a version kept here, to make it the latest one.',
    }),
  ),
});
export type PluginInstall = Static<typeof pluginInstallSchema>;
export type PluginUpdate = Static<typeof pluginUpdateSchema>;

export const pluginVersionSchema = Type.Object({
  version: Type.String(),
  is_latest: Type.Boolean({ description: 'What new configs run.' }),
  source_kind: Type.Enum([...pluginSourceKinds]),
  source_url: orNull(Type.String()),
  capabilities: capabilitiesSchema,
  configs: Type.Integer({ description: 'Configs of this project that run it, those in the bin included.' }),
  sha256: Type.String({ description: 'Of the code that runs, hexadecimal.' }),
  created_at: Type.String({ format: 'date-time' }),
});
export type PluginVersionRecord = Static<typeof pluginVersionSchema>;

export const pluginSourceSchema = Type.Object({
  version: Type.String(),
  files: Type.Record(Type.String(), Type.String(), {
    description: 'Text by path; files that are no text or very large are left out.',
  }),
});

/** Methods that get events. */
const eventMethods = ['processEvent', 'processEventBatch', 'onEvent', 'exportEvents'];

/**
 * Families of a plugin: a method that gets events makes a transformation; scheduled tasks or an import source make an
 * import app; jobs do so only where no method gets events.
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

/** Built-in transformations that keep values between events, which those of a project that is spread may not. */
export const keepingSlugs: ReadonlySet<string> = new Set(['first-time-events', 'sequence-timer']);
