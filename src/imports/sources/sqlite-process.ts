/**
 * Entry of the process that reads an SQLite file. A query may never end or exhaust memory: it ends with the process, which only
 * sqlite.ts starts and kills.
 */
import { constants, DatabaseSync } from 'node:sqlite';
import { endWithParent } from '../../base/end-with-parent.ts';
import { createSqliteRowWriter } from './sqlite-rows.ts';

/** Arguments of the process. */
export interface SqliteRead {
  readonly path: string;
  /** One select, without a semicolon. */
  readonly query: string;
}

/** Responses, each requested with a message of any kind. */
export type SqliteAnswer =
  | { readonly kind: 'rows'; readonly lines: Uint8Array; readonly count: number }
  | { readonly kind: 'end' }
  /** `errcode` is SQLite's. */
  | { readonly kind: 'failed'; readonly errcode: number; readonly message: string };

const chunkBytes = 1024 * 1024;

/** A query may only read tables, call functions and recurse: no other files, settings or writes. */
const permitted: ReadonlySet<number> = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_RECURSIVE,
]);

/** Yields the rows as lines of JSON, about 1 MB at a time. */
function* readRows({ path, query }: SqliteRead): Generator<SqliteAnswer> {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  database.exec('pragma query_only = on; pragma trusted_schema = off; pragma cell_size_check = on');
  database.setAuthorizer((action) => (permitted.has(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
  const statement = database.prepare(`select * from (\n${query}\n)`);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const write = createSqliteRowWriter(statement.columns().map(({ name }) => name));
  let lines: string[] = [];
  let length = 0;
  const take = (): SqliteAnswer => {
    const answer = { kind: 'rows', lines: Buffer.from(lines.join('')), count: lines.length } as const;
    lines = [];
    length = 0;
    return answer;
  };
  for (const row of statement.iterate()) {
    // Sound: setReturnArrays makes rows arrays.
    const line = write(row as unknown as readonly SqliteValue[]);
    lines.push(line);
    length += line.length;
    if (length >= chunkBytes) yield take();
  }
  if (lines.length > 0) yield take();
}

type SqliteValue = Parameters<ReturnType<typeof createSqliteRowWriter>>[0][number];

function nextAnswer(rows: Generator<SqliteAnswer>): SqliteAnswer {
  try {
    const { value, done } = rows.next();
    return done === true ? { kind: 'end' } : value;
  } catch (error) {
    const errcode = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
    return { kind: 'failed', errcode, message: error instanceof Error ? error.message : String(error) };
  }
}

endWithParent();
// Sound: sqlite.ts passes it.
const rows = readRows(JSON.parse(process.argv[2] ?? '{}') as SqliteRead);
process.on('message', () => void process.send?.(nextAnswer(rows)));
