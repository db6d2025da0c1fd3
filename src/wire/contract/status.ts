import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

/** Status of the service and items that need attention. */

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const attentionCodes = {
  config_failing: 'An enabled config has an error.',
  run_waiting: 'An import run is waiting.',
  run_failed: 'The latest import run of a config has failed.',
  dead_letters_open: 'Events could not be stored and need a decision.',
  agreement_filed: 'A request for a historical import needs approval.',
  project_limited: 'Events of the project are refused because of its limits.',
  disk_low: 'The disk of the data directory is almost full.',
  lane_full: 'Too many events are waiting, and new ones are refused.',
  part_unwell: 'A component of the service is failing.',
} as const;
export type AttentionCode = keyof typeof attentionCodes;

export const attentionSchema = Type.Object({
  code: Type.Enum(Object.keys(attentionCodes) as AttentionCode[]),
  severity: Type.Enum(['error', 'warning']),
  summary: Type.String({ description: 'The problem, in one sentence.' }),
  action: Type.String({ description: 'What to do, in one sentence.' }),
  count: count('Number of items of this kind.'),
  since: orNull(Type.String({ format: 'date-time' }), 'Time of the first occurrence. Null if not known.'),
  target: Type.String({
    description: 'Path of the console page that resolves it, relative to the project.',
    examples: ['transformations/12'],
  }),
});
export type Attention = Static<typeof attentionSchema>;

const laneSchema = Type.Object({
  waiting_events: count('Events accepted and not yet stored.'),
  waiting_bytes: count('Bytes accepted and not yet stored, as received.'),
  oldest_seconds: count('Age of the oldest waiting event, at most since the start of the service.'),
  lag_seconds: Type.Number({
    description: 'Time from arrival to storage of the most recently stored events. 0 if none are waiting.',
  }),
  is_full: Type.Boolean({ description: 'Whether new events are refused.' }),
  received_per_second: Type.Number({ description: 'Events received per second, averaged over the last minute.' }),
  stored_per_second: Type.Number({ description: 'Events stored per second, averaged over the last minute.' }),
});
export type LaneStatus = Static<typeof laneSchema>;

const lanes = Type.Object({ live: laneSchema, historical: laneSchema }, { description: 'Lanes of all projects.' });
const overall = Type.Enum(['ok', 'degraded', 'unavailable'], {
  description: '`degraded`: an optional component is failing. `unavailable`: a required one is failing.',
});

export const projectStatusSchema = Type.Object({
  status: overall,
  lanes,
  received_per_second: Type.Object(
    { live: Type.Number(), historical: Type.Number() },
    { description: 'Events of this project per second, averaged over the last minute.' },
  ),
  attention: Type.Array(attentionSchema, { description: 'Items that need attention, errors first.' }),
});
export type ProjectStatus = Static<typeof projectStatusSchema>;

export const serviceStatusSchema = Type.Object({
  status: overall,
  version: Type.String(),
  node: Type.String({ description: 'Node.js version.' }),
  started_at: Type.String({ format: 'date-time' }),
  uptime_seconds: count(''),
  memory_bytes: count('Memory of the main process, including its threads.'),
  lanes,
  processes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Host and port.' }),
      roles: Type.Array(Type.String()),
      version: Type.String(),
      started_at: Type.String({ format: 'date-time' }),
      silent_seconds: count('Seconds since the last report. More than a few mean that the process is gone.'),
    }),
    { description: 'Processes, starting with the one that answers. Others are listed only if roles are split.' },
  ),
  parts: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['event_store'] }),
      ok: Type.Boolean(),
      required: Type.Boolean({ description: 'Whether events cannot be accepted without it.' }),
      detail: Type.String({ description: 'State, in one sentence. May be empty.' }),
    }),
  ),
  errors: Type.Array(
    Type.Object({
      component: Type.String(),
      error_type: Type.String(),
      last_minute: count(''),
      total: count('Number since the start of the service.'),
    }),
    { description: 'Most frequent of the last minute first.' },
  ),
  disk: Type.Object({
    free_bytes: count('Disk space available to the service in the data directory.'),
    total_bytes: count(''),
  }),
  store: Type.Object({
    kind: Type.Enum(['embedded', 'clickhouse']),
    restarts: count('Restarts of the embedded engine.'),
  }),
  metadata: Type.Enum(['sqlite', 'postgresql']),
  plugin_processes: Type.Array(
    Type.Object({
      thread: Type.String({ description: 'Thread that uses the sandbox.' }),
      instances: count('Number of plugin instances.'),
      memory_bytes: count(''),
      restarts: count(''),
    }),
  ),
  imports: Type.Object({
    by_state: Type.Record(Type.String(), Type.Integer()),
    waiting: count('Running imports that are waiting.'),
    stalled_seconds: count('Seconds since the last progress of the longest stalled run.'),
  }),
});
export type ServiceStatus = Static<typeof serviceStatusSchema>;
