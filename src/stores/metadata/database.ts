import type { DeadLetterTables } from './dead-letter-tables.ts';
import type { ImportTables } from './import-tables.ts';
import type { NoticeTables } from './notice-tables.ts';
import type { ProcessTables } from './process-tables.ts';
import type { ColumnType, Generated, Kysely } from 'kysely';
import type { Family } from '../../wire/contract/plugins.ts';
import type { Role } from '../../wire/contract/roles.ts';

/**
 * The tables of the metadata store, the same on SQLite and PostgreSQL.
 *
 * Conventions, so that both dialects agree byte for byte:
 * - times are text: ISO 8601 UTC with microseconds and Z, which sorts as it reads (`Micros` columns are integers instead)
 * - booleans are 0 or 1; JSON is text
 * - a migration is never changed once it has landed
 */
export interface Database extends DeadLetterTables, ImportTables, NoticeTables, ProcessTables {
  organizations: {
    id: string;
    name: string;
    created_at: string;
  };
  users: {
    id: Generated<number>;
    uuid: string;
    organization_id: string;
    first_name: string;
    email: string;
    created_at: string;
    role: Generated<Role>;
    /** Shut out since; null: may come in. */
    deactivated_at: string | null;
  };
  /** Console sessions; `id_hash` is keyHash of the cookie value. */
  sessions: {
    id_hash: string;
    user_id: number;
    /** keyHash of the personal key that it was opened with; null: opened by link. */
    key_hash: string | null;
    created_at: string;
    expires_at: string;
    /** Names it in lists; gives no access. */
    id: string;
    /** `Firefox on Linux`, as the browser said when it signed in. */
    browser: string;
    /** Network address that signed in. */
    address: string;
    last_used_at: string | null;
  };
  /** One-time console links; `token_hash` is keyHash of the token. */
  login_links: {
    token_hash: string;
    user_id: number;
    created_at: string;
    expires_at: string;
    used_at: string | null;
  };
  projects: {
    id: Generated<number>;
    uuid: string;
    organization_id: string;
    name: string;
    /** `phc_…`: public by design, write-only. */
    api_token: string;
    timezone: string;
    created_at: string;
    updated_at: string;
    /** Slots that its events are spread over; 1: all of them are in one. */
    spread: Generated<number>;
    /** What `spread` was until `spread_at`. */
    spread_before: Generated<number>;
    /** By the clock of the database, ms since the epoch. */
    spread_at: Generated<number>;
    /** The most that it ever was: events may wait in so many slots. Above 1 its persons and groups are shared between slots. */
    spread_max: Generated<number>;
  };
  personal_api_keys: {
    id: string;
    user_id: number;
    label: string;
    /** keyHash of the key; the key itself is never stored. */
    secure_value: string;
    mask_value: string;
    /** JSON array of scopes. */
    scopes: string;
    /** JSON array of project ids; null: every project of the organisation. */
    scoped_projects: string | null;
    expires_at: string | null;
    last_used_at: string | null;
    last_rolled_at: string | null;
    created_at: string;
  };
  plugins: {
    id: Generated<number>;
    /** Null: built in, for every organisation. */
    organization_id: string | null;
    /** Stable name of a built-in plugin, e.g. `drop-events`; unique. */
    slug: string;
    kind: string;
    name: string;
    description: string;
    version: string;
    url: string | null;
    /** JSON array of fields, see plugins/fields.ts. */
    config_schema: string;
    /** JSON object: methods, jobs, scheduled_tasks. */
    capabilities: string;
    /** JSON object of public jobs. */
    public_jobs: string;
    created_at: string;
    updated_at: string;
    /** Of an installed plugin: the version that new configs run, whose columns are copied here. Null: built in. */
    latest_version_id: number | null;
  };
  plugin_configs: {
    id: Generated<number>;
    project_id: number;
    plugin_id: number;
    family: Family;
    enabled: Flag;
    /** Position in the family, 0-based. */
    position: number;
    name: string;
    description: string;
    deleted: Flag;
    /** JSON object: settings by key, secrets in clear (they must reach the plugin), never shown. */
    settings: string;
    error: string;
    /** What the error is of: see plugins/configs/set-config-error.ts. */
    error_source: Generated<string>;
    created_at: string;
    updated_at: string;
    /** The version of an installed plugin that it runs; null: built in. */
    plugin_version_id: number | null;
  };
  plugin_attachments: {
    config_id: number;
    key: string;
    file_name: string;
    content_type: string;
    size: number;
    content: Uint8Array;
  };
  /** Per config and hour; written in the transaction of the events counted. */
  plugin_metrics: {
    config_id: number;
    project_id: number;
    /** Start of the hour. */
    hour: string;
    succeeded: number;
    failed: number;
    dropped: number;
    /** Passed on untouched: the config could not run just then, or such events are none of its business. */
    skipped: Generated<number>;
    /** Time spent, µs. */
    micros: Generated<number>;
  };
  /** An installed plugin as it was at one time; never changed, so that a config keeps running what it was set up with. */
  plugin_versions: {
    id: Generated<number>;
    plugin_id: number;
    /** As plugin.json, package.json or the archive state it; else `1`, `2`, … */
    version: string;
    /** `source`, `archive`, `npm` or `git`. */
    source_kind: string;
    /** Where it came from: archive address, `npm:name@version`; null: sent with the request. */
    source_url: string | null;
    /** JSON object: path → text of the source files, as far as they are text and small. */
    files: string;
    /** One script, ready for the sandbox; empty: front end only. */
    code: string;
    /** The front-end module as JavaScript. */
    frontend: string | null;
    config_schema: string;
    capabilities: string;
    public_jobs: string;
    /** JSON object: name of a metric of the plugin's own → sum, min or max. */
    metrics: string;
    /** Of `code`, hex. */
    sha256: string;
    created_at: string;
    created_by: number | null;
  };
  /** What a plugin keeps (`storage`): JSON values by config and key. */
  plugin_storage: {
    config_id: number;
    project_id: number;
    key: string;
    value: string;
  };
  plugin_logs: {
    /** Time-ordered. */
    id: string;
    project_id: number;
    config_id: number;
    created_at: string;
    level: PluginLogLevel;
    source: PluginLogSource;
    message: string;
    /** Which running instance of the config wrote it. */
    instance_id: string;
  };
  /** Failures of a config, one row per kind. */
  plugin_errors: {
    config_id: number;
    project_id: number;
    /** Hash of method, name and message without its numbers. */
    fingerprint: string;
    /** `processEvent`, `setupPlugin`, the name of a job … */
    method: string;
    name: string;
    message: string;
    stack: string;
    count: number;
    first_seen: string;
    last_seen: string;
    /** JSON array, newest first, at most 5: {time, message, event}. */
    samples: string;
  };
  /** Metrics of a plugin's own (`meta.metrics`), per hour. */
  plugin_own_metrics: {
    config_id: number;
    project_id: number;
    hour: string;
    name: string;
    kind: 'sum' | 'min' | 'max';
    value: number;
  };
  /** Counts up with every change that a running pipeline must see; row `id` 1 only. */
  config_revisions: {
    id: number;
    revision: number;
  };
  activity_log: {
    id: string;
    project_id: number | null;
    organization_id: string;
    scope: string;
    item_id: string;
    activity: string;
    user_id: number | null;
    /** Of a user that has been deleted since. */
    user_name: string | null;
    /** Personal key used, if any. */
    key_id: string | null;
    is_system: Flag;
    request_id: string | null;
    created_at: string;
    /** Name of the item at that time. */
    name: string;
    /** JSON array of {field, action, before, after}; secrets masked. */
    changes: string;
    /** JSON: the whole record after the change (before it, for a deletion), for `?at=`. */
    snapshot: string;
  };
  idempotency_keys: {
    /** keyHash of principal, method, path and key. */
    key_hash: string;
    /** sha256 of the body: the same key with another body is refused. */
    body_hash: string;
    status: number;
    headers: string;
    body: string;
    created_at: string;
  };
  jobs: {
    id: string;
    project_id: number;
    config_id: number;
    type: string;
    operation: string;
    /** JSON object. */
    payload: string;
    /** Written by jobs/queue.ts only, which has the table of its transitions. */
    state: ColumnType<JobState, JobState, never>;
    attempts: number;
    run_at: string;
    lease_until: string | null;
    error: string;
    created_at: string;
    finished_at: string | null;
    /** Null: as many as usual. */
    attempts_max: number | null;
    /** Of which there is at most one row, e.g. a tick of a schedule. */
    unique_key: string | null;
    kind: Generated<JobKind>;
    /** Queued: since when it waits. Else: when its last run began. Null: written by an older program. */
    since: string | null;
  };
  historical_migrations: {
    id: string;
    project_id: number;
    source: string;
    method: string;
    total_events: number;
    events_per_second: number;
    state: AgreementState;
    note: string;
    created_at: string;
    decided_at: string | null;
  };
  persons: {
    project_id: number;
    /** Derived from the first distinct_id seen, so a replay makes the same person. */
    uuid: string;
    /** Time of the earliest event, µs since the epoch. */
    created_at_micros: number;
    is_identified: Flag;
    /** JSON object: property → register {v: value, t: µs, k: 'set'|'once'|'unset'}; see persons/registers.ts. */
    registers: string;
    /** Goes up with every change in a project that is spread: what was computed from another one is computed again. */
    version: Generated<number>;
    /** The distinct_id that it was made for, which has `is_first`; null of persons from before there was this column. */
    first_id: Generated<string | null>;
  };
  person_distinct_ids: {
    project_id: number;
    distinct_id: string;
    person_uuid: string;
    /** 1: the `first_id` of its person. Others, of null, are in an index by person. */
    is_first: Generated<1 | null>;
  };
  group_types: {
    project_id: number;
    /** 0..4 */
    type_index: number;
    name: string;
  };
  groups: {
    project_id: number;
    type_index: number;
    group_key: string;
    created_at_micros: number;
    /** As in persons. */
    registers: string;
  };
  /** Per project, type and hour. */
  ingestion_warnings: {
    project_id: number;
    type: string;
    hour: string;
    count: number;
    last_seen: string;
    /** JSON array of at most 5 detail objects. */
    samples: string;
  };
  /** Events that people keep to try transformations with. */
  sample_events: {
    id: Generated<number>;
    project_id: number;
    /** Unique in the project. */
    name: string;
    /** JSON text, as clients send it. */
    event: string;
    /** User; null: gone, or none. */
    created_by: number | null;
    created_at: string;
    updated_at: string;
  };
  /** Shares of the event log, each worked on by one worker of the pipeline at a time; slots.ts. */
  slots: {
    slot: number;
    /** Counts up with every claim: the fence against a worker that lost the slot. */
    epoch: number;
    /** Worker; null: nobody. */
    owner: string | null;
    /** ms since the epoch by the database's clock; 0: free, or held for as long as the process owns the log. */
    lease_until: number;
    /** Id of the log that the cursors count in; null: they are at its start, or it is the log of this machine. */
    log: string | null;
  };
  /** Workers of the pipeline that share the slots. */
  pipeline_workers: {
    id: string;
    /** ms since the epoch by the database's clock. */
    alive_until: number;
  };
  log_cursors: {
    slot: number;
    lane: string;
    /** Everything up to and including this is stored. */
    seq: number;
    /** JSON array of range ends that may have been inserted already: read again exactly so. */
    pending: string;
  };
  /** named-leases.ts. */
  named_leases: {
    name: string;
    owner: string;
    lease_until: string;
  };
  /** Persons and groups to be made anew from the stored events; profile-rebuilds.ts. */
  profile_rebuilds: {
    /** Of the run that is taken back. */
    id: string;
    project_id: number;
    /** RebuildState. */
    state: string;
    /** JSON of whoever asked for it. */
    detail: string;
    /** JSON: RebuildCounts. */
    counts: string;
    /** JSON: run → µs at which its events count as arrived. */
    arrivals: string;
    /** Why the pipeline could not go on with it the last time; empty: it can. */
    error: string;
    created_at: string;
  };
  /** What is left to do of it. */
  profile_rebuild_keys: {
    rebuild_id: string;
    project_id: number;
    /** RebuildKind. */
    kind: string;
    /** A distinct id; a group as JSON of [type, key]; the name of a group type. */
    key: string;
  };
}

export type Metadata = Kysely<Database>;
/** 0 or 1. */
export type Flag = number;

export type PluginLogLevel = 'DEBUG' | 'LOG' | 'INFO' | 'WARN' | 'ERROR';
/** CONSOLE: the plugin wrote it; PLUGIN: it failed; SYSTEM: the service says what it did with the plugin. */
export type PluginLogSource = 'CONSOLE' | 'PLUGIN' | 'SYSTEM';
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed';
/**
 * - started: somebody asked for it, or another program did through the API
 * - enqueued: the plugin put it off itself (`meta.jobs`)
 * - scheduled: a tick of `runEveryMinute`, `runEveryHour` or `runEveryDay`
 * - delivery: processed events for `onEvent` or `exportEvents`
 */
export type JobKind = 'started' | 'enqueued' | 'scheduled' | 'delivery';
export type AgreementState = 'filed' | 'approved' | 'rejected' | 'ended';
