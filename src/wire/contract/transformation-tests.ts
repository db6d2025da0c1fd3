import { Type, type Static, type TProperties } from 'typebox';
import { orNull } from './or-null.ts';

/** Tests of transformations on an event: input and result. */

const idsMax = 500;

/** Whether tested plugins may reach other servers. */
export const requestsField = Type.Optional(
  Type.Enum(['real', 'refused'], {
    description: 'Plugin requests to other servers: `real` (default) sends them, `refused` makes them fail.',
  }),
);

const subject = {
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Event to test, in the form that clients send: event, distinct_id, properties, and optionally uuid and timestamp.',
    }),
  ),
  event_id: Type.Optional(Type.String({ description: 'Uuid of a stored event to test.' })),
  sample_id: Type.Optional(Type.Integer({ description: 'Id of a sample event to test.' })),
  match: Type.Optional(
    Type.Object(
      { event: Type.Optional(Type.String()), distinct_id: Type.Optional(Type.String()) },
      {
        description:
          'Selects the latest stored event with this name or distinct_id, or without both the latest of the project.',
      },
    ),
  ),
  requests: requestsField,
};

/** Differences from the stored config. */
const changes = {
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Settings that replace stored ones; others are kept, including secrets. `""` unsets a setting, and null does too, except ' +
        'that it keeps a secret.',
    }),
  ),
  files: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Code that replaces the stored one: text by path, as when a plugin is installed.',
    }),
  ),
  version: Type.Optional(Type.String({ maxLength: 200, description: 'Version of the installed plugin.' })),
};

export const configTestSchema = Type.Object({ ...subject, ...changes });
export type ConfigTest = Static<typeof configTestSchema>;

const draftStep = Type.Object({
  config_id: Type.Optional(Type.Integer({ description: 'Id of a stored config; other fields override parts of it.' })),
  plugin: Type.Optional(
    Type.Integer({ description: 'Id of the plugin for a config that is not stored yet, instead of `config_id`.' }),
  ),
  ...changes,
  enabled: Type.Optional(
    Type.Boolean({ description: 'False excludes the step. Default true, regardless of what is stored.' }),
  ),
});
export type DraftStep = Static<typeof draftStep>;

export const chainTestSchema = Type.Object({
  ...subject,
  steps: Type.Optional(
    Type.Array(draftStep, {
      maxItems: idsMax,
      description:
        'Chain to test, in this order: stored configs, changed ones and new ones. With only `files`, a step is a plugin that is ' +
        'not installed yet.',
    }),
  ),
  config_ids: Type.Optional(
    Type.Array(Type.Integer(), {
      maxItems: idsMax,
      description:
        'Ids of stored configs to test in this order, enabled or not. Default is the enabled ones in their order.',
    }),
  ),
  include_disabled: Type.Optional(
    Type.Boolean({
      description: 'Whether to include disabled configs, without `steps` and `config_ids`. Default false.',
    }),
  ),
});
export type ChainTest = Static<typeof chainTestSchema>;

export const testOutcomes = ['kept', 'dropped', 'failed', 'skipped'] as const;

const shownEvent = Type.Object({
  uuid: Type.String({ format: 'uuid' }),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});
const after = orNull(shownEvent, 'The event afterwards. Null if it was dropped.');
const outcome = Type.Enum([...testOutcomes], {
  description:
    '`kept`: the event passed, unchanged if `diff` is empty. `failed`: it passed as it was before; see `error`. `skipped`: the ' +
    'plugin does not process this event.',
});

const truncated = Type.Array(Type.String(), {
  description:
    'What was truncated: a test shows at most 4 MB in total. An event that is too large is shown without its properties.',
});

const ran: TProperties = {
  diff: Type.Array(
    Type.Object({
      path: Type.String({ description: 'JSON Pointer: `/properties/plan`.' }),
      op: Type.Enum(['add', 'remove', 'replace']),
      before: Type.Optional(Type.Unknown()),
      after: Type.Optional(Type.Unknown()),
    }),
    { description: 'Changes, without `$plugins_succeeded` and `$plugins_failed`.' },
  ),
  logs: Type.Array(
    Type.Object({ timestamp: Type.String(), level: Type.String(), source: Type.String(), message: Type.String() }),
  ),
  error: Type.Union([Type.Null(), Type.Object({ name: Type.String(), message: Type.String(), stack: Type.String() })]),
  captured: Type.Array(
    Type.Object({
      event: Type.String(),
      distinct_id: Type.String(),
      timestamp: Type.String(),
      properties: Type.Record(Type.String(), Type.Unknown()),
    }),
    { description: 'Events that the plugin would have captured.' },
  ),
  jobs: Type.Array(
    Type.Object({ name: Type.String(), payload: Type.Record(Type.String(), Type.Unknown()), run_at: Type.String() }),
    { description: 'Jobs that the plugin would have started.' },
  ),
  storage: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Values that the plugin would have stored, by key. Null for deleted ones.',
  }),
  metrics: Type.Array(Type.Object({ name: Type.String(), kind: Type.String(), value: Type.Number() }), {
    description: "Values of the plugin's metrics.",
  }),
  time_ms: Type.Number({ description: 'Processing time of the event in ms, without loading and setup.' }),
  truncated,
};

export const configTestResultSchema = Type.Object({ before: shownEvent, after, outcome, ...ran });

export const chainTestResultSchema = Type.Object({
  before: shownEvent,
  after,
  outcome: Type.Enum([...testOutcomes], {
    description:
      '`dropped`: a step dropped the event. `failed`: at least one step failed. `skipped`: no step processes this event.',
  }),
  steps: Type.Array(
    Type.Object({
      config_id: orNull(Type.Integer(), 'Null if the config is not stored.'),
      index: Type.Integer({
        description: 'Index in `steps` or `config_ids` of the request, or in the chain.',
      }),
      name: Type.String(),
      outcome,
      after: orNull(shownEvent, 'The event after this step. Null if it was dropped.'),
      ...ran,
    }),
    { description: 'Steps in order, up to the one that dropped the event.' },
  ),
  truncated,
});
