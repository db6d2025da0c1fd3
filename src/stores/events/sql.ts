import type { RunDays, RunRef, StoreHealth } from './eventstore.ts';
import { eventColumns } from './rows.ts';

/** SQL that both transports share. No value of a client ever becomes part of it. */

const tokenForm = /^[A-Za-z0-9_:.-]{1,200}$/;

/** Checks the form of the token, the only argument that becomes SQL text. */
export function checkToken(token: string): string {
  if (tokenForm.test(token)) return token;
  throw new TypeError(
    `expected an insert token of 1 to 200 characters A-Z a-z 0-9 _ : . -, got ${JSON.stringify(token)}`,
  );
}

/** The table to insert into. */
export interface InsertTarget {
  readonly table: string;
  /** In addition to those of every insert. */
  readonly settings: readonly string[];
}

const theTable: InsertTarget = { table: 'events', settings: [] };

/** `source`: an INFILE clause, or empty when the rows come in the body of the request. */
export function insertSql(token: string, source: string, target = theTable): string {
  const settings = [
    `insert_deduplication_token = '${checkToken(token)}'`,
    'insert_deduplicate = 1',
    'async_insert = 0',
    'max_partitions_per_insert_block = 0',
    // Equal identities within one batch are rare, and reads (FINAL) and merges remove them; removing them here costs a
    // fifth (many months) to two fifths (one month) of the insert.
    'optimize_on_insert = 0',
    ...target.settings,
  ];
  const columns = eventColumns.join(', ');
  return `INSERT INTO ${target.table} (${columns}) ${source} SETTINGS ${settings.join(', ')} FORMAT Native`;
}

const runIdForm = /^[A-Za-z0-9-]{1,100}$/;
const dayForm = /^\d{4}-\d\d-\d\d$/;

/** Throws unless the run is safe in SQL text. */
export function checkRun<Run extends RunRef>(run: Run): Run {
  const isProject = Number.isInteger(run.projectId) && run.projectId >= 0 && run.projectId < 2 ** 31;
  if (isProject && runIdForm.test(run.runId)) return run;
  throw new TypeError(
    `expected a project and the id of a run, 1 to 100 letters, digits and -, got ${run.projectId}, ${JSON.stringify(run.runId)}`,
  );
}

/**
 * Marks rows as deleted, so that no read returns them and merges drop them. One statement for all days: it processes every part of the
 * table, and the days decide which parts are only linked. The text contains the values, whose form is checked, because the engine
 * stores it as text.
 */
export function deleteRunSql({ projectId, runId, from, to }: RunDays, table = 'events'): string {
  if (!Number.isInteger(projectId) || !runIdForm.test(runId) || !dayForm.test(from) || !dayForm.test(to)) {
    throw new TypeError(
      `expected a project, the id of a run and two days, got: ${projectId}, ${JSON.stringify([runId, from, to])}`,
    );
  }
  return `DELETE FROM ${table}
WHERE project_id = ${projectId} AND day >= toDate32('${from}') AND day <= toDate32('${to}')
  AND import_run = '${runId}'
SETTINGS lightweight_deletes_sync = 2`;
}

/** Selects damaged parts that the engine set aside when it opened the table: their rows are missing from reads. */
export const damagedPartsSql = damagedPartsOf('events');

export function damagedPartsOf(table: string): string {
  return `SELECT name, path FROM system.detached_parts
WHERE database = currentDatabase() AND table = '${table}' AND (reason LIKE '%broken%' OR reason = 'unexpected')
ORDER BY name`;
}

export interface DamagedPart {
  readonly name: string;
  /** Its directory. */
  readonly path: string;
}

export function healthOf(damaged: readonly DamagedPart[]): StoreHealth {
  if (damaged.length === 0) return { ok: true, detail: '' };
  const paths = damaged.slice(0, 3).map((part) => part.path);
  const more = damaged.length > paths.length ? ` and ${damaged.length - paths.length} more` : '';
  return {
    ok: false,
    detail:
      `Stored events are missing: the engine set aside damaged parts of the table events (${paths.join(', ')}${more}). ` +
      'Restore the event store from a backup; or, to accept the loss, delete those directories.',
  };
}
