import { dayMs, startOfDay } from '../../base/time.ts';
import { SourceError, type SourcePart, type TimeRange } from '../source.ts';

export interface ClickhouseQuery {
  /** A select, without a semicolon. */
  readonly query: string;
  readonly cursorColumn: string;
  /** Values of an integer cursor that make one part. */
  readonly partSize: number;
}

type Rows = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** What a cursor can be cut by. */
type CursorKind = 'date' | 'time' | 'integer' | 'other';

const partsMax = 100_000;

/**
 * Cuts rows by their cursor: times by UTC day (dates wholly: each day that the range touches), integers into blocks at multiples of `partSize`, anything else is one part; rows
 * without a value make a part of their own. The identity of a part is the number of its rows and a checksum over all of them.
 */
export async function listRowParts(rows: Rows, source: ClickhouseQuery, range: TimeRange): Promise<SourcePart[]> {
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

/** The rows of one part, and how many there were when it was listed. Throws SourceError for a part that does not say it. */
export function selectOf(source: ClickhouseQuery, { key, detail }: SourcePart): { sql: string; rows: number } {
  const { condition, rows } = detail ?? {};
  if (typeof condition !== 'string' || typeof rows !== 'number') {
    throw new SourceError(`the part ${key} does not say its rows`, { advice: 'startAnew' });
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

/** The oldest first, rows without a value last. */
function byBlock(kind: CursorKind): (a: Row, b: Row) => number {
  return ({ block: a }, { block: b }) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const isLess = kind === 'integer' ? BigInt(String(a)) < BigInt(String(b)) : String(a) < String(b);
    return isLess ? -1 : 1;
  };
}

/** What rows of one part have in common. */
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

function keyOf(kind: CursorKind, block: unknown, { cursorColumn, partSize }: ClickhouseQuery): string {
  if (block === null) return `without ${cursorColumn}`.slice(0, 500);
  const text = String(block);
  if (kind === 'integer') return `${text}..${BigInt(text) + BigInt(partSize)}`;
  return text === '' ? 'all' : text;
}

/** A date says nothing of the time: rows of the day on which a range begins may be of before and of after. */
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

function rowsOf({ query }: ClickhouseQuery): string {
  return `(\n${query}\n) as source_rows`;
}

function quotedName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
