import { bigint, flag, integer, table, text } from './table.ts';

/**
 * Imports. No foreign keys to projects and configs: a run outlives its config, and the command line has runs that belong to no
 * project. Deleting a project removes its rows by query.
 */
export const importTables = {
  /** imports/run/run.ts has states and stages. */
  import_runs: table(
    {
      id: text().key(),
      /** 0 for a run of the command line. */
      project_id: integer(),
      config_id: integer(),
      source: text(),
      state: text(),
      stage: text(),
      reason: text(),
      /** JSON. Null if it is not waiting. */
      waiting: text().nullable(),
      /** JSON: RunOptions. */
      options: text(),
      /** JSON: name → text, such as the target's keys; never shown. */
      secrets: text(),
      /** JSON: stage → StageProgress. */
      progress: text(),
      /** JSON: RunTotals. */
      totals: text(),
      promoted_from: text().nullable(),
      /** Increases with every claim: the fence against a worker that has lost the run. */
      attempts: integer(),
      retries: integer(),
      lease_until: text().nullable(),
      staging_removed_at: text().nullable(),
      created_at: text(),
      started_at: text().nullable(),
      finished_at: text().nullable(),
      /** Empty if kept permanently; `long` if removed some time after the run ended, `short` if sooner, because it found nothing new. */
      kept: text().backfilled(''),
      /** JSON: RunDeaths. Null if no worker has died while working on it. */
      deaths: text().nullable(),
    },
    {
      indexes: {
        import_runs_by_state: ['state', 'id'],
        import_runs_by_project: ['project_id', 'id', 'config_id', 'state'],
        import_runs_by_config: ['project_id', 'config_id', 'id'],
        import_runs_by_config_state: ['project_id', 'config_id', 'state', 'id'],
        import_runs_by_project_state: ['project_id', 'state', 'id', 'config_id'],
        import_runs_by_promotion: ['promoted_from'],
        import_runs_by_staging: ['staging_removed_at', 'finished_at', 'id'],
        import_runs_by_kept: ['kept', 'finished_at', 'id'],
      },
    },
  ),
  import_parts: table(
    {
      run_id: text(),
      project_id: integer(),
      /** From 1, without gaps. */
      seq: integer(),
      key: text(),
      bytes: bigint().nullable(),
      identity: text().nullable(),
      /** Checksum of what was read, so that a file that was only touched is not read again. */
      checksum: text().nullable(),
      stable: flag(),
      /** JSON object. */
      detail: text().nullable(),
      /** JSON array of Segment. */
      segments: text(),
      complete: flag(),
      faults: bigint(),
      checked: integer(),
      /** JSON that belongs to the check stage. */
      check_state: text(),
      error: text(),
    },
    {
      primaryKey: ['run_id', 'seq'],
      uniqueConstraints: { import_parts_by_key: ['run_id', 'key'] },
      indexes: { import_parts_by_project: ['project_id'] },
    },
  ),
  import_days: table(
    {
      run_id: text(),
      project_id: integer(),
      /** YYYY-MM-DD, UTC. */
      day: text(),
      events: bigint(),
      bytes: bigint(),
      duplicates: bigint(),
      frames: integer(),
      frames_loaded: integer(),
      accepted: bigint(),
      rejected: bigint(),
      verified: flag(),
      /** JSON: event → { count, checksum }. */
      expected: text(),
    },
    { primaryKey: ['run_id', 'day'], indexes: { import_days_by_project: ['project_id', 'day', 'run_id'] } },
  ),
  /** Runs that have begun to load, including removed ones; import-loads.ts. */
  import_loads: table(
    {
      run_id: text().key(),
      project_id: integer(),
      config_id: integer(),
      source: text(),
      /** `project`, `http`. */
      target: text(),
      /** Hash of target and key. */
      place: text(),
      /** Hash of everything that decides which event a record becomes. */
      recipe: text(),
      first_day: text(),
      last_day: text(),
      /** Events skipped as duplicates within the run or of stored ones. */
      duplicates: bigint(),
      /** Events that the run had loaded when it was removed. */
      loaded: bigint().nullable(),
      created_at: text(),
      /** Null while the run exists. */
      removed_at: text().nullable(),
    },
    {
      indexes: {
        import_loads_by_duplicates: ['project_id', 'duplicates'],
        import_loads_by_removal: ['project_id', 'removed_at', 'last_day'],
      },
    },
  ),
  import_load_marks: table(
    {
      project_id: integer(),
      /** Hash of a staged segment, or of a part and its identity. */
      mark: text(),
      run_id: text(),
      records: bigint(),
    },
    { primaryKey: ['project_id', 'mark', 'run_id'], indexes: { import_load_marks_by_run: ['run_id'] } },
  ),
  /** Described in imports/schedules/schedule.ts. */
  import_schedules: table(
    {
      config_id: integer().key().partOf('plugin_configs.id'),
      project_id: integer(),
      /** JSON: Timing. */
      timing: text(),
      overlap_minutes: integer(),
      paused: flag(),
      begins_at: text(),
      covered_to: text(),
      due_at: text(),
      /** Its active run, if any. */
      run_id: text().nullable(),
      /** End of that run's window. */
      run_to: text().nullable(),
      error: text(),
      created_at: text(),
      updated_at: text(),
    },
    { indexes: { import_schedules_by_project: ['project_id'] } },
  ),
  /** Removed runs, and runs of removed projects, whose staged files are still to be deleted. */
  import_leftovers: table({
    run_id: text().key(),
    created_at: text(),
  }),
  /** Uploaded files in staging; imports/uploads. */
  import_uploads: table(
    {
      project_id: integer(),
      name: text(),
      /** Changes when the file is replaced. */
      upload_id: text(),
      bytes: bigint(),
      changed_at: text(),
    },
    { primaryKey: ['project_id', 'name'] },
  ),
  /** The pieces of an uploaded file, in the order of `start`. */
  import_upload_pieces: table(
    {
      upload_id: text(),
      project_id: integer(),
      /** Offset in the file. */
      start: bigint(),
      bytes: bigint(),
      staging_key: text(),
    },
    { primaryKey: ['upload_id', 'start'] },
  ),
};
