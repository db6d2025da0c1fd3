import type { StoreReader } from './eventstore.ts';
import { timeConditions, type Conditions } from './filters.ts';
import {
  createPartsReader,
  type PartsReader,
  type TimeColumn,
  type TimeRange,
  type StoredPart,
} from './stored-parts.ts';

/** What is counted of a project's events. */
export interface CountQuestion {
  /** SQL of what is counted apart, besides live and historical: an interval, and a name. */
  readonly bucket: string;
  readonly name: string;
  /** Of project and filters, without times; the parameters are those of `bucket` and `name`, too. */
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

/** More cells than these are no answer to one question. */
export const countRowsMax = 50_000;
const keptCellsMax = 100_000;
/** Days change while we count: an insert of late events, a merge. */
const attempts = 3;

/** May go before the merge of duplicates because it speaks of the identity only, which they share. */
const ofDays = 'project_id = {project:Int32} AND day IN (SELECT toDate32(arrayJoin({days:Array(Int32)})))';

/**
 * Counts exactly, each event once, without reading all events at every question: parts of the table never change, so what was
 * counted of the days of some parts stands for as long as those are the parts of these days. Read are days whose parts are new, and
 * those that a bound of time cuts. One of these for a store and all questions to it.
 */
export class KeptCounts {
  readonly #store: StoreReader;
  readonly #parts: PartsReader;
  /** The one used last comes last. */
  readonly #kept = new Map<string, Cells>();
  #keptCells = 0;

  constructor(store: StoreReader) {
    this.#store = store;
    this.#parts = createPartsReader(store);
  }

  /** Undefined: it has to be counted in another way, since the store's parts cannot be told or the answer is too large. */
  async count(question: CountQuestion): Promise<Cells | undefined> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const parts = await this.#parts(isBounded(question) ? question.time.column : undefined);
      if (parts === undefined) return undefined;
      const cells = await this.#countOnce(question, daySpans(parts));
      if (cells !== 'changed') return cells;
    }
    return undefined;
  }

  async #countOnce(question: CountQuestion, spans: readonly DaySpan[]): Promise<Cells | undefined | 'changed'> {
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

  /** False: days that were read without looking for duplicates have other parts by now, and may have had them when they were read. */
  async #keep(of: string, read: ReadonlyMap<DaySpan, Cells>, distinct: readonly DaySpan[]): Promise<boolean> {
    const parts = await this.#parts();
    if (parts === undefined) return false;
    const keys = new Set(daySpans(parts).map(({ key }) => key));
    for (const [span, cells] of read) if (keys.has(span.key)) this.#remember(`${of} ${span.key}`, cells);
    return distinct.every(({ key }) => keys.has(key));
  }

  /** Cells of each of these spans. Undefined: there are too many. */
  async #read(
    { bucket, name, where, time }: CountQuestion,
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

/** Keys take memory, too. */
function sizeOf(cells: Cells): number {
  return cells.length + 1;
}

function isBounded({ time }: CountQuestion): boolean {
  return time.after !== undefined || time.before !== undefined;
}

/** Where a span lies beside the bounds of time. */
function placeOf({ parts }: DaySpan, question: CountQuestion): 'inside' | 'outside' | 'cut' {
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

/** A span is of one month at most, since a part is; and a set of days is quicker to look in than many ranges. */
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

/** One cell for each bucket, name and kind. */
export function summed(cells: Iterable<CountCell>): CountCell[] {
  const sums = new Map<string, CountCell>();
  for (const cell of cells) {
    const key = `${cell.bucket} ${cell.historical} ${cell.name}`;
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? cell : { ...cell, count: sum.count + cell.count });
  }
  return [...sums.values()];
}

/** Days of the events' identity of which the same parts hold rows. Two spans never hold rows of one event. */
interface DaySpan {
  /** Of these days and parts: what is read of them is the same for as long as there is such a span. */
  readonly key: string;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly parts: readonly StoredPart[];
  /** No event is in it twice, so that it can be read without looking for duplicates. */
  readonly isDistinct: boolean;
}

/** All days of which the parts hold rows, in spans as long as possible; ascending. */
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
