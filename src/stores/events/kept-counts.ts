import type { StoreReader } from './eventstore.ts';
import { timeConditions, type Conditions } from './filters.ts';
import {
  createPartsReader,
  type PartsReader,
  type TimeColumn,
  type TimeRange,
  type StoredPart,
} from './stored-parts.ts';

/** Which events of a project to count, and how. */
export interface CountQuery {
  /** SQL of the dimensions besides live and historical: an interval, and a name. */
  readonly bucket: string;
  readonly name: string;
  /** Conditions of project and filters, without times; the parameters include those of `bucket` and `name`. */
  readonly where: Conditions;
  readonly time: {
    readonly column: TimeColumn;
    /** µs since the epoch, inclusive and exclusive. */
    readonly after?: bigint | undefined;
    readonly before?: bigint | undefined;
  };
}

export interface CountCell {
  readonly bucket: string;
  readonly name: string;
  readonly historical: boolean;
  readonly count: number;
}

type Cells = readonly CountCell[];

/** Maximum of cells in a response. */
export const countRowsMax = 50_000;
const keptCellsMax = 100_000;
/** Attempts: days may change while they are counted, by an insert of late events or a merge. */
const attempts = 3;

/** May be applied before duplicates are merged because it only concerns the identity, which they share. */
const ofDays = 'project_id = {project:Int32} AND day IN (SELECT toDate32(arrayJoin({days:Array(Int32)})))';

/**
 * Counts exactly, each event once, without reading all events for every query: parts of the table never change, so the counts of a range
 * of days stay valid as long as its parts are the same. Only days with new parts, and those cut by a time bound, are read. One
 * instance serves all queries of a store.
 */
export class KeptCounts {
  readonly #store: StoreReader;
  readonly #parts: PartsReader;
  /** Ordered by last use. */
  readonly #kept = new Map<string, Cells>();
  #keptCells = 0;

  constructor(store: StoreReader) {
    this.#store = store;
    this.#parts = createPartsReader(store);
  }

  /** Returns undefined if the store's parts are unknown or the result is too large, so that another method has to count. */
  async count(question: CountQuery): Promise<Cells | undefined> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const parts = await this.#parts(isBounded(question) ? question.time.column : undefined);
      if (parts === undefined) return undefined;
      const cells = await this.#countOnce(question, daySpans(parts));
      if (cells !== 'changed') return cells;
    }
    return undefined;
  }

  async #countOnce(question: CountQuery, spans: readonly DaySpan[]): Promise<Cells | undefined | 'changed'> {
    const of = JSON.stringify([question.bucket, question.name, question.where], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    const places = spans.map((span) => [span, placeOf(span, question)] as const);
    const cut = places.filter(([, place]) => place === 'cut').map(([span]) => span);
    const whole = places.filter(([, place]) => place === 'inside').map(([span]) => span);
    const found = whole.map((span) => [span, this.#recall(`${of} ${span.key}`)] as const);
    const missing = found.filter(([, cells]) => cells === undefined).map(([span]) => span);
    const distinct = missing.filter(({ isDistinct }) => isDistinct);
    const doubled = missing.filter(({ isDistinct }) => !isDistinct);
    const [plain, final, bounded] = await Promise.all([
      this.#read(question, distinct, { isFinal: false, withTime: false }),
      this.#read(question, doubled, { isFinal: true, withTime: false }),
      this.#read(question, cut, { isFinal: true, withTime: true }),
    ]);
    if (plain === undefined || final === undefined || bounded === undefined) return undefined;
    const read = new Map([...plain, ...final]);
    if (missing.length > 0 && !(await this.#keep(of, read, distinct))) return 'changed';
    const known = found.map(([span, cells]) => cells ?? read.get(span) ?? []);
    return summed([...known, ...bounded.values()].flat());
  }

  /** Returns false if days that were read without removing duplicates have changed, possibly before they were read. */
  async #keep(of: string, read: ReadonlyMap<DaySpan, Cells>, distinct: readonly DaySpan[]): Promise<boolean> {
    const parts = await this.#parts();
    if (parts === undefined) return false;
    const keys = new Set(daySpans(parts).map(({ key }) => key));
    for (const [span, cells] of read) if (keys.has(span.key)) this.#remember(`${of} ${span.key}`, cells);
    return distinct.every(({ key }) => keys.has(key));
  }

  /** Returns the cells of each span; undefined if there are too many. */
  async #read(
    { bucket, name, where, time }: CountQuery,
    spans: readonly DaySpan[],
    { isFinal, withTime }: { readonly isFinal: boolean; readonly withTime: boolean },
  ): Promise<ReadonlyMap<DaySpan, Cells> | undefined> {
    if (spans.length === 0) return new Map();
    const bounds = withTime ? timeConditions(time.column, time.after, time.before) : { sql: [], params: {} };
    const others = [...where.sql, ...bounds.sql].join(' AND ');
    const rows = await this.#store.query<CellRow>(
      `SELECT roundDown(toInt32(day), {starts:Array(Int32)}) AS span, ${bucket} AS bucket, ${name} AS name,
  historical_migration, count() AS events
FROM events ${isFinal ? `FINAL PREWHERE ${ofDays} WHERE` : `WHERE ${ofDays} AND`} ${others}
GROUP BY span, bucket, name, historical_migration
LIMIT ${countRowsMax + 1}`,
      {
        ...where.params,
        ...bounds.params,
        days: daysOf(spans),
        starts: spans.map(({ firstDay }) => firstDay),
      },
    );
    return rows.length > countRowsMax ? undefined : bySpan(rows, spans);
  }

  #recall(key: string): Cells | undefined {
    const cells = this.#kept.get(key);
    if (cells === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, cells);
    return cells;
  }

  #remember(key: string, cells: Cells): void {
    this.#forget(key);
    this.#kept.set(key, cells);
    this.#keptCells += sizeOf(cells);
    for (const oldest of this.#kept.keys()) {
      if (this.#keptCells <= keptCellsMax) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const cells = this.#kept.get(key);
    if (cells === undefined) return;
    this.#kept.delete(key);
    this.#keptCells -= sizeOf(cells);
  }
}

