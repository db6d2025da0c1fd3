import type { ColumnType } from 'kysely';
import type { Family } from '../../../wire/contract/plugins.ts';
import { bigint, blob, double, flag, integer, serial, table, text } from './table.ts';

export type PluginLogLevel = 'DEBUG' | 'LOG' | 'INFO' | 'WARN' | 'ERROR';
/** CONSOLE: written by the plugin. PLUGIN: errors of the plugin. SYSTEM: actions of the service. */
export type PluginLogSource = 'CONSOLE' | 'PLUGIN' | 'SYSTEM';
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed';
/**
 * - started: by a user, or by a program through the API
 * - enqueued: by the plugin itself (`meta.jobs`)
 * - scheduled: a run of `runEveryMinute`, `runEveryHour` or `runEveryDay`
 * - delivery: processed events for `onEvent` or `exportEvents`
 */
export type JobKind = 'started' | 'enqueued' | 'scheduled' | 'delivery';

/**
 * Plugins, their configs, and what configs store, log and count. Tables that the pipeline writes name their config without a
 * foreign key: events of a config that was just deleted must not stop the pipeline. Deleting a config removes their rows by query.
 */
export const pluginTables = {
  plugins: table({
    id: serial(),
    /** Null for built-in plugins, which every organisation has. */
    organization_id: text().nullable().partOf('organizations.id'),
    /** Stable name of a built-in plugin, e.g. `drop-events`; unique. */
    slug: text().unique(),
    kind: text(),
    name: text(),
    description: text(),
    version: text(),
    url: text().nullable(),
    /** JSON array of fields, see plugins/fields.ts. */
    config_schema: text(),
    /** JSON object: methods, jobs, scheduled_tasks. */
    capabilities: text(),
    /** JSON object of public jobs. */
    public_jobs: text(),
    created_at: text(),
    updated_at: text(),
    /** The version of an installed plugin that new configs run, whose columns are copied here. Null if built in. */
    latest_version_id: integer().nullable(),
  }),
  plugin_configs: table(
    {
      id: serial(),
      project_id: integer().partOf('projects.id'),
      plugin_id: integer().references('plugins.id'),
      family: text<Family>(),
      enabled: flag(),
      /** Position in the family, 0-based. */
      position: integer(),
      name: text(),
      description: text(),
      deleted: flag(),
      /** JSON object: settings by key, secrets in clear text (they must reach the plugin), never shown. */
      settings: text(),
      error: text(),
      /** The component that reported the error, from plugins/configs/set-config-error.ts. */
      error_source: text().default('chain'),
      created_at: text(),
      updated_at: text(),
      /** The version of an installed plugin that the config runs. Null if built in. */
      plugin_version_id: integer().nullable(),
    },
    {
      indexes: {
        plugin_configs_by_position: ['project_id', 'family', 'position'],
        plugin_configs_by_plugin: ['plugin_id'],
      },
    },
  ),
  plugin_attachments: table(
    {
      config_id: integer().partOf('plugin_configs.id'),
      key: text(),
      file_name: text(),
      content_type: text(),
      size: bigint(),
      content: blob(),
    },
    { primaryKey: ['config_id', 'key'] },
  ),
  /** Per config and hour, written in the transaction of the counted events. */
  plugin_metrics: table(
    {
      config_id: integer(),
      project_id: integer(),
      /** Start of the hour. */
      hour: text(),
      succeeded: bigint(),
      failed: bigint(),
      dropped: bigint(),
      /** Passed unchanged: the filter excludes the event, or the config was suspended or does not process such events. */
      skipped: bigint().default(0),
      /** Time spent, µs. */
      micros: bigint().default(0),
    },
    { primaryKey: ['config_id', 'hour'], indexes: { plugin_metrics_by_project: ['project_id', 'hour'] } },
  ),
  /** Versions of installed plugins. A version never changes, so that a config keeps running what it was set up with. */
  plugin_versions: table(
    {
      id: serial(),
      plugin_id: integer().partOf('plugins.id'),
      /** From plugin.json, package.json or the archive, otherwise `1`, `2`, … */
      version: text(),
      /** `source`, `archive`, `npm` or `git`. */
      source_kind: text(),
      /** Address of the archive, or `npm:name@version`. Null if sent with the request. */
      source_url: text().nullable(),
      /** JSON object: path → text of the source files that are text and small enough. */
      files: text(),
      /** One script, ready for the sandbox. Empty if there is only a front end. */
      code: text(),
      /** The front-end module as JavaScript. */
      frontend: text().nullable(),
      config_schema: text(),
      capabilities: text(),
      public_jobs: text(),
      /** JSON object: name of a metric that the plugin defines → sum, min or max. */
      metrics: text(),
      /** SHA-256 of `code`, hex. */
      sha256: text(),
      created_at: text(),
      created_by: integer().nullable(),
    },
    { indexes: { plugin_versions_by_plugin: ['plugin_id', 'id'] } },
  ),
  /** What a plugin stores (`storage`): JSON values by config and key. */
  plugin_storage: table(
    {
      config_id: integer(),
      project_id: integer(),
      key: text(),
      value: text(),
    },
    { primaryKey: ['config_id', 'key'], indexes: { plugin_storage_by_project: ['project_id'] } },
  ),
  plugin_logs: table(
    {
      /** Ordered by time. */
      id: text().key(),
      project_id: integer(),
      config_id: integer(),
      created_at: text(),
      level: text<PluginLogLevel>(),
      source: text<PluginLogSource>(),
      message: text(),
      /** The running instance of the config that wrote it. */
      instance_id: text(),
    },
    { indexes: { plugin_logs_by_config: ['config_id', 'id'], plugin_logs_by_project: ['project_id'] } },
  ),
  /** Failures of a config, one row per kind. */
  plugin_errors: table(
    {
      config_id: integer(),
      project_id: integer(),
      /** Hash of method, name and message without its numbers. */
      fingerprint: text(),
      /** `processEvent`, `setupPlugin`, the name of a job … */
      method: text(),
      name: text(),
      message: text(),
      stack: text(),
      count: bigint(),
      first_seen: text(),
      last_seen: text(),
      /** JSON array, newest first, at most 5: {time, message, event}. */
      samples: text(),
    },
    { primaryKey: ['config_id', 'fingerprint'], indexes: { plugin_errors_by_project: ['project_id'] } },
  ),
  /** Metrics that plugins define (`meta.metrics`), per hour. */
  plugin_own_metrics: table(
    {
      config_id: integer(),
      project_id: integer(),
      hour: text(),
      name: text(),
      kind: text<'sum' | 'min' | 'max'>(),
      value: double(),
    },
    { primaryKey: ['config_id', 'hour', 'name'], indexes: { plugin_own_metrics_by_project: ['project_id'] } },
  ),
  /** One row, `id` 1: its revision increases with every change that a running pipeline must see. */
  config_revisions: table({
    id: integer().key(),
    revision: bigint(),
  }),
  jobs: table(
    {
      id: text().key(),
      project_id: integer().partOf('projects.id'),
      config_id: integer(),
      type: text(),
      operation: text(),
      /** JSON object. */
      payload: text(),
      /** Only written by queue/jobs/queue.ts, which has the table of its transitions. */
      state: text<ColumnType<JobState, JobState, never>>(),
      attempts: integer(),
      run_at: text(),
      lease_until: text().nullable(),
      error: text(),
      created_at: text(),
      finished_at: text().nullable(),
      /** Null for the default number of attempts. */
      attempts_max: integer().nullable(),
      /** At most one row has it, e.g. one run of a scheduled task. */
      unique_key: text().nullable(),
      kind: text<JobKind>().default('started'),
      /** When it was queued or, if it has been started, when its last run began. Null if written by an older version. */
      since: text().nullable(),
    },
    {
      indexes: {
        jobs_by_config: ['project_id', 'config_id'],
        jobs_by_unique_key: { columns: ['unique_key'], unique: true },
        // Payloads are large: queries that run every second are answered from these indexes alone, without touching a row.
        jobs_due: ['state', 'run_at', 'id', 'config_id', 'kind', 'attempts', 'lease_until'],
        jobs_by_kind: ['kind', 'state', 'attempts', 'config_id'],
        jobs_by_project: ['project_id', 'id', 'config_id', 'state', 'kind'],
      },
    },
  ),
  /** Events that users keep to test transformations. */
  sample_events: table(
    {
      id: serial(),
      project_id: integer(),
      /** Unique in the project. */
      name: text(),
      /** JSON text, as clients send it. */
      event: text(),
      /** User who created it. Null if deleted or none. */
      created_by: integer().nullable(),
      created_at: text(),
      updated_at: text(),
    },
    { indexes: { sample_events_by_name: { columns: ['project_id', 'name'], unique: true } } },
  ),
};
