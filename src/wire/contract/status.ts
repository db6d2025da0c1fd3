import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

/** How the service is, and what waits for a person. */

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const attentionCodes = {
  config_failing: 'An enabled config has an error.',
  run_waiting: 'An import run waits for something.',
  run_failed: 'The latest import run of a config has failed.',
  dead_letters_open: 'Events could not be stored and wait for a decision.',
  agreement_filed: 'A request to import history waits for approval.',
  disk_low: 'The disk of the data directory is almost full.',
  lane_full: 'Too many events wait: new ones are refused.',
  part_unwell: 'A part of the service does not work.',
} as const;
export type AttentionCode = keyof typeof attentionCodes;

export const attentionSchema = Type.Object({
  code: Type.Enum(Object.keys(attentionCodes) as AttentionCode[]),
  severity: Type.Enum(['error', 'warning']),
  summary: Type.String({ description: 'One sentence: what is the matter.' }),
  action: Type.String({ description: 'One sentence: what to do.' }),
  count: count('How many of the kind.'),
  since: orNull(Type.String({ format: 'date-time' }), 'Null: not known.'),
  target: Type.String({
    description: 'Where it is repaired: the path of a page below the project in the console.',
    examples: ['transformations/12'],
  }),
});
export type Attention = Static<typeof attentionSchema>;

const laneSchema = Type.Object({
  waiting_events: count('Accepted and not stored yet.'),
  waiting_bytes: count('The same in bytes, as they came.'),
  oldest_seconds: count('For how long the oldest of them has waited, since the start of the service at most.'),
  lag_seconds: Type.Number({ description: 'From arrival to stored, of what was stored last; 0: nothing waits.' }),
  is_full: Type.Boolean({ description: 'New events are refused.' }),
  received_per_second: Type.Number({ description: 'Mean of the last minute.' }),
  stored_per_second: Type.Number({ description: 'Mean of the last minute.' }),
});
export type LaneStatus = Static<typeof laneSchema>;

const lanes = Type.Object({ live: laneSchema, historical: laneSchema }, { description: 'Of all projects together.' });
const overall = Type.Enum(['ok', 'degraded', 'unavailable'], {
  description: 'degraded: a part does not work that events can do without; unavailable: one that they need.',
});

export const projectStatusSchema = Type.Object({
  status: overall,
  lanes,
  received_per_second: Type.Object(
    { live: Type.Number(), historical: Type.Number() },
    { description: 'Events of this project. Mean of the last minute.' },
  ),
  attention: Type.Array(attentionSchema, { description: 'What waits for a person; errors first.' }),
});
export type ProjectStatus = Static<typeof projectStatusSchema>;

export const serviceStatusSchema = Type.Object({
  status: overall,
  version: Type.String(),
  node: Type.String({ description: 'Version of Node.js.' }),
  started_at: Type.String({ format: 'date-time' }),
  uptime_seconds: count(''),
  memory_bytes: count('Of the main process with its threads.'),
  lanes,
  processes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Host and port.' }),
      roles: Type.Array(Type.String()),
      version: Type.String(),
      started_at: Type.String({ format: 'date-time' }),
      silent_seconds: count('Since it was heard of last; more than a few: it is gone.'),
    }),
    { description: 'The one that answers first; the others only where roles are split.' },
  ),
  parts: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['event_store'] }),
      ok: Type.Boolean(),
      required: Type.Boolean({ description: 'Whether events can be taken in without it.' }),
      detail: Type.String({ description: 'One sentence; empty: nothing to say.' }),
    }),
  ),
  errors: Type.Array(
    Type.Object({
      component: Type.String(),
      error_type: Type.String(),
      last_minute: count(''),
      total: count('Since the start of the service.'),
    }),
    { description: 'The most frequent of the last minute first.' },
  ),
  disk: Type.Object({
    free_bytes: count('For the service, on the disk of the data directory.'),
    total_bytes: count(''),
  }),
  store: Type.Object({ kind: Type.Enum(['embedded', 'clickhouse']), restarts: count('Of the embedded engine.') }),
  metadata: Type.Enum(['sqlite', 'postgresql']),
  plugin_processes: Type.Array(
    Type.Object({
      thread: Type.String({ description: 'For whom it works.' }),
      instances: count('Plugins in it.'),
      memory_bytes: count(''),
      restarts: count(''),
    }),
  ),
  imports: Type.Object({
    by_state: Type.Record(Type.String(), Type.Integer()),
    waiting: count('Runs at work that wait for something.'),
    stalled_seconds: count('Since the run that has stood still longest came any further.'),
  }),
});
export type ServiceStatus = Static<typeof serviceStatusSchema>;