interface CellRow {
  readonly span: number;
  readonly bucket: string;
  readonly name: string;
  readonly historical_migration: boolean;
  readonly events: string;
}

/** Includes the memory of keys. */
function sizeOf(cells: Cells): number {
  return cells.length + 1;
}

function isBounded({ time }: CountQuery): boolean {
  return time.after !== undefined || time.before !== undefined;
}

/** Returns how a span relates to the time bounds. */
function placeOf({ parts }: DaySpan, question: CountQuery): 'inside' | 'outside' | 'cut' {
  if (!isBounded(question)) return 'inside';
  const { column, after, before } = question.time;
  const isOutside = ({ first, last }: TimeRange): boolean =>
    (after !== undefined && last < after) || (before !== undefined && first >= before);
  const isInside = ({ first, last }: TimeRange): boolean =>
    (after === undefined || first >= after) && (before === undefined || last < before);
  const ranges = parts.map((part) => part.times[column]);
  if (ranges.every((range) => range !== undefined && isOutside(range))) return 'outside';
  return ranges.every((range) => range !== undefined && isInside(range)) ? 'inside' : 'cut';
}

/** Returns the days of spans, at most a month each, like parts; a set of days is faster to search than many ranges. */
function daysOf(spans: readonly DaySpan[]): number[] {
  return spans.flatMap(({ firstDay, lastDay }) =>
    Array.from({ length: lastDay - firstDay + 1 }, (_, at) => firstDay + at),
  );
}

function bySpan(rows: readonly CellRow[], spans: readonly DaySpan[]): ReadonlyMap<DaySpan, Cells> {
  const byStart = new Map(spans.map((span) => [span.firstDay, { span, cells: [] as CountCell[] }]));
  for (const { span, bucket, name, historical_migration: historical, events } of rows) {
    byStart.get(span)?.cells.push({ bucket, name, historical, count: Number(events) });
  }
  return new Map([...byStart.values()].map(({ span, cells }) => [span, cells]));
}

/** Sums to one cell per bucket, name and kind. */
export function summed(cells: Iterable<CountCell>): CountCell[] {
  const sums = new Map<string, CountCell>();
  for (const cell of cells) {
    const key = `${cell.bucket} ${cell.historical} ${cell.name}`;
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? cell : { ...cell, count: sum.count + cell.count });
  }
  return [...sums.values()];
}

/** Days of the events' identity whose rows are in the same parts. Two spans never contain rows of the same event. */
interface DaySpan {
  /** Identifies days and parts: their counts stay valid as long as such a span exists. */
  readonly key: string;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly parts: readonly StoredPart[];
  /** Whether no event is in it twice, so that it can be read without removing duplicates. */
  readonly isDistinct: boolean;
}

/** Returns all days with rows, in spans that are as long as possible, ascending. */
export function daySpans(parts: readonly StoredPart[]): DaySpan[] {
  const bounds = new Set(parts.flatMap(({ firstDay, lastDay }) => [firstDay, lastDay + 1]));
  const starts = [...bounds].sort((left, right) => left - right);
  const coming = parts.toSorted((left, right) => left.firstDay - right.firstDay);
  const spans: DaySpan[] = [];
  let next = 0;
  let present: StoredPart[] = [];
  for (const [at, firstDay] of starts.entries()) {
    present = present.filter((part) => part.lastDay >= firstDay);
    for (; coming[next]?.firstDay === firstDay; next++) present.push(coming[next] as StoredPart);
    const end = starts[at + 1];
    if (end !== undefined && present.length > 0) spans.push(spanOf(firstDay, end - 1, [...present]));
  }
  return spans;
}

function spanOf(firstDay: number, lastDay: number, parts: readonly StoredPart[]): DaySpan {
  const ids = parts.map(({ id }) => id).sort((left, right) => left - right);
  const key = `${firstDay} ${lastDay} ${ids.join(' ')}`;
  return { key, firstDay, lastDay, parts, isDistinct: parts.length === 1 && parts[0]?.isMerged === true };
}
