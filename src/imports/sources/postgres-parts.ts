import type { TimeRange } from '../source.ts';
import { SourceError, type SourcePart } from '../source.ts';
import { badPart, blockBounds, dayBounds, ofWholeDays, rangeNeedsTime } from './cursor-bounds.ts';
import type { PostgresSession } from './postgres-session.ts';
import { rowsOf, type SplitQuery } from './sql-query.ts';

export interface PostgresQuery extends SplitQuery {
  /** Cursor values are unique and existing rows never change: order and content are then always the same. */
  readonly stable: boolean;
}

const timeTypes = new Set(['date', 'timestamp without time zone', 'timestamp with time zone']);
const integerTypes = new Set(['smallint', 'integer', 'bigint']);

/**
 * Splits rows by their cursor column: times by UTC day (dates wholly: each day that the range touches), integers into blocks at
 * multiples of `partSize`, so that the same rows are in the same part whatever follows; anything else into one part. Rows without
 * a value form a separate part.
 */
export async function listRowParts(
  session: PostgresSession,
  source: PostgresQuery,
  range: TimeRange,
): Promise<SourcePart[]> {
  const column = quotedName(source.cursorColumn);
  const first = await session.query(`select pg_typeof(${column})::text from ${rowsOf(source)} limit 1`);
  const type = first.rows[0]?.[0] ?? undefined;
  if (type === undefined) return [];
  const ranged = range.from !== undefined || range.to !== undefined;
  if (ranged && !timeTypes.has(type)) throw rangeNeedsTime(source.cursorColumn, type);
  const parts = await partsByType(session, source, type, range);
  return ranged ? parts : [...parts, ...(await nullPart(session, source))];
}

async function partsByType(
  session: PostgresSession,
  source: PostgresQuery,
  type: string,
  range: TimeRange,
): Promise<SourcePart[]> {
  const { stable } = source;
  if (!timeTypes.has(type) && !integerTypes.has(type)) return [{ key: 'all', stable, detail: { type } }];
  const column = quotedName(source.cursorColumn);
  const ends = await session.query(`select min(${column})::text, max(${column})::text from ${rowsOf(source)}`);
  const [low, high] = ends.rows[0] ?? [];
  if (typeof low !== 'string' || typeof high !== 'string') return [];
  const bounds = timeTypes.has(type)
    ? dayBounds(timeOf(low), timeOf(high), type === 'date' ? ofWholeDays(range) : range)
    : blockBounds(BigInt(low), BigInt(high), BigInt(source.partSize));
  return bounds.map(({ key, from, to }) => ({ key, stable, detail: { type, from, to } }));
}

function timeOf(text: string): number {
  const ms = /^\d{4}-/.test(text) ? Date.parse(`${text.slice(0, 10)}T00:00:00Z`) : NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new SourceError(
    `expected times from the year 0001 to 9999 in the cursor column, got ${text}; exclude such rows in the query`,
  );
}

async function nullPart(session: PostgresSession, source: PostgresQuery): Promise<SourcePart[]> {
  const column = quotedName(source.cursorColumn);
  const some = await session.query(`select 1 from ${rowsOf(source)} where ${column} is null limit 1`);
  if (some.rows.length === 0) return [];
  return [{ key: `without ${source.cursorColumn}`.slice(0, 500), stable: false, detail: { type: 'null' } }];
}

/** Returns the query for the rows of one part, in the order of the cursor. Throws SourceError for an invalid part. */
export function selectOf(source: PostgresQuery, part: SourcePart): string {
  const order = part.detail?.['type'] === 'null' ? '' : ` order by ${quotedName(source.cursorColumn)}`;
  return `select * from ${rowsOf(source)} where ${conditionOf(source, part)}${order}`;
}

/** Returns a query for the number of rows of the part and a checksum independent of their order. Throws SourceError. */
export function checksumOf(source: PostgresQuery, part: SourcePart): string {
  return (
    'select count(*)::text, coalesce(sum(hashtextextended(source_rows::text, 0)), 0)::text ' +
    `from ${rowsOf(source)} where ${conditionOf(source, part)}`
  );
}

function conditionOf({ cursorColumn }: PostgresQuery, { key, detail }: SourcePart): string {
  const column = quotedName(cursorColumn);
  const { type, from, to } = detail ?? {};
  if (type === 'null') return `${column} is null`;
  if (typeof type === 'string' && from === undefined) return `${column} is not null`;
  if (typeof type !== 'string' || typeof from !== 'string' || typeof to !== 'string') throw badPart(key);
  return `${column} >= ${literalOf(type, from, key)} and ${column} < ${literalOf(type, to, key)}`;
}

function literalOf(type: string, value: string, key: string): string {
  if (integerTypes.has(type) && /^-?\d+$/.test(value)) return `(${value})`;
  if (!timeTypes.has(type) || !/^[\dT:.Z-]+$/.test(value)) throw badPart(key);
  return type === 'timestamp with time zone' ? `timestamptz '${value}'` : `timestamp '${value.replace('Z', '')}'`;
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
