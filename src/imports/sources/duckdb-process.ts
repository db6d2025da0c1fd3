/**
 * Entry of the process that reads a DuckDB file. The engine shares nothing with the service: a damaged file can only crash this
 * process, and killing it stops a query that never ends. Only duckdb.ts starts and kills it.
 */
import type * as DuckDb from '@duckdb/node-api';
import { endWithParent } from '../../base/end-with-parent.ts';

/** Arguments of the process. */
export interface DuckDbRead {
  readonly path: string;
  /** One select, without a semicolon. */
  readonly query: string;
  /** Directory for data that does not fit into memory; if empty, nothing is written to disk. */
  readonly tempDir: string;
}

/** Responses, each requested with a message of any kind. */
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
    // From here on it cannot access other files, and the query cannot change that.
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
  if (twice !== undefined) throw new Error(`two columns are called "${twice}": rename one with "as"`);
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
// Sound: duckdb.ts passes it.
const rows = answers(JSON.parse(process.argv[2] ?? '{}') as DuckDbRead);
process.on('message', () => {
  void rows.next().then(({ value, done }) => process.send?.(done === true ? { kind: 'end' } : value));
});

type Value = DuckDb.DuckDBValue;
type Type = DuckDb.DuckDBType;

/**
 * Returns a function that converts values to JSON: numbers beyond the precision of a double as text with every digit, times as
 * ISO 8601 in UTC with all digits, bytes as base64.
 */
function createDuckDbJson(library: typeof DuckDb): (value: Value, type: Type) => string {
  const {
    DuckDBArrayValue,
    DuckDBBlobValue,
    DuckDBDecimalValue,
    DuckDBListValue,
    DuckDBMapValue,
    DuckDBStructValue,
    DuckDBTimestampMillisecondsValue,
    DuckDBTimestampNanosecondsValue,
    DuckDBTimestampSecondsValue,
    DuckDBTimestampTZValue,
    DuckDBTimestampValue,
    DuckDBTypeId,
    DuckDBUnionValue,
    DuckDBVariantValue,
  } = library;
  const times = [
    DuckDBTimestampValue,
    DuckDBTimestampSecondsValue,
    DuckDBTimestampMillisecondsValue,
    DuckDBTimestampNanosecondsValue,
  ];
  return jsonOf;

  function jsonOf(value: Value, type: Type | undefined): string {
    switch (typeof value) {
      case 'boolean':
        return String(value);
      case 'bigint':
        return exactNumber(String(value));
      case 'number':
        return numberJson(value, type?.typeId === DuckDBTypeId.FLOAT);
      case 'string':
        return type?.alias === 'JSON' ? jsonText(value) : JSON.stringify(value);
      default:
        return value === null ? 'null' : objectJson(value, type);
    }
  }

  function objectJson(value: NonNullable<Value> & object, type: Type | undefined): string {
    if (value instanceof DuckDBDecimalValue) return exactNumber(value.toString());
    // Its own toString uses the time zone of the process.
    if (value instanceof DuckDBTimestampTZValue) return timeJson(new DuckDBTimestampValue(value.micros).toString());
    if (times.some((kind) => value instanceof kind)) return timeJson(value.toString());
    if (value instanceof DuckDBBlobValue) return JSON.stringify(Buffer.from(value.bytes).toString('base64'));
    if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
      const of = type !== undefined && 'valueType' in type ? type.valueType : undefined;
      return `[${value.items.map((item) => jsonOf(item, of)).join(',')}]`;
    }
    if (value instanceof DuckDBStructValue) {
      const names = Object.keys(value.entries);
      const types = type !== undefined && 'entryTypes' in type ? type.entryTypes : [];
      return objectOf(names.map((name, index) => [name, jsonOf(value.entries[name] ?? null, types[index])]));
    }
    if (value instanceof DuckDBMapValue) {
      const of = type !== undefined && 'valueType' in type ? type.valueType : undefined;
      return objectOf(value.entries.map(({ key, value: own }) => [String(key), jsonOf(own, of)]));
    }
    if (value instanceof DuckDBUnionValue) {
      const of = type !== undefined && 'memberTypeForTag' in type ? type.memberTypeForTag(value.tag) : undefined;
      return jsonOf(value.value, of);
    }
    if (value instanceof DuckDBVariantValue) return jsonOf(value.value, value.type);
    // Dates, times of day, intervals, uuids and bits in DuckDB's own text form.
    return JSON.stringify(value.toString());
  }
}

function objectOf(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

/** A double represents 15 digits exactly; longer numbers stay text. */
function exactNumber(text: string): string {
  const digits = text.replaceAll(/\D/g, '').replace(/^0+/, '').length;
  return digits <= 15 || Number.isSafeInteger(Number(text)) ? text : `"${text}"`;
}

/** Writes the shortest digits that identify a float: 0.1 rather than 0.10000000149011612. */
function numberJson(value: number, isFloat: boolean): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return '-0.0';
  if (!isFloat) return String(value);
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** Converts `2024-03-01 10:00:00.123456789`; years BC and infinity stay. */
function timeJson(text: string): string {
  return JSON.stringify(/^\d{4}-.*\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : text);
}

/** Line breaks can only occur between values. */
function jsonText(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}

/** Returns a function that writes rows as lines of JSON. */
function createDuckDbRowWriter(
  library: typeof DuckDb,
  names: readonly string[],
  types: readonly Type[],
): (row: readonly Value[]) => string {
  const json = createDuckDbJson(library);
  const columns = types.map((type, index) => ({ key: `${JSON.stringify(names[index] ?? '')}:`, type }));
  return (row) => `{${columns.map(({ key, type }, index) => key + json(row[index] ?? null, type)).join(',')}}\n`;
}
