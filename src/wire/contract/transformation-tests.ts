import { Type, type Static, type TProperties } from 'typebox';
import { orNull } from './or-null.ts';

/** Trying transformations on an event: what goes in and what is shown. */

const idsMax = 500;

/** Whether plugins that are tried reach other servers. */
export const requestsField = Type.Optional(
  Type.Enum(['real', 'refused'], {
    description: 'Of the plugins to other servers: `real` (default) makes them, `refused` lets them fail.',
  }),
);

const subject = {
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The event to try, as clients send it: event, distinct_id, properties; uuid and timestamp where they matter.',
    }),
  ),
  event_id: Type.Optional(Type.String({ description: 'Or the uuid of a stored event.' })),
  sample_id: Type.Optional(Type.Integer({ description: 'Or the id of a sample event.' })),
  match: Type.Optional(
    Type.Object(
      { event: Type.Optional(Type.String()), distinct_id: Type.Optional(Type.String()) },
      { description: 'Else: the latest stored event of this name or distinct_id. Neither: the latest of the project.' },
    ),
  ),
  requests: requestsField,
};

/** What may differ from what is stored. */
const changes = {
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Settings to try in place of the stored ones; the others stay, secrets too. `""`: without that setting; null: the ' +
        'same, but a secret stays.',
    }),
  ),
  files: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Code to try in place of what is stored: text by path, as when a plugin is installed.',
    }),
  ),
  version: Type.Optional(Type.String({ maxLength: 200, description: 'Another version of the installed plugin.' })),
};

export const configTestSchema = Type.Object({ ...subject, ...changes });
export type ConfigTest = Static<typeof configTestSchema>;

const draftStep = Type.Object({
  config_id: Type.Optional(
    Type.Integer({ description: 'A stored config; what else is given here replaces parts of it.' }),
  ),
  plugin: Type.Optional(Type.Integer({ description: 'Instead: id of the plugin of a config that is not stored yet.' })),
  ...changes,
  enabled: Type.Optional(Type.Boolean({ description: 'false: left out. Default true, whatever is stored.' })),
});
export type DraftStep = Static<typeof draftStep>;

export const chainTestSchema = Type.Object({
  ...subject,
  steps: Type.Optional(
    Type.Array(draftStep, {
      maxItems: idsMax,
      description:
        'The chain as it is to be tried, in this order: stored configs, changed ones and new ones. With `files` alone a step ' +
        'is a plugin that is not installed yet.',
    }),
  ),
  config_ids: Type.Optional(
    Type.Array(Type.Integer(), {
      maxItems: idsMax,
      description: 'Or stored configs, in this order, enabled or not. Default: the enabled ones in their order.',
    }),
  ),
  include_disabled: Type.Optional(
    Type.Boolean({ description: 'Without `steps` and `config_ids`: those that are not enabled, too. Default false.' }),
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
const after = orNull(shownEvent, 'Null: the event was dropped.');
const outcome = Type.Enum([...testOutcomes], {
  description:
    'kept: it went on, unchanged where `diff` is empty; failed: it went on as it was before, see `error`; skipped: the ' +
    'plugin had nothing to do with it.',
});

const truncated = Type.Array(Type.String(), {
  description:
    'What of this is not complete: a test shows at most 4 MB in all. An event that is too large is shown without its properties.',
});

const ran: TProperties = {
  diff: Type.Array(
    Type.Object({
      path: Type.String({ description: 'JSON Pointer: `/properties/plan`.' }),
      op: Type.Enum(['add', 'remove', 'replace']),
      before: Type.Optional(Type.Unknown()),
      after: Type.Optional(Type.Unknown()),
    }),
    { description: 'What changed; `$plugins_succeeded` and `$plugins_failed` are left out.' },
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
    { description: 'Events that it would have captured.' },
  ),
  jobs: Type.Array(
    Type.Object({ name: Type.String(), payload: Type.Record(Type.String(), Type.Unknown()), run_at: Type.String() }),
    { description: 'Jobs that it would have started.' },
  ),
  storage: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What it would have stored, by key; null: deleted.',
  }),
  metrics: Type.Array(Type.Object({ name: Type.String(), kind: Type.String(), value: Type.Number() }), {
    description: "What it counted in the plugin's own metrics.",
  }),
  time_ms: Type.Number({ description: 'Time spent on the event, in ms, without loading and setting up.' }),
  truncated,
};

export const configTestResultSchema = Type.Object({ before: shownEvent, after, outcome, ...ran });

export const chainTestResultSchema = Type.Object({
  before: shownEvent,
  after,
  outcome: Type.Enum([...testOutcomes], {
    description:
      'dropped: a step dropped it; failed: at least one step did; skipped: no step had anything to do with it.',
  }),
  steps: Type.Array(
    Type.Object({
      config_id: orNull(Type.Integer(), 'Null: not stored yet.'),
      index: Type.Integer({
        description: 'Its place in `steps` or `config_ids` of the request, else in the chain; from 0.',
      }),
      name: Type.String(),
      outcome,
      after: orNull(shownEvent, 'The event after this step; null: dropped.'),
      ...ran,
    }),
    { description: 'In order, up to the one that dropped the event.' },
  ),
  truncated,
});
