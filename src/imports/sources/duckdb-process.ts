/**
 * Entry of the process that reads a DuckDB file. The engine shares nothing with the service: a damaged file may end it, and a query
 * that never ends is ended with it. It is started and killed by duckdb.ts only.
 */
import type * as DuckDb from '@duckdb/node-api';
import { endWithParent } from '../../base/end-with-parent.ts';
import { createDuckDbRowWriter } from './duckdb-rows.ts';

/** What the process is started with. */
export interface DuckDbRead {
  readonly path: string;
  /** One select, without a semicolon. */
  readonly query: string;
  /** For what does not fit into memory; empty: nothing is put on disk. */
  readonly tempDir: string;
}

/** Asked for with a message of any kind, one after the other. */
export type DuckDbAnswer =
  | { readonly kind: 'rows'; readonly lines: Uint8Array; readonly count: number }
  | { readonly kind: 'end' }
  /** The package is not installed. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly at: 'load' | 'open' | 'query'; readonly message: string };

const chunkBytes = 1024 * 1024;
const memoryMax = '1GB';
const threads = '2';

async function* readRows(library: typeof DuckDb, { path, query, tempDir }: DuckDbRead): AsyncGenerator<DuckDbAnswer> {
  let at: 'open' | 'query' = 'open';
  try {
    const { DuckDBInstance } = library;
    const database = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY', memory_limit: memoryMax, threads });
    const connection = await database.connect();
    // From here on it can reach no other file, and the query cannot change that.
    const spill = `set temp_directory = '${tempDir.replaceAll("'", "''")}'`;
    const closed =
      'set enable_external_access = false; set autoload_known_extensions = false; set lock_configuration = true';
    await connection.run(`${spill}; ${closed}`);
    at = 'query';
    yield* rowsOf(library, connection, query);
  } catch (error) {
    yield { kind: 'failed', at, message: error instanceof Error ? error.message : String(error) };
  }
}

async function* rowsOf(
  library: typeof DuckDb,
  connection: DuckDb.DuckDBConnection,
  query: string,
): AsyncGenerator<DuckDbAnswer> {
  const statements = await connection.extractStatements(query);
  const prepared = statements.count === 1 ? await statements.prepare(0) : undefined;
  if (prepared?.statementType !== library.StatementType.SELECT) {
    throw new Error('expected one select, got something else');
  }
  const result = await prepared.stream();
  const names = result.columnNames();
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two columns are called "${twice}": give them names of their own with "as"`);
  const write = createDuckDbRowWriter(library, names, result.columnTypes());
  let lines: string[] = [];
  let length = 0;
  const take = (): DuckDbAnswer => {
    const answer = { kind: 'rows', lines: Buffer.from(lines.join('')), count: lines.length } as const;
    lines = [];
    length = 0;
    return answer;
  };
  for await (const chunk of result) {
    for (const row of chunk.getRows()) {
      const line = write(row);
      lines.push(line);
      length += line.length;
      if (length >= chunkBytes) yield take();
    }
  }
  if (lines.length > 0) yield take();
}

async function* answers(read: DuckDbRead): AsyncGenerator<DuckDbAnswer> {
  let library: typeof DuckDb;
  try {
    library = await import('@duckdb/node-api');
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    yield isAbsent ? { kind: 'absent' } : { kind: 'failed', at: 'load', message: String(error) };
    return;
  }
  yield* readRows(library, read);
}

endWithParent();
// Sound: what duckdb.ts has given.
const rows = answers(JSON.parse(process.argv[2] ?? '{}') as DuckDbRead);
process.on('message', () => {
  void rows.next().then(({ value, done }) => process.send?.(done === true ? { kind: 'end' } : value));
});
