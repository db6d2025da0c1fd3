import { sql } from 'kysely';
import type { Failpoint } from '../../base/failpoint.ts';
import type { Database, Metadata } from '../metadata/database.ts';
import type { Queries } from '../metadata/queries.ts';
import type { MoveProgress } from './move-progress.ts';
import { areEqual, TotalsOfRows, type Row, type TableTotals } from './table-totals.ts';

/** State of the log's readers: the target has its own log. */
const ofTheLog = new Set(['slots', 'log_cursors', 'pipeline_workers']);
/** State of running processes. */
const ofProcesses = new Set(['service_processes', 'live_watches', 'live_sightings', 'named_leases']);
/** Files that are not moved. */
const ofFiles = new Set(['import_uploads', 'import_upload_pieces']);
/** State of the store itself. */
const ofTheStore = new Set(['schema_version', 'move_from']);

const rowsPerInsert = 500;
/** PostgreSQL's limit per statement. */
const parametersMax = 60_000;
const rowsPerFetch = 1000;

export interface CopyTablesDeps {
  /** SQLite. */
  readonly from: Metadata;
  /** PostgreSQL, with the same schema. */
  readonly to: Metadata;
  readonly failpoint: Failpoint;
  readonly progress: MoveProgress;
  /** Records that a table is copied and compared. */
  readonly done: (table: string, totals: TableTotals) => void;
}

/** The copy of a table differs from the table, and was discarded. */
export class TableDiffersError extends Error {
  override name = 'TableDiffersError';
}

/** Copies every table except those of the log, each in one transaction, referenced tables first. `known` was copied before. */
export async function copyTables(deps: CopyTablesDeps, known: Readonly<Record<string, TableTotals>>): Promise<void> {
  const names = await tablesInOrder(deps.from);
  for (const [at, name] of names.entries()) {
    deps.progress.table(name, at, names.length);
    if (known[name] !== undefined) continue;
    deps.failpoint('move_table');
    const totals = await copyTable(deps, name);
    deps.failpoint('move_table_copied');
    deps.done(name, totals);
  }
}

/** Returns the tables with referenced ones first. */
async function tablesInOrder(db: Metadata): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite_%' order by name`.execute(db);
  const parents = new Map<string, readonly string[]>();
  for (const { name } of rows) {
    if ([ofTheLog, ofProcesses, ofFiles, ofTheStore].some((left) => left.has(name))) continue;
    const found = await sql<{ parent: string }>`select "table" as parent from pragma_foreign_key_list(${name})`.execute(
      db,
    );
    parents.set(
      name,
      found.rows.map(({ parent }) => parent).filter((parent) => parent !== name),
    );
  }
  const ordered: string[] = [];
  const visit = (name: string): void => {
    if (ordered.includes(name) || !parents.has(name)) return;
    for (const parent of parents.get(name) ?? []) visit(parent);
    ordered.push(name);
  };
  for (const name of parents.keys()) visit(name);
  return ordered;
}

async function copyTable({ from, to, failpoint, progress }: CopyTablesDeps, name: string): Promise<TableTotals> {
  return to.transaction().execute(async (tx) => {
    // Rows of a first start, and of an attempt that was interrupted after its commit.
    await sql`delete from ${sql.table(name)}`.execute(tx);
    const read = new TotalsOfRows();
    let rows: Row[] = [];
    for await (const row of rowsOf(from, name)) {
      read.add(row);
      rows.push(row);
      if (rows.length < rowsPerInsert) continue;
      await insertRows(tx, name, rows);
      progress.rows(rows.length);
      rows = [];
    }
    await insertRows(tx, name, rows);
    progress.rows(rows.length);
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

/** Sound: the name comes from the store itself. */
function rowsOf(db: Metadata, name: string): AsyncIterable<Row> {
  return db
    .selectFrom(name as keyof Database)
    .selectAll()
    .stream(rowsPerFetch);
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

/** Returns the last id that the table generated; undefined if it generates none. */
async function lastId(db: Metadata, name: string): Promise<number | undefined> {
  const { rows } = await sql<{ seq: number }>`select seq from sqlite_sequence where name = ${name}`.execute(db);
  return rows[0]?.seq;
}

/** Continues the ids, so that those of deleted rows are not reused. */
async function continueIds(tx: Queries, name: string, last: number | undefined): Promise<void> {
  if (last === undefined || last === 0) return;
  await sql`select setval(pg_get_serial_sequence(${name}, 'id'), ${last})`.execute(tx);
}

/** Computes the totals of the target's rows. */
async function totalsOf(tx: Queries, name: string): Promise<TableTotals> {
  const totals = new TotalsOfRows();
  await sql`declare move_rows no scroll cursor for select * from ${sql.table(name)}`.execute(tx);
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(rowsPerFetch)} from move_rows`.execute(tx);
    for (const row of rows) totals.add(row);
    if (rows.length < rowsPerFetch) break;
  }
  await sql`close move_rows`.execute(tx);
  return totals.totals();
}
