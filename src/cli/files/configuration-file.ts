import { Type, type Static } from 'typebox';
import { scheduleFields } from '../../wire/contract/import-schedules.ts';
import { orNull } from '../../wire/contract/or-null.ts';
import { descriptionLengthMax, nameLengthMax } from '../../wire/contract/plugin-configs.ts';
import { limitOverridesSchema } from '../../wire/contract/project-limits.ts';
import { retentionPolicySchema } from '../../wire/contract/retention.ts';
import { trackingPlanSchema } from '../../wire/contract/tracking-plan.ts';
import type { Family } from '../../wire/contract/plugins.ts';

/** Default name of the file. */
export const fileNameDefault = 'millrace.yaml';

const closed = { additionalProperties: false } as const;
const name = (description: string) => Type.String({ minLength: 1, maxLength: nameLengthMax, description });

const configSchema = Type.Object(
  {
    plugin: Type.String({ minLength: 1, description: 'Slug of the plugin: `millrace plugins list` shows them.' }),
    name: Type.Optional(
      name(
        "Name that identifies the config together with the plugin: another name is another config. Default: the plugin's name.",
      ),
    ),
    previous_name: Type.Optional(
      name(
        'Former name: a config of this name is renamed and keeps its settings, unless one with the new name exists.',
      ),
    ),
    version: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Version of an installed plugin. Default: the one it runs, or the latest.',
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ description: 'Whether the config is enabled. Default true.' })),
    description: Type.Optional(
      Type.String({ maxLength: descriptionLengthMax, description: "Default: the plugin's description." }),
    ),
    settings: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'All settings: an omitted one is reset to its default, an omitted secret is kept. A secret ' +
          'is `{env: NAME}` or `{file: PATH}`, never the value.',
      }),
    ),
    schedule: Type.Optional(
      orNull(
        Type.Object(scheduleFields, { ...closed }),
        'Schedule of an import app. Null removes it; if omitted, it is kept.',
      ),
    ),
  },
  { ...closed, description: 'A plugin config of a project.' },
);
export type ConfigEntry = Static<typeof configSchema>;

const projectSchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Name that identifies the project; it is created if it does not exist.',
    }),
    timezone: Type.Optional(Type.String({ minLength: 1, description: 'IANA name such as Europe/Paris.' })),
    retention: Type.Optional(
      Type.Object(Type.Partial(retentionPolicySchema).properties, {
        ...closed,
        description:
          'How long events are kept, as a whole: omitted days keep them permanently. If omitted, it is not changed.',
      }),
    ),
    limits: Type.Optional(
      Type.Object(Type.Partial(limitOverridesSchema).properties, {
        ...closed,
        description:
          'What the project may send, as a whole: an omitted limit is the default of the service. If omitted, they are not changed.',
      }),
    ),
    transformations: Type.Optional(
      Type.Array(configSchema, {
        description: 'In processing order. If omitted, they are not changed.',
      }),
    ),
    import_apps: Type.Optional(Type.Array(configSchema, { description: 'If omitted, they are not changed.' })),
    tracking_plan: Type.Optional(
      orNull(trackingPlanSchema, 'Tracking plan. Null removes it; if omitted, it is not changed.'),
    ),
  },
  { ...closed, description: 'A project and its configs.' },
);
export type ProjectEntry = Static<typeof projectSchema>;

const pluginSchema = Type.Object(
  {
    source: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'A folder or an archive (./plugins/mine, relative to this file), `npm:NAME@VERSION`, or the URL of a repository or an ' +
          'archive. A different source is a different version. If omitted, the plugin must be installed.',
      }),
    ),
  },
  { ...closed, description: 'An installed plugin.' },
);

/** Schema of a configuration file, from which types, editor schema and checks are derived. */
export const configurationFileSchema = Type.Object(
  {
    version: Type.Literal(1, { description: 'Version of the file format.' }),
    plugins: Type.Optional(
      Type.Record(Type.String(), pluginSchema, { description: 'Plugins that are not built in, by slug.' }),
    ),
    projects: Type.Array(projectSchema, { minItems: 1, description: 'Projects that are not listed are not changed.' }),
  },
  closed,
);
export type ConfigurationFile = Static<typeof configurationFileSchema>;

/** Key of a family's configs in a project. */
export const familyKeys = {
  transformation: 'transformations',
  'import-app': 'import_apps',
} as const satisfies Record<Family, keyof ProjectEntry>;
export const families = Object.keys(familyKeys) as Family[];
