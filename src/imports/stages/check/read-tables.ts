import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { objectIn } from '../../../base/json.ts';
import { createMatcher } from '../../../base/name-pattern.ts';
import { keyOf, type Join, type JoinTable } from '../../choosing/join-table.ts';
import { setMember, type Properties } from '../../formats/read-values.ts';
import { RunFailedError, type LeasedRun } from '../../run/leased-run.ts';
import { SourceError, SourceWaitError, type Source } from '../../source.ts';
import { stagingKeys, type Staging } from '../../staging.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** Each thread keeps all tables in memory during the check. */
export const tablesBytesMax = 256 << 20;

export interface TableDeps {
  readonly staging: Staging;
  /** Opens a file, directory or pattern like the source `files`; `undefined` if tables are not available here. */
  readonly openTable?: ((path: string) => Promise<Source>) | undefined;
}

/** A table as it is staged; structured clone. */
export interface TableText {
  readonly join: Join;
  /** JSON lines. */
  readonly text: Uint8Array;
}

/**
 * Reads the tables that a run joins. Each is staged when first read, so that a resumed check uses the same rows. Throws
 * RunFailedError.
 */
export async function readTables(deps: TableDeps, leased: LeasedRun): Promise<TableText[]> {
  const tables: TableText[] = [];
  let bytes = 0;
  for (const [index, join] of (leased.run.options.choice?.join ?? []).entries()) {
    const key = stagingKeys.table(leased.run.id, index);
    const found = await deps.staging.list(key);
    if (found.length === 0) await stageTable(deps, leased, join, key);
    const text = await readTable(deps.staging, key);
    bytes += text.length;
    if (bytes > tablesBytesMax) {
      throw new RunFailedError(
        `expected tables to join of at most ${tablesBytesMax >> 20} MiB as JSON lines, got more with ${join.table}; remove rows ` +
          'or columns',
        { advice: 'startAgain' },
      );
    }
    tables.push({ join, text });
  }
  return tables;
}

/** Reads tables without a run, straight from their source. Throws RunFailedError, SourceError, SourceWaitError. */
export async function readTablesNow(
  joins: readonly Join[],
  openTable: (path: string) => Promise<Source>,
  signal: AbortSignal,
): Promise<JoinTable[]> {
  const tables: JoinTable[] = [];
  for (const join of joins) {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const lines of tableLines(await openTable(join.table), join.table, signal)) {
      chunks.push(lines);
      bytes += lines.length;
      if (bytes <= tablesBytesMax) continue;
      throw new SourceError(`${join.table}: expected a table of at most ${tablesBytesMax >> 20} MiB as JSON lines`);
    }
    tables.push(tableOf({ join, text: Buffer.concat(chunks) }));
  }
  return tables;
}

async function stageTable(
  { staging, openTable }: TableDeps,
  leased: LeasedRun,
  join: Join,
  key: string,
): Promise<void> {
  if (openTable === undefined) throw new RunFailedError('expected a way to read the table to join, got none');
  try {
    const source = await openTable(join.table);
    await staging.write(key, tableChunks(source, leased, join.table));
  } catch (error) {
    if (!(error instanceof SourceError || error instanceof SourceWaitError)) throw error;
    throw new RunFailedError(`the table to join cannot be read: ${error.message}`, { cause: error });
  }
}

async function* tableChunks(source: Source, { signal }: LeasedRun, table: string): AsyncGenerator<Buffer> {
  for await (const lines of tableLines(source, table, signal)) yield await compress(lines);
}

async function* tableLines(source: Source, table: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (const part of await source.listParts({}, { signal })) {
    for await (const { lines, faults = [] } of source.open(part, { signal })) {
      const [fault] = faults;
      if (fault !== undefined) throw new SourceError(`${table}, ${fault.place}: ${fault.reason}`);
      yield lines;
    }
  }
}

async function readTable(staging: Staging, key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  const packed = Buffer.concat(chunks);
  return packed.length === 0 ? packed : await decompress(packed, { maxOutputLength: tablesBytesMax + 1 });
}

/** Throws RunFailedError if no row has a key. */
export function tableOf({ text, join }: TableText): JoinTable {
  const { table, on, columns } = join;
  const lines = Buffer.from(text.buffer, text.byteOffset, text.length).toString().split('\n');
  const column = join.first_column === true ? firstColumn(lines, join) : (join.column ?? on);
  const isTaken = columns === undefined ? () => true : createMatcher(columns);
  const rows = new Map<string, Properties>();
  let repeated = 0;
  let count = 0;
  for (const line of lines) {
    if (line.trim() === '') continue;
    count += 1;
    const row = objectIn(line);
    const key = row === undefined ? undefined : keyOf(row[column]);
    if (row === undefined || key === undefined) continue;
    if (rows.has(key)) repeated += 1;
    else
      rows.set(
        key,
        columnsOf(row, (name) => name !== column && isTaken(name)),
      );
  }
  if (rows.size > 0) return { rows, column, repeated, isMatched: false };
  throw new RunFailedError(
    `expected rows with a value in the column "${column}" of ${table}, got ${count} rows without one; specify the key ` +
      'column',
    { advice: 'startAgain' },
  );
}

/** Returns the first column of the first row: rows of a CSV have their columns in the order of its header. */
function firstColumn(lines: readonly string[], { table, on }: Join): string {
  const line = lines.find((each) => each.trim() !== '');
  const [column] = Object.keys((line === undefined ? undefined : objectIn(line)) ?? {});
  if (column !== undefined) return column;
  throw new RunFailedError(`expected rows in ${table}, to join them by "${on}", got none; remove the join`, {
    advice: 'startAgain',
  });
}

function columnsOf(row: Readonly<Record<string, unknown>>, isTaken: (name: string) => boolean): Properties {
  const taken: Properties = {};
  for (const [name, value] of Object.entries(row)) {
    if (value !== null && value !== '' && isTaken(name)) setMember(taken, name, value);
  }
  return taken;
}
