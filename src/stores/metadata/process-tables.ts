import type { Generated } from 'kysely';

/** What processes on one store tell each other. Times are ms since the epoch by the database's clock. */
export interface ProcessTables {
  service_processes: {
    id: string;
    seen_at: number;
    /** JSON: ProcessReport. */
    report: string;
  };
  /** Who reads the live stream in which process. */
  live_watches: {
    process_id: string;
    watch_id: number;
    /** JSON: Watch. */
    watch: string;
    lease_until: number;
  };
  /** What other processes have seen for the readers of one. */
  live_sightings: {
    id: Generated<number>;
    /** Where the readers are. */
    process_id: string;
    /** JSON: Sightings. */
    sightings: string;
    seen_at: number;
  };
  /** Requests of each caller in the current window. */
  rate_counts: {
    scope: string;
    caller: string;
    window_ms: number;
    started_at: number;
    used: number;
  };
  /** How much history a project may bring now. */
  historical_budgets: {
    project_id: number;
    /** Events that may come now; below zero after a batch larger than the bucket. */
    tokens: number;
    per_second: number;
    filled_at: number;
    /** Historical events so far. */
    total: number;
    total_read_at: number;
  };
}
