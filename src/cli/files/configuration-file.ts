import { Type, type Static } from 'typebox';
import { scheduleFields } from '../../wire/contract/import-schedules.ts';
import { orNull } from '../../wire/contract/or-null.ts';
import { descriptionLengthMax, nameLengthMax } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';

/** Name of the file when none is given. */
export const fileNameDefault = 'millrace.yaml';

const closed = { additionalProperties: false } as const;
const name = (description: string) => Type.String({ minLength: 1, maxLength: nameLengthMax, description });

const configSchema = Type.Object(
  {
    plugin: Type.String({ minLength: 1, description: 'Slug of the plugin: `millrace plugins list` shows them.' }),
    name: Type.Optional(
      name("What it is called and, with the plugin, known by: another name is another config. Default: the plugin's."),
    ),
    previous_name: Type.Optional(
      name('It is renamed: where a config of this name is found and none of the new name, it keeps its settings.'),
    ),
    version: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Of an installed plugin. Default: the one that it runs, or the latest.',
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ description: 'Takes part. Default true.' })),
    description: Type.Optional(Type.String({ maxLength: descriptionLengthMax, description: "Default: the plugin's." })),
    settings: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'All of them: one that is left out goes back to its default, but a secret that is left out stays as it is. A secret ' +
          'is `{env: NAME}` or `{file: PATH}`, never the value.',
      }),
    ),
    schedule: Type.Optional(
      orNull(
        Type.Object(scheduleFields, { ...closed }),
        'When an import app runs by itself. Null: it does not. Left out: as it is.',
      ),
    ),
  },
  { ...closed, description: 'A plugin at work in a project.' },
);
export type ConfigEntry = Static<typeof configSchema>;

const projectSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200, description: 'What it is known by; made where there is none.' }),
    timezone: Type.Optional(Type.String({ minLength: 1, description: 'IANA name such as Europe/Paris.' })),
    transformations: Type.Optional(
      Type.Array(configSchema, {
        description: 'In the order in which events pass them. Left out: they are left alone.',
      }),
    ),
    import_apps: Type.Optional(Type.Array(configSchema, { description: 'Left out: they are left alone.' })),
  },
  { ...closed, description: 'A project and what works in it.' },
);
export type ProjectEntry = Static<typeof projectSchema>;

const pluginSchema = Type.Object(
  {
    source: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'A folder or an archive (./plugins/mine, beside this file), `npm:NAME@VERSION`, or the address of a repository or an ' +
          'archive. Another one is another version. Left out: it must be installed.',
      }),
    ),
  },
  { ...closed, description: 'An installed plugin.' },
);
export type PluginEntry = Static<typeof pluginSchema>;

/** What a configuration file says. Every other form of it (types, editor schema, checks) follows from here. */
export const configurationFileSchema = Type.Object(
  {
    version: Type.Literal(1, { description: 'Of the form of this file.' }),
    plugins: Type.Optional(
      Type.Record(Type.String(), pluginSchema, { description: 'Plugins that are not built in, by slug.' }),
    ),
    projects: Type.Array(projectSchema, { minItems: 1, description: 'Projects that are not listed are left alone.' }),
  },
  closed,
);
export type ConfigurationFile = Static<typeof configurationFileSchema>;

/** Where a project lists the configs of a family. */
export const familyKeys = {
  transformation: 'transformations',
  'import-app': 'import_apps',
} as const satisfies Record<Family, keyof ProjectEntry>;
export const families = Object.keys(familyKeys) as Family[];
