import type { Flag } from './database.ts';

/** Tables of imports; the conventions are those of database.ts. */
export interface ImportTables {
  /** See imports/run.ts, which says what states and stages there are. */
  import_runs: {
    id: string;
    /** 0: a run of the command line. */
    project_id: number;
    config_id: number;
    source: string;
    state: string;
    stage: string;
    reason: string;
    /** JSON; null: it waits for nothing. */
    waiting: string | null;
    /** JSON: RunOptions. */
    options: string;
    /** JSON: name → text, such as the target's keys; never shown. */
    secrets: string;
    /** JSON: stage → StageProgress. */
    progress: string;
    /** JSON: RunTotals. */
    totals: string;
    promoted_from: string | null;
    /** Counts up with every claim: the fence against a worker that lost the run. */
    attempts: number;
    retries: number;
    lease_until: string | null;
    staging_removed_at: string | null;
    created_at: string;
    started_at: string | null;
    finished_at: string | null;
    /** `''`: for good; `long`: removed some time after it ended; `short`: sooner, for it has found nothing new. */
    kept: string;
    /** JSON: RunDeaths; null: no worker ended in the middle of it. */
    deaths: string | null;
  };
  import_parts: {
    run_id: string;
    project_id: number;
    /** From 1, without gaps. */
    seq: number;
    key: string;
    bytes: number | null;
    identity: string | null;
    /** Of what was read of it. */
    checksum: string | null;
    stable: Flag;
    /** JSON object. */
    detail: string | null;
    /** JSON array of Segment. */
    segments: string;
    complete: Flag;
    faults: number;
    checked: number;
    /** JSON of the check stage's own. */
    check_state: string;
    error: string;
  };
  import_days: {
    run_id: string;
    project_id: number;
    /** YYYY-MM-DD, UTC. */
    day: string;
    events: number;
    bytes: number;
    duplicates: number;
    frames: number;
    frames_loaded: number;
    accepted: number;
    rejected: number;
    verified: Flag;
    /** JSON: event → { count, checksum }. */
    expected: string;
  };
  /** Runs that have begun to load, also those that are removed; import-loads.ts. */
  import_loads: {
    run_id: string;
    project_id: number;
    config_id: number;
    source: string;
    /** `project`, `http`. */
    target: string;
    /** Hash: target and key. */
    place: string;
    /** Hash: what decides which event a record becomes. */
    recipe: string;
    first_day: string;
    last_day: string;
    /** Events that were left out because they were there: in the run itself, or in the store. */
    duplicates: number;
    /** Events that it had loaded when it was removed. */
    loaded: number | null;
    created_at: string;
    /** Null: the run is there. */
    removed_at: string | null;
  };
  import_load_marks: {
    project_id: number;
    /** Hash of a piece that was staged, or of a part and its identity. */
    mark: string;
    run_id: string;
    records: number;
  };
  /** See imports/schedules/schedule.ts. */
  import_schedules: {
    config_id: number;
    project_id: number;
    /** JSON: Timing. */
    timing: string;
    overlap_minutes: number;
    paused: Flag;
    begins_at: string;
    covered_to: string;
    due_at: string;
    /** Its run that has not ended; null: there is none. */
    run_id: string | null;
    /** Up to where that one reaches. */
    run_to: string | null;
    error: string;
    created_at: string;
    updated_at: string;
  };
  /** A run that was removed, by itself or with its project: what it left in staging is to go. */
  import_leftovers: {
    run_id: string;
    created_at: string;
  };
  /** Files for imports that lie in staging; imports/uploads. */
  import_uploads: {
    project_id: number;
    name: string;
    /** Another one when the file is replaced. */
    upload_id: string;
    bytes: number;
    changed_at: string;
  };
  /** What an uploaded file is made of, in the order of `start`. */
  import_upload_pieces: {
    upload_id: string;
    project_id: number;
    /** Where in the file it begins. */
    start: number;
    bytes: number;
    staging_key: string;
  };
}
