import { bigint, blob, flag, integer, table, text } from './table.ts';

export type DeadLetterState = 'open' | 'replayed' | 'discarded';

/**
 * What the pipeline writes, and which worker holds which slot of the log. Rows name their project without a foreign key: events may be
 * in the log when a project is deleted, and must not stop the pipeline. Deleting a project removes its rows by query.
 */
export const pipelineTables = {
  persons: table(
    {
      project_id: integer(),
      /** Derived from the first distinct_id seen, so that a replay creates the same person. */
      uuid: text(),
      /** Time of the earliest event, µs since the epoch. */
      created_at_micros: bigint(),
      is_identified: flag(),
      /** JSON object: property → register {v: value, t: µs, k: 'set'|'once'|'unset'}; see pipeline/persons/registers.ts. */
      registers: text(),
      /** Increases with every change in a project that is spread: what was computed from an older version is computed again. */
      version: integer().default(0),
      /** The distinct_id that the person was created for, which has `is_first`. Null for persons created before this column. */
      first_id: text().nullable(),
    },
    { primaryKey: ['project_id', 'uuid'], indexes: { persons_by_creation: ['project_id', 'created_at_micros'] } },
  ),
  person_distinct_ids: table(
    {
      project_id: integer(),
      distinct_id: text(),
      person_uuid: text(),
      /** 1 for the `first_id` of its person. */
      is_first: integer<1>().nullable(),
    },
    {
      primaryKey: ['project_id', 'distinct_id'],
      // Most persons have no other id than the first, which their own row contains. Uuids fall anywhere in an index, and that was
      // half of the cost of a new person.
      indexes: {
        person_distinct_ids_by_person: { columns: ['project_id', 'person_uuid'], whereNull: 'is_first' },
      },
    },
  ),
  group_types: table(
    {
      project_id: integer(),
      /** 0 to 4. */
      type_index: integer(),
      name: text(),
    },
    {
      primaryKey: ['project_id', 'type_index'],
      uniqueConstraints: { group_types_by_name: ['project_id', 'name'] },
    },
  ),
  groups: table(
    {
      project_id: integer(),
      type_index: integer(),
      group_key: text(),
      created_at_micros: bigint(),
      /** As in persons. */
      registers: text(),
    },
    { primaryKey: ['project_id', 'type_index', 'group_key'] },
  ),
  /** Per project, type and hour. */
  ingestion_warnings: table(
    {
      project_id: integer(),
      type: text(),
      hour: text(),
      count: bigint(),
      last_seen: text(),
      /** JSON array of at most 5 detail objects. */
      samples: text(),
    },
    { primaryKey: ['project_id', 'type', 'hour'] },
  ),
  /** Every version of a project's tracking plan; the newest one applies. */
  tracking_plans: table(
    {
      project_id: integer().partOf('projects.id'),
      version: integer(),
      /** JSON: TrackingPlan. Null for a version that removed the plan. */
      plan: text().nullable(),
      created_at: text(),
      /** Null for the service itself. */
      user_id: integer().nullable(),
    },
    { primaryKey: ['project_id', 'version'] },
  ),
  /** Projects that keep erased ids out. */
  kept_out_lists: table({
    project_id: integer().key().partOf('projects.id'),
    /** Random; the hashes of the project's ids are computed with it. */
    hash_key: text(),
    /** Increases with every change. */
    version: integer(),
  }),
  /** Ids whose events are not stored again after an erasure, as hashes. */
  kept_out_ids: table({ project_id: integer(), id_hash: text() }, { primaryKey: ['project_id', 'id_hash'] }),
  /** Violations of the tracking plan, per rule and hour. */
  tracking_plan_violations: table(
    {
      project_id: integer(),
      hour: text(),
      event: text(),
      property: text(),
      rule: text(),
      count: bigint(),
      last_seen: text(),
      /** JSON array of at most 5 samples. */
      samples: text(),
    },
    { primaryKey: ['project_id', 'hour', 'event', 'property', 'rule'] },
  ),
  /** Events that could not be stored. */
  dead_letters: table(
    {
      /** Derived from lane, seq and index, so that writing it twice writes one row. */
      id: text().key(),
      project_id: integer(),
      lane: text(),
      reason: text(),
      detail: text(),
      attr: text().nullable(),
      event: text().nullable(),
      distinct_id: text().nullable(),
      event_uuid: text().nullable(),
      /** The event's bytes as received: JSON text or anything else. */
      original: blob(),
      received_at: text(),
      state: text<DeadLetterState>(),
      decided_at: text().nullable(),
      /** 1 if the event already has its row in the event store, as in RecordHeader. A replay then only updates persons and groups. */
      rows_stored: flag().backfilled(0),
      /** The replay that last claimed it, if any. */
      replay_id: text().nullable(),
    },
    {
      indexes: {
        dead_letters_by_state: ['project_id', 'state', 'received_at'],
        dead_letters_by_replay: ['replay_id', 'state', 'received_at'],
      },
    },
  ),
  /** Leased; see pipeline/dead-letter-replays.ts. */
  dead_letter_replays: table(
    {
      id: text().key(),
      project_id: integer(),
      state: text(),
      /** JSON: the choice as requested. */
      choice: text(),
      /** Dead letters that were open at the time of the request. */
      matched: integer(),
      /** JSON: ReplayFailures. */
      failures: text(),
      /** Why it is waiting. Empty if it is not. */
      error: text(),
      attempts: integer(),
      lease_until: text().nullable(),
      created_at: text(),
      ended_at: text().nullable(),
    },
    { indexes: { dead_letter_replays_by_project: ['project_id', 'created_at'] } },
  ),
  /** Partitions of the event log, each processed by one pipeline worker at a time; slots.ts. */
  slots: table(
    {
      slot: integer().key(),
      /** Increases with every claim: the fence against a worker that has lost the slot. */
      epoch: bigint(),
      /** The worker, if any. */
      owner: text().nullable(),
      /** Milliseconds since the epoch by the database's clock. 0 if free, or held as long as the process owns the log. */
      lease_until: bigint(),
      /** Id of the log that the cursors refer to. Null if they are at its start, or if it is the log of this machine. */
      log: text().nullable(),
    },
    // `epoch` is part of a key, so that on PostgreSQL a claim waits for a transaction that holds the slot, while a renewal does not.
    { indexes: { slots_by_epoch: { columns: ['slot', 'epoch'], unique: true } } },
  ),
  /** Workers of the pipeline that share the slots. */
  pipeline_workers: table({
    id: text().key(),
    /** Milliseconds since the epoch by the database's clock. */
    alive_until: bigint(),
  }),
  log_cursors: table(
    {
      slot: integer(),
      lane: text(),
      /** Everything up to and including this position is stored. */
      seq: bigint(),
      /** JSON array of ends of ranges that may have been inserted already: they are read again exactly as they were. */
      pending: text(),
    },
    { primaryKey: ['slot', 'lane'], primaryKeyName: 'log_cursors_by_slot_pk' },
  ),
  /** When records were stored, of those that the log keeps for a time: log-marks.ts. */
  log_marks: table(
    {
      slot: integer(),
      lane: text(),
      /** Everything up to and including this position was stored. */
      seq: bigint(),
      /** Milliseconds since the epoch by the database's clock. */
      stored_at: bigint(),
    },
    { primaryKey: ['slot', 'lane', 'seq'], primaryKeyName: 'log_marks_pk' },
  ),
  /** Used by named-leases.ts. */
  named_leases: table({
    name: text().key(),
    owner: text(),
    lease_until: text(),
  }),
  /** Persons and groups to be rebuilt from the stored events; profile-rebuilds.ts. */
  profile_rebuilds: table({
    /** Id of the run that is undone. */
    id: text().key(),
    project_id: integer(),
    /** RebuildState. */
    state: text(),
    /** JSON of the caller. */
    detail: text(),
    /** JSON: RebuildCounts. */
    counts: text(),
    /** JSON: run → µs at which its events count as arrived. */
    arrivals: text(),
    /** Why the pipeline's last attempt failed. Empty if it did not. */
    error: text(),
    created_at: text(),
  }),
  /** Keys that remain to be rebuilt. */
  profile_rebuild_keys: table(
    {
      rebuild_id: text(),
      project_id: integer(),
      /** RebuildKind. */
      kind: text(),
      /** A distinct id; a group as JSON of [type, key]; the name of a group type. */
      key: text(),
    },
    { primaryKey: ['rebuild_id', 'kind', 'key'] },
  ),
};
