import { Type, type Static, type TProperties } from 'typebox';
import { orNull } from './or-null.ts';

/** Trying transformations on an event: what goes in and what is shown. */

const idsMax = 100;

const subject = {
  event: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The event to try, as clients send it: event, distinct_id, properties; uuid and timestamp where they matter.',
    }),
  ),
  match: Type.Optional(
    Type.Object(
      { event: Type.Optional(Type.String()), distinct_id: Type.Optional(Type.String()) },
      { description: 'Else: the latest stored event of this name or distinct_id. Neither: the latest of the project.' },
    ),
  ),
};

export const configTestSchema = Type.Object({
  ...subject,
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Settings to try in place of the stored ones; the others stay. `""` and null: without that setting.',
    }),
  ),
});
export type ConfigTest = Static<typeof configTestSchema>;

export const chainTestSchema = Type.Object({
  ...subject,
  config_ids: Type.Optional(
    Type.Array(Type.Integer(), {
      maxItems: idsMax,
      description: 'The configs to run, in this order, enabled or not. Default: the enabled ones in their order.',
    }),
  ),
  include_disabled: Type.Optional(
    Type.Boolean({ description: 'Without `config_ids`: those that are not enabled, too. Default false.' }),
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
  description: 'failed: the event went on unchanged, see `error`; skipped: the plugin had nothing to do with it.',
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
      config_id: Type.Integer(),
      name: Type.String(),
      outcome,
      after: orNull(shownEvent, 'The event after this step; null: dropped.'),
      ...ran,
    }),
    { description: 'In order, up to the one that dropped the event.' },
  ),
  truncated,
});
