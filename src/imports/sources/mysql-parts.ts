import { dayMs } from '../../base/time.ts';
import { SourceError, type SourcePart, type TimeRange } from '../source.ts';
import { badPart, blockBounds, dayBounds, ofWholeDays, rangeNeedsTime } from './cursor-bounds.ts';
import type { MysqlColumn, MysqlRows } from './mysql-result.ts';
import { expressionOf } from './mysql-rows.ts';
import type { MysqlSession } from './mysql-session.ts';
import { mysqlTypes } from './mysql-types.ts';
import { rowsOf, type SplitQuery } from './sql-query.ts';

/** How a cursor can be split. */
type CursorKind = 'date' | 'datetime' | 'timestamp' | 'integer' | 'other';

/** The first moment of each kind of time; zero dates sort before it. A TIMESTAMP is only compared correctly with possible values. */
const firstTimes: ReadonlyMap<string, string> = new Map([
  ['date', '0001-01-01'],
  ['datetime', '0001-01-01 00:00:00'],
  ['timestamp', '1970-01-01 00:00:01'],
]);

const integerTypes: ReadonlySet<number> = new Set([
  mysqlTypes.tiny,
  mysqlTypes.short,
  mysqlTypes.long,
  mysqlTypes.int24,
  mysqlTypes.longlong,
  mysqlTypes.year,
]);

/**
 * Splits rows by their cursor: times by UTC day (dates wholly: each day that the range touches), integers into blocks at multiples
 * of `partSize`, anything else into one part. Rows without a value form a separate part, and so do rows with a zero date.
 */
export async function listRowParts(session: MysqlSession, source: SplitQuery, range: TimeRange): Promise<SourcePart[]> {
  const cursor = cursorIn(await columnsOf(session, source), source.cursorColumn);
  const kind = kindOf(cursor);
  const isRanged = range.from !== undefined || range.to !== undefined;
  if (isRanged && !firstTimes.has(kind)) {
    throw rangeNeedsTime(source.cursorColumn, kind === 'integer' ? 'a whole number' : 'of another type');
  }
  const parts = await partsByKind(session, source, kind, range);
  return isRanged ? parts : [...parts, ...(await restParts(session, source, kind))];
}

/** Returns the columns of the query, without reading rows. */
export async function columnsOf(session: MysqlSession, source: SplitQuery): Promise<readonly MysqlColumn[]> {
  return (await session.query(`select * from ${rowsOf(source)} limit 0`)).columns;
}

function cursorIn(columns: readonly MysqlColumn[], name: string): MysqlColumn {
  const found = columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  const names = columns.slice(0, 20).map((column) => column.name);
  throw new SourceError(
    `expected the cursor column "${name.slice(0, 60)}" in the query, which has the columns ${names.join(', ')}`,
  );
}

function kindOf({ type, decimals }: MysqlColumn): CursorKind {
  if (type === mysqlTypes.date) return 'date';
  if (type === mysqlTypes.datetime) return 'datetime';
  if (type === mysqlTypes.timestamp) return 'timestamp';
  const isInteger = integerTypes.has(type) || (type === mysqlTypes.newdecimal && decimals === 0);
  return isInteger ? 'integer' : 'other';
}

async function partsByKind(
  session: MysqlSession,
  source: SplitQuery,
  kind: CursorKind,
  range: TimeRange,
): Promise<SourcePart[]> {
  const column = quotedName(source.cursorColumn);
  if (kind === 'other') {
    const isEmpty = !(await hasRows(session, source, `${column} is not null`));
    return isEmpty ? [] : [{ key: 'all', stable: false, detail: { kind } }];
  }
  const first = firstTimes.get(kind);
  const lowest = first === undefined ? '' : ` where ${column} >= '${first}'`;
  const ends = await session.query(`select min(${column}), max(${column}) from ${rowsOf(source)}${lowest}`);
  const [low, high] = textsOf(ends);
  if (low === undefined || high === undefined) return [];
  const bounds =
    kind === 'integer'
      ? blockBounds(BigInt(low), BigInt(high), BigInt(source.partSize))
      : dayBounds(dayOf(low), dayOf(high), kind === 'date' ? ofWholeDays(range) : range);
  return bounds.map(({ key, from, to }) => ({ key, stable: false, detail: { kind, from, to } }));
}

function textsOf({ rows }: MysqlRows): readonly (string | undefined)[] {
  return (rows[0] ?? []).map((value) => value?.toString('utf8'));
}

