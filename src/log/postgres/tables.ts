import { randomBytes } from 'node:crypto';
import { lanes, LogUnavailableError } from '../eventlog.ts';
import { LogMisconfiguredError } from '../shared-log.ts';
import type { Connected, PostgresLogOptions } from './connect.ts';

/**
 * Tables of the event log in PostgreSQL.
 *
 * - `event_log` has one row: the identity of the log, which differs for tables that were created again, and its number of slots.
 * - `event_log_ends` has the last seq of each slot's lane. Appending locks this row until it commits: so a record becomes visible only
 *   after all with lower seqs, and a reader that continues after the last one it saw misses none.
 * - `event_log_records` has the records that are not stored yet. Bodies are compressed by their senders: PostgreSQL does not try it
 *   again. Rows live for seconds, so they are vacuumed by number, not by share of the table.
 */
const records = 'event_log_records';

function statements({ slots }: Pick<PostgresLogOptions, 'slots'>): readonly string[] {
  const id = randomBytes(12).toString('hex');
  const vacuum =
    'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0';
  const toast = vacuum.replaceAll('autovacuum', 'toast.autovacuum');
  return [
    'CREATE TABLE IF NOT EXISTS event_log (is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one), id text NOT NULL, slots integer NOT NULL)',
    `INSERT INTO event_log (id, slots) VALUES ('${id}', ${slots}) ON CONFLICT DO NOTHING`,
    `CREATE TABLE IF NOT EXISTS event_log_ends (
  slot integer NOT NULL, lane text NOT NULL, last_seq bigint NOT NULL, PRIMARY KEY (slot, lane)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
    ...lanes.map(
      (
        lane,
      ) => `INSERT INTO event_log_ends SELECT slot, '${lane}', 0 FROM event_log, generate_series(0, slots - 1) AS slot
ON CONFLICT DO NOTHING`,
    ),
    `CREATE TABLE IF NOT EXISTS ${records} (
  slot integer NOT NULL, lane text NOT NULL, seq bigint NOT NULL,
  events integer NOT NULL, header text NOT NULL, checksum bigint NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (slot, lane, seq)
) WITH (${vacuum}, ${toast})`,
    `ALTER TABLE ${records} ALTER COLUMN body SET STORAGE EXTERNAL`,
  ];
}

/**
 * Creates missing tables; several processes may do so at once. `onProblem` receives what makes the log less safe. Rejects with
 * LogMisconfiguredError, which says what to change, or with LogUnavailableError.
 */
export async function prepareTables(
  connected: Connected,
  options: PostgresLogOptions,
  onProblem: (sentence: string) => void,
): Promise<void> {
  if (!(await exists(connected))) await connected.create(statements(options));
  await readIdentity(connected, options);
  const [fsync] = await connected.ask<{ readonly setting: string }>("SELECT current_setting('fsync') AS setting");
  if (fsync?.setting === 'off') {
    onProblem(
      'PostgreSQL, which keeps the event log, has fsync = off: a power cut loses acknowledged events; set fsync = on',
    );
  }
}

async function exists(connected: Connected): Promise<boolean> {
  const [found] = await connected.ask<{ readonly known: boolean }>(
    `SELECT to_regclass('${records}') IS NOT NULL AS known`,
  );
  return found?.known === true;
}

/** Returns the id of the log. Rejects like `prepareTables`. */
export async function readIdentity(
  connected: Connected,
  { slots }: Pick<PostgresLogOptions, 'slots'>,
): Promise<string> {
  if (!(await exists(connected))) {
    throw new LogUnavailableError(
      'PostgreSQL has no tables of the event log: they are created when a process with the role capture starts',
    );
  }
  const [log] = await connected.ask<{ readonly id: string; readonly slots: number }>('SELECT id, slots FROM event_log');
  if (log === undefined) throw new LogUnavailableError('PostgreSQL has no row in event_log');
  if (log.slots === slots) return log.id;
  throw new LogMisconfiguredError(
    `the event log in PostgreSQL has ${log.slots} slots, MILLRACE_SLOTS is ${slots}: set MILLRACE_SLOTS to the value that the cluster was created with`,
  );
}
