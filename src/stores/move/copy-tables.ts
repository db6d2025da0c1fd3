import { sql } from 'kysely';
import type { Failpoint } from '../../base/failpoint.ts';
import { tables, type Database, type Metadata } from '../metadata/database.ts';
import { hasStoreAlone, inTransaction, type Queries } from '../metadata/queries.ts';
import type { Table } from '../metadata/tables/table.ts';
import type { MoveProgress } from './move-progress.ts';
import { areEqual, TotalsOfRows, type Row, type TableTotals } from './table-totals.ts';

/** State of the log's readers: the target has its own log. */
const ofTheLog = new Set(['slots', 'log_cursors', 'log_marks', 'pipeline_workers']);
/** State of running processes. */
const ofProcesses = new Set(['service_processes', 'live_watches', 'live_sightings', 'named_leases']);
/** Files that are not moved. */
const ofFiles = new Set(['import_uploads', 'import_upload_pieces']);
/** The tables to copy, referenced ones first, as they are declared. */
const copied = Object.keys(tables).filter((name) => ![ofTheLog, ofProcesses, ofFiles].some((left) => left.has(name)));

const rowsAtOnce = 500;
/** PostgreSQL's limit per statement. */
const parametersMax = 60_000;

export interface CopyTablesDeps {
  readonly from: Metadata;
  /** PostgreSQL. Both have the schema of this version. */
  readonly to: Metadata;
  readonly failpoint: Failpoint;
  readonly progress: MoveProgress;
  /** Records that a table is copied and compared. */
  readonly done: (table: string, totals: TableTotals) => Promise<void>;
}

/** The copy of a table differs from the table, and was discarded. */
export class TableDiffersError extends Error {
  override name = 'TableDiffersError';
}

/** Copies every table except those of the log, each in one transaction, referenced tables first. `known` was copied before. */
export async function copyTables(deps: CopyTablesDeps, known: Readonly<Record<string, TableTotals>>): Promise<void> {
  for (const [at, name] of copied.entries()) {
    deps.progress.table(name, at, copied.length);
    if (known[name] !== undefined) continue;
    deps.failpoint('move_table');
    const totals = await copyTable(deps, name);
    deps.failpoint('move_table_copied');
    await deps.done(name, totals);
  }
}

async function copyTable({ from, to, failpoint, progress }: CopyTablesDeps, name: string): Promise<TableTotals> {
  return to.transaction().execute(async (tx) => {
    // Rows of a first start, and of an attempt that was interrupted after its commit.
    await sql`delete from ${sql.table(name)}`.execute(tx);
    const read = new TotalsOfRows();
    await eachRows(from, name, async (rows) => {
      for (const row of rows) read.add(row);
      await insertRows(tx, name, rows);
      progress.rows(rows.length);
    });
    await continueIds(tx, name, await lastId(from, name));
    const written = await totalsOf(tx, name);
    failpoint('move_table_half');
    if (areEqual(read.totals(), written)) return written;
    const shown = ({ rows: count, checksum }: TableTotals): string => `${count} rows, checksum ${checksum}`;
    throw new TableDiffersError(
      `expected the copy of the table ${name} to have ${shown(read.totals())}, got ${shown(written)}; the copy was discarded`,
    );
  });
}

/** Calls `each` with all rows of a table, at most 500 at a time. */
async function eachRows(db: Queries, name: string, each: (rows: readonly Row[]) => Promise<void>): Promise<void> {
  if (!hasStoreAlone(db)) return await inTransaction(db, (tx) => eachFetched(tx, name, each));
  let rows: Row[] = [];
  // Sound: the name is that of a declared table.
  for await (const row of db
    .selectFrom(name as keyof Database)
    .selectAll()
    .stream(rowsAtOnce)) {
    rows.push(row);
    if (rows.length < rowsAtOnce) continue;
    await each(rows);
    rows = [];
  }
  if (rows.length > 0) await each(rows);
}

/** In a PostgreSQL transaction: a cursor reads the rows that were committed when it was declared, in the memory of one batch. */
async function eachFetched(tx: Queries, name: string, each: (rows: readonly Row[]) => Promise<void>): Promise<void> {
  await sql`declare move_rows no scroll cursor for select * from ${sql.table(name)}`.execute(tx);
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(rowsAtOnce)} from move_rows`.execute(tx);
    if (rows.length > 0) await each(rows);
    if (rows.length < rowsAtOnce) break;
  }
  await sql`close move_rows`.execute(tx);
}

async function insertRows(tx: Queries, name: string, rows: readonly Row[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first);
  const atOnce = Math.max(1, Math.floor(parametersMax / columns.length));
  for (let at = 0; at < rows.length; at += atOnce) {
    const values = rows
      .slice(at, at + atOnce)
      .map((row) => sql`(${sql.join(columns.map((column) => sql.val(row[column])))})`);
    await sql`insert into ${sql.table(name)} (${sql.join(columns.map((column) => sql.ref(column)))})
      values ${sql.join(values)}`.execute(tx);
  }
}

/** Returns the last id that the table generated; undefined if it generates none, or has not yet. */
async function lastId(db: Metadata, name: string): Promise<number | undefined> {
  const declared: Table = tables[name as keyof Database];
  if (declared.columns['id']?.spec.kind !== 'serial') return undefined;
  const { rows } = await (
    hasStoreAlone(db)
      ? sql<{ last: number | null }>`select seq as last from sqlite_sequence where name = ${name}`
      : sql<{
          last: number | null;
        }>`select pg_sequence_last_value(pg_get_serial_sequence(${name}, 'id')::regclass) as last`
  ).execute(db);
  return rows[0]?.last ?? undefined;
}

/** Continues the ids, so that those of deleted rows are not reused. */
async function continueIds(tx: Queries, name: string, last: number | undefined): Promise<void> {
  if (last === undefined || last === 0) return;
  await sql`select setval(pg_get_serial_sequence(${name}, 'id'), ${last})`.execute(tx);
}

async function totalsOf(db: Queries, name: string): Promise<TableTotals> {
  const totals = new TotalsOfRows();
  await eachRows(db, name, async (rows) => rows.forEach((row) => totals.add(row)));
  return totals.totals();
}