/**
 * Returns the start of a day on or before which the server sorts a date, in ms since the epoch. Servers may contain dates that do
 * not exist: 2024-00-00 is after 2023-12-31, 2024-02-31 before 2024-03-01.
 */
function dayOf(text: string): number {
  const [year = NaN, month = NaN, day = NaN] = text.slice(0, 10).split('-').map(Number);
  const start = new Date(0);
  if (month === 0 || day === 0) start.setUTCFullYear(year, Math.max(month, 1) - 1, 1);
  else start.setUTCFullYear(year, month - 1, Math.min(day, daysIn(year, month)));
  if (Number.isNaN(start.getTime())) throw new SourceError(`expected a date from MySQL, got ${text.slice(0, 40)}`);
  return month === 0 || day === 0 ? start.getTime() - dayMs : start.getTime();
}

function daysIn(year: number, month: number): number {
  const last = new Date(0);
  last.setUTCFullYear(year, month, 0);
  return last.getUTCDate();
}

async function restParts(session: MysqlSession, source: SplitQuery, kind: CursorKind): Promise<SourcePart[]> {
  const { cursorColumn } = source;
  const rests = [
    ...(firstTimes.has(kind) ? [{ key: `zero in ${cursorColumn}`, kind: 'zero', before: kind }] : []),
    { key: `without ${cursorColumn}`, kind: 'null' },
  ];
  const found: SourcePart[] = [];
  for (const { key, ...detail } of rests) {
    const part = { key: key.slice(0, 500), stable: false, detail };
    if (await hasRows(session, source, conditionOf(source, part))) found.push(part);
  }
  return found;
}

async function hasRows(session: MysqlSession, source: SplitQuery, condition: string): Promise<boolean> {
  return (await session.query(`select 1 from ${rowsOf(source)} where ${condition} limit 1`)).rows.length > 0;
}

/** Returns the query for the rows of one part, in the order of the cursor. Throws SourceError for an invalid part. */
export function selectOf(source: SplitQuery, columns: readonly MysqlColumn[], part: SourcePart): string {
  const order = part.detail?.['kind'] === 'null' ? '' : ` order by ${quotedName(source.cursorColumn)}`;
  return `select ${listOf(columns)} from ${rowsOf(source)} where ${conditionOf(source, part)}${order}`;
}

/** Returns a query for the number of rows of the part and a checksum independent of their order. Throws SourceError. */
export function checksumOf(source: SplitQuery, columns: readonly MysqlColumn[], part: SourcePart): string {
  const values = columns.map((column) => {
    const name = quotedName(column.name);
    const value = column.type === mysqlTypes.json ? `cast(${name} as char)` : (expressionOf(column, name) ?? name);
    return `ifnull(md5(cast(${value} as binary)), '-')`;
  });
  // 60 bits of each row's hash: their sum is an exact decimal.
  const row = `cast(conv(left(md5(concat_ws(',', ${values.join(', ')})), 15), 16, 10) as unsigned)`;
  return `select count(*), coalesce(sum(${row}), 0) from ${rowsOf(source)} where ${conditionOf(source, part)}`;
}

function listOf(columns: readonly MysqlColumn[]): string {
  if (columns.every((column) => expressionOf(column, '') === undefined)) return '*';
  const named = columns.map((column) => {
    const name = quotedName(column.name);
    const expression = expressionOf(column, name);
    return expression === undefined ? name : `${expression} as ${name}`;
  });
  return named.join(', ');
}

function conditionOf({ cursorColumn }: SplitQuery, { key, detail }: SourcePart): string {
  const column = quotedName(cursorColumn);
  const { kind, from, to, before } = detail ?? {};
  if (kind === 'null') return `${column} is null`;
  if (kind === 'zero') return `${column} < '${firstTimes.get(String(before)) ?? ''}'`;
  if (kind === 'other') return `${column} is not null`;
  if (typeof kind !== 'string' || typeof from !== 'string' || typeof to !== 'string') throw badPart(key);
  return `${column} >= ${literalOf(kind, from, key)} and ${column} < ${literalOf(kind, to, key)}`;
}

function literalOf(kind: string, value: string, key: string): string {
  if (kind === 'integer' && /^-?\d+$/.test(value)) return value;
  const first = firstTimes.get(kind);
  if (first === undefined || !/^[\dT:.Z-]+$/.test(value)) throw badPart(key);
  const text = value.replace('T', ' ').replace('Z', '');
  return `'${text < first ? first : text}'`;
}

function quotedName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
