import { bigint, double, integer, serial, table, text } from './table.ts';

/**
 * What processes on one store exchange. A crash of the server may lose it, after which each process writes it again. Times are
 * milliseconds since the epoch by the database's clock.
 */
export const processTables = {
  service_processes: table(
    {
      id: text().key(),
      seen_at: bigint(),
      /** JSON: ProcessReport. */
      report: text(),
    },
    { unlogged: true },
  ),
  /** Readers of the live stream in each process. */
  live_watches: table(
    {
      process_id: text(),
      watch_id: integer(),
      /** JSON: Watch. */
      watch: text(),
      lease_until: bigint(),
    },
    { primaryKey: ['process_id', 'watch_id'], unlogged: true },
  ),
  /** What other processes have seen for the readers of one. */
  live_sightings: table(
    {
      id: serial(),
      /** The process of the readers. */
      process_id: text(),
      /** JSON: Sightings. */
      sightings: text(),
      seen_at: bigint(),
    },
    { indexes: { live_sightings_by_process: ['process_id', 'id'] }, unlogged: true },
  ),
  /** Requests of each caller in the current window. */
  rate_counts: table(
    {
      scope: text(),
      caller: text(),
      window_ms: bigint(),
      started_at: bigint(),
      used: bigint(),
    },
    { primaryKey: ['scope', 'caller', 'window_ms'], unlogged: true },
  ),
  /** How much history a project may send now. */
  historical_budgets: table(
    {
      project_id: integer().key(),
      /** Events allowed now; below zero after a batch larger than the bucket. */
      tokens: double(),
      per_second: double(),
      filled_at: bigint(),
      /** Historical events to date. */
      total: bigint(),
      total_read_at: bigint(),
    },
    { unlogged: true },
  ),
};
