import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

/** How long stored events are kept, by the time of the event. */

const retentionDaysMax = 36_500;
/** Names with separate days. */
export const retentionEventsMax = 200;

const days = (what: string) =>
  orNull(
    Type.Integer({ minimum: 1, maximum: retentionDaysMax, description: `Days that ${what} are kept.` }),
    `Days that ${what} are kept, by the time of the event (UTC). Null keeps them permanently.`,
  );

const policyFields = {
  live_days: days('live events'),
  historical_days: days('historical events'),
  events: Type.Array(
    Type.Object({
      event: Type.String({ minLength: 1, maxLength: 200, description: 'Name of the event.' }),
      live_days: days('live events of this name'),
      historical_days: days('historical events of this name'),
    }),
    {
      maxItems: retentionEventsMax,
      description: 'Names with separate days, which replace those of the project. Each name at most once.',
    },
  ),
};

export const retentionPolicySchema = Type.Object(policyFields);
export type RetentionPolicy = Static<typeof retentionPolicySchema>;

export const retentionChangeSchema = Type.Object({
  ...policyFields,
  expected_events: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'The number of events that the preview of this policy showed. Required if the policy removes events that the current one keeps; ' +
        'returns 409 if it would remove more than that by now.',
    }),
  ),
});

export const retentionPassSchema = Type.Object({
  started_at: Type.String({ format: 'date-time' }),
  ended_at: Type.String({ format: 'date-time' }),
  dropped_rows: Type.Integer({ description: 'Rows in parts of the store that were dropped as a whole.' }),
  deleted_rows: Type.Integer({ description: 'Rows that were removed by rewriting the parts that others remain in.' }),
  bytes: Type.Integer({ description: 'Approximate disk space of these rows.' }),
});
export type RetentionPass = Static<typeof retentionPassSchema>;

const setting = (description: string) => Type.Integer({ description });

/** What the service keeps for how long, for all projects. */
export const serviceRetentionSchema = Type.Object({
  retention_hour: setting('Hour (UTC) from which expired events are removed, MILLRACE_RETENTION_HOUR.'),
  dead_letter_days: setting(
    'Dead letters and their replays, MILLRACE_DEAD_LETTER_DAYS. 0: until the project is deleted.',
  ),
  count_days: setting('Ingestion warnings and metrics of plugin configs, MILLRACE_COUNT_DAYS.'),
  activity_days: setting('Entries of the activity log, MILLRACE_ACTIVITY_DAYS. 0: all.'),
  plugin_log_days: setting('Logs and errors of plugins, MILLRACE_PLUGIN_LOG_DAYS.'),
  import_upload_days: setting('Files uploaded for imports, MILLRACE_IMPORT_UPLOAD_DAYS. 0: until they are deleted.'),
  import_keep_days: setting('Staged records and tables of ended import runs, MILLRACE_IMPORT_KEEP_DAYS.'),
  import_run_days: setting('Scheduled import runs with their results, MILLRACE_IMPORT_RUN_DAYS.'),
});
export type ServiceRetention = Static<typeof serviceRetentionSchema>;

export const retentionSchema = Type.Object({
  ...policyFields,
  updated_at: orNull(Type.String({ format: 'date-time' }), 'Null if no policy was ever set.'),
  next_pass_at: orNull(
    Type.String({ format: 'date-time' }),
    'When expired events are removed next. Null if the policy keeps all events.',
  ),
  last_pass: orNull(
    retentionPassSchema,
    'The last removal, which includes months that several projects share: its rows are those of all projects. Null before the first.',
  ),
  service: serviceRetentionSchema,
});
export type RetentionRecord = Static<typeof retentionSchema>;

export const retentionPreviewSchema = Type.Object({
  as_of: Type.String({ format: 'date-time', description: 'The time for which it was counted.' }),
  events: Type.Integer({ description: 'Events that the policy removes now, each counted once.' }),
  newly_expired: Type.Integer({ description: 'Of these, events that the current policy keeps.' }),
  bytes: Type.Integer({ description: 'Approximate disk space of the removed events.' }),
  months: Type.Array(
    Type.Object({
      month: Type.String({ description: 'Month of the events, `2024-03`.' }),
      events: Type.Integer(),
      bytes: Type.Integer(),
    }),
    { description: 'The same by month, oldest first.' },
  ),
  cells: Type.Array(
    Type.Object({
      month: Type.String({ description: 'Month of the events, `2024-03`.' }),
      event: Type.String({ description: 'Name of the event.' }),
      historical_migration: Type.Boolean(),
      events: Type.Integer(),
      bytes: Type.Integer(),
    }),
    { description: 'The same by month, name and kind, oldest month first, at most 5,000.' },
  ),
  is_truncated: Type.Boolean({ description: 'Whether `cells` has more than 5,000. `events` and `months` count all.' }),
});
export type RetentionPreview = Static<typeof retentionPreviewSchema>;
