import { startOfDay } from '../../base/time.ts';
import { SourceError, type TimeRange } from '../source.ts';
import { rangeNeedsTime } from './cursor-bounds.ts';
import { rowsOf, type SqlQuery } from './sql-query.ts';

/** Writes a time, in ms since the epoch, as a literal of a type; it is one end of a range. */
export type Literal = (ms: number, end: 'from' | 'to') => string;

/** How a warehouse writes names and times. */
export interface RangeDialect {
  quote(column: string): string;
  /** By type of a column, in the words of the warehouse. */
  readonly literals: ReadonlyMap<string, Literal>;
}

export interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

export function everyRow(query: SqlQuery): string {
  return `select * from ${rowsOf(query)}`;
}

export function isWhole({ from, to }: TimeRange): boolean {
  return from === undefined && to === undefined;
}

/** Returns the query for the rows of a range. Throws SourceError if the cursor cannot select it. */
export function rangedQuery(
  query: SqlQuery,
  { from, to }: TimeRange,
  columns: readonly ResultColumn[],
  { quote, literals }: RangeDialect,
): string {
  const { cursorColumn } = query;
  const column = columns.find(({ name }) => name.toLowerCase() === cursorColumn.toLowerCase());
  if (column === undefined) {
    const names = columns.slice(0, 20).map(({ name }) => name);
    throw new SourceError(
      `"from" and "to" need a cursor column of the query, which has the columns ${names.join(', ')}; got "${cursorColumn}"`,
    );
  }
  const limit = literals.get(column.type);
  if (limit === undefined) throw rangeNeedsTime(cursorColumn, column.type);
  const quoted = quote(column.name);
  const conditions = [
    ...(from === undefined ? [] : [`${quoted} >= ${limit(Date.parse(from), 'from')}`]),
    ...(to === undefined ? [] : [`${quoted} < ${limit(Date.parse(to), 'to')}`]),
  ];
  return `${everyRow(query)} where ${conditions.join(' and ')}`;
}

/** Returns the day of one end of a range. A date has no time of day: the first and the last day that a range touches belong to it. */
export function dayOf(ms: number, end: 'from' | 'to'): string {
  return new Date(startOfDay(end === 'from' ? ms : ms + 86_399_999)).toISOString().slice(0, 10);
}

/** Returns a time in UTC without a zone. */
export function withoutZone(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '');
}
