import {
  SourceChangedError,
  SourceError,
  SourceWaitError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
  type TimeRange,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { textSetting } from '../../plugins/setting-values.ts';
import { baseUrlOf, askAgain, createExportApi, readWhole } from './export-api.ts';
import { ndjsonChunks } from './ndjson-chunks.ts';
import {
  cursorField,
  mappingHint,
  partSizeField,
  queryField,
  rowsOf,
  splitQueryOf,
  type SplitQuery,
} from './sql-query.ts';
import type { OutboundStreamResponse } from '../../plugins/outbound/outbound.ts';
import { dayMs, startOfDay } from '../../base/time.ts';

interface ClickhousePlace {
  /** Without a trailing slash. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Both methods throw SourceError, SourceWaitError, or the signal's reason. */
interface ClickhouseApi {
  /** The response consists of lines of JSON, with times in UTC and numbers with all of their digits. */
  ask(sql: string, signal: AbortSignal): Promise<OutboundStreamResponse>;
  /** For small results. */
  rows(sql: string, context: SourceContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const name = 'ClickHouse';
/** How long a query may take until its first row. */
const idleMs = 1_800_000;
const answerBytesMax = 64 * 1024 * 1024;
/** ClickHouse reports each failure of a query with one of these, and its code in a header. */
const answered = [200, 400, 401, 403, 404, 408, 413, 500, 501, 503];

const settings: Readonly<Record<string, string>> = {
  readonly: '2',
  default_format: 'JSONEachRow',
  output_format_json_quote_64bit_integers: '0',
  output_format_json_quote_decimals: '0',
  output_format_json_quote_denormals: '1',
  date_time_output_format: 'iso',
  cancel_http_readonly_queries_on_client_close: '1',
};

function createClickhouseApi(host: Pick<SourceHost, 'stream' | 'now'>, place: ClickhousePlace): ClickhouseApi {
  const { url, user, password, database } = place;
  const api = createExportApi(host, { name, secrets: password === '' ? [] : [password] });
  const address = `${url}/?${new URLSearchParams({ database, ...settings }).toString()}`;
  const headers = {
    'x-clickhouse-user': user,
    ...(password === '' ? {} : { 'x-clickhouse-key': password }),
    'content-type': 'text/plain; charset=utf-8',
  };
  const ask = async (sql: string, signal: AbortSignal): Promise<OutboundStreamResponse> => {
    const request = { url: address, method: 'POST', headers, body: sql, idleMs, accepted: answered };
    const response = await api.ask(request, signal);
    const code = response.headers['x-clickhouse-exception-code'];
    if (response.status === 200 && code === undefined) return response;
    const { error, words } = await api.refusal(response);
    throw code === undefined ? error : failureOf(Number(code), words);
  };
  return {
    ask,
    rows: (sql, context) =>
      askAgain(context, async () => {
        const { signal } = context;
        const body = await readWhole(await ask(sql, signal), { name, bytesMax: answerBytesMax, signal });
        return body.toString('utf8').split('\n').filter(Boolean).map(parseRow);
      }),
  };
}

function parseRow(line: string): Readonly<Record<string, unknown>> {
  try {
    // Sound: each line of JSONEachRow is an object.
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new SourceWaitError(`${name}: expected rows, got something else at the end of the answer`, {
      unlimited: false,
      cause,
    });
  }
}

/** Temporary failures: too many queries, out of memory, too slow, a lost connection or Keeper, a quota. */
const passing: ReadonlySet<number> = new Set([159, 160, 201, 202, 203, 209, 210, 241, 242, 252, 279, 425, 439, 999]);
const advice: ReadonlyMap<number, string> = new Map([
  [60, 'check the name of the table and the database'],
  [81, 'check the database'],
  [47, 'check the names of the columns, the cursor column too'],
  [164, 'the user needs readonly = 2 (to read and set the output format), or no readonly setting'],
  [192, 'check user and password'],
  [193, 'check user and password'],
  [497, 'grant the user select on the tables of the query'],
  [516, 'check user and password'],
]);

function failureOf(code: number, words: string): Error {
  const message = `${name} responded: ${words}`;
  if (passing.has(code)) return new SourceWaitError(message, { unlimited: true });
  const more = advice.get(code);
  return new SourceError(more === undefined ? message : `${message}: ${more}`);
}

/** Rows of a table or a query. */
export const clickhouse = defineImportSource({
  slug: 'clickhouse',
  name: 'ClickHouse',
  description: `Imports the rows of a table or a query, over HTTP, with a read-only user. ${mappingHint}`,
  fields: [
    {
      key: 'url',
      name: 'Address',
      type: 'string',
      required: true,
      hint: 'Of the HTTP interface: https://host:8443 or http://host:8123, without user and password.',
    },
    { key: 'user', name: 'User', type: 'string', default: 'default', hint: 'A user with readonly = 2 is enough.' },
    {
      key: 'password',
      name: 'Password',
      type: 'string',
      secret: true,
      sent_to: ['url'],
      hint: 'Password of the user.',
    },
    {
      key: 'database',
      name: 'Database',
      type: 'string',
      default: 'default',
      hint: 'Database of table names without one.',
    },
    queryField(
      'The name of a table, or a select whose rows are the records: select id, name, user_id, at from events final.',
    ),
    cursorField(
      'Column that splits rows into parts, preferably the first of the sorting key: times by day, whole numbers by size.',
    ),
    partSizeField,
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time; rows without a value are skipped.',
  example: {
    url: 'https://clickhouse.example.com:8443',
    user: 'reader',
    password: 'secret',
    database: 'shop',
    query: 'select id, name, user_id, at from events',
    cursor_column: 'at',
  },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const source = splitQueryOf(settings);
  const api = createClickhouseApi(host, {
    url: baseUrlOf(textSetting(settings, 'url'), 'url', ''),
    user: textSetting(settings, 'user', 'default'),
    password: textSetting(settings, 'password'),
    database: textSetting(settings, 'database', 'default'),
  });
  return {
    concurrency: 2,
    listParts: (range, context) => listRowParts((sql) => api.rows(sql, context), source, range),
    open: (part, context) => readPart(api, source, part, context),
  };
}

/** A truncated response may end like a complete one, so its rows are counted. */
async function* readPart(
  api: ClickhouseApi,
  source: SplitQuery,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const { sql, rows } = selectOf(source, part);
  const response = await api.ask(sql, signal);
  let count = 0;
  for await (const chunk of ndjsonChunks(response.body, `ClickHouse, ${part.key}`, signal)) {
    count += chunk.count;
    yield chunk;
  }
  if (count === rows) return;
  throw new SourceChangedError(`${part.key} had ${rows} rows when it was listed, and ${count} when it was read`);
}

type Rows = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** How a cursor can be split. */
type CursorKind = 'date' | 'time' | 'integer' | 'other';

const partsMax = 100_000;

/**
 * Splits rows by their cursor: times by UTC day (dates wholly: each day that the range touches), integers into blocks at
 * multiples of `partSize`, anything else into one part; rows without a value form a separate part. The identity of a part is the
 * number of its rows and a checksum over them.
 */
async function listRowParts(rows: Rows, source: SplitQuery, range: TimeRange): Promise<SourcePart[]> {
  const column = quotedName(source.cursorColumn);
  const [first] = await rows(`select toTypeName(${column}) as type from ${rowsOf(source)} limit 1`);
  if (first === undefined) return [];
  const kind = kindOf(String(first['type']));
  const isRanged = range.from !== undefined || range.to !== undefined;
  if (isRanged && kind !== 'date' && kind !== 'time') {
    throw new SourceError(
      `"from" and "to" need a cursor column that is a time, but "${source.cursorColumn}" is ${String(first['type'])}; put the limits in the query`,
    );
  }
  const within = rangeCondition(kind, column, range);
  const found = await rows(
    `select toString(${blockOf(kind, column, source.partSize)}) as block, toString(count()) as rows,
      toString(sum(cityHash64(toString(tuple(*))))) as sum from ${rowsOf(source)} ${within === '' ? '' : `where ${within}`}
    group by block order by block limit ${partsMax + 1}`,
  );
  if (found.length > partsMax) {
    throw new SourceError(
      `expected at most ${partsMax} parts, got more: choose a shorter range or a greater part_size`,
    );
  }
  return found.toSorted(byBlock(kind)).map(({ block, rows: count, sum }) => {
    const condition = [conditionOf(kind, column, block, source.partSize), within].filter(Boolean).join(' and ');
    return {
      key: keyOf(kind, block, source),
      identity: `${String(count)} rows, sum ${String(sum)}`,
      stable: false,
      detail: { condition, rows: Number(count) },
    };
  });
}

/** Returns the query for the rows of one part, and their number when it was listed. Throws SourceError for an invalid part. */
function selectOf(source: SplitQuery, { key, detail }: SourcePart): { sql: string; rows: number } {
  const { condition, rows } = detail ?? {};
  if (typeof condition !== 'string' || typeof rows !== 'number') {
    throw new SourceError(`the part ${key} does not contain its rows`, { advice: 'startAgain' });
  }
  return { sql: `select * from ${rowsOf(source)} where ${condition} format JSONEachRow`, rows };
}

function kindOf(type: string): CursorKind {
  const bare = type.replaceAll(/^(?:(?:Nullable|LowCardinality)\()+/g, '');
  if (bare.startsWith('DateTime')) return 'time';
  if (bare.startsWith('Date')) return 'date';
  return /^U?Int(8|16|32|64)\b/.test(bare) ? 'integer' : 'other';
}

type Row = Awaited<ReturnType<Rows>>[number];

/** Sorts the oldest first, rows without a value last. */
function byBlock(kind: CursorKind): (a: Row, b: Row) => number {
  return ({ block: a }, { block: b }) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const isLess = kind === 'integer' ? BigInt(String(a)) < BigInt(String(b)) : String(a) < String(b);
    return isLess ? -1 : 1;
  };
}

/** The expression that all rows of one part share. */
function blockOf(kind: CursorKind, column: string, size: number): string {
  if (kind === 'time') return `toDate32(toTimeZone(${column}, 'UTC'))`;
  if (kind === 'date') return `toDate32(${column})`;
  if (kind === 'integer') return `toInt128(${column}) - positiveModulo(toInt128(${column}), ${size})`;
  return `if(isNull(${column}), null, '')`;
}

function conditionOf(kind: CursorKind, column: string, block: unknown, size: number): string {
  if (block === null) return `${column} is null`;
  const text = String(block);
  if (kind === 'other') return `${column} is not null`;
  if (kind === 'integer') {
    const start = BigInt(text);
    return `${column} >= toInt128('${start}') and ${column} < toInt128('${start + BigInt(size)}')`;
  }
  const start = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(start)) throw new SourceError(`expected a day from ClickHouse, got ${text.slice(0, 40)}`);
  if (kind === 'date') return `${column} = toDate32('${text}')`;
  return `${column} >= ${timeLiteral(start)} and ${column} < ${timeLiteral(start + dayMs)}`;
}

function keyOf(kind: CursorKind, block: unknown, { cursorColumn, partSize }: SplitQuery): string {
  if (block === null) return `without ${cursorColumn}`.slice(0, 500);
  const text = String(block);
  if (kind === 'integer') return `${text}..${BigInt(text) + BigInt(partSize)}`;
  return text === '' ? 'all' : text;
}

/** A date has no time of day: rows of the first day of a range may be before or after its start. */
function rangeCondition(kind: CursorKind, column: string, { from, to }: TimeRange): string {
  const time = `toDateTime64(${column}, 3, 'UTC')`;
  const start = (ms: number): number => (kind === 'date' ? startOfDay(ms) : ms);
  const parts = [
    ...(from === undefined ? [] : [`${time} >= ${timeLiteral(start(Date.parse(from)))}`]),
    ...(to === undefined ? [] : [`${time} < ${timeLiteral(Date.parse(to))}`]),
  ];
  return parts.join(' and ');
}

function timeLiteral(ms: number): string {
  return `toDateTime64('${new Date(ms).toISOString().replace('T', ' ').replace('Z', '')}', 3, 'UTC')`;
}

function quotedName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
