import { parseExactValues } from '../../../../base/exact-json.ts';
import type { JsonObject } from '../../../../base/json.ts';
import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import type { RowBatch } from '../../../../stores/events/eventstore.ts';
import { textAt } from '../../../../stores/events/native-columns.ts';
import { EventRowWriter, type RowPieces } from '../../../../stores/events/rows.ts';
import { createColumnFacts, type ColumnFacts } from './column-facts.ts';
import { personEffect, rowWords as word, wordsPerRow, type ConvertedRows } from './converted-rows.ts';
import { createFacts, type Facts } from './facts.ts';
import { checksumDigits, contentDigits } from '../../../checksum.ts';
import { dayOfMicros } from '../segment/event-times.ts';

/** Counts and checksums of the written rows by day and name; those of the run's table must be equal. */
interface DaySums {
  add(event: EventSums): void;
  /** `names` maps the indices to names. */
  list(names: readonly string[]): readonly {
    /** YYYY-MM-DD in UTC. */
    readonly day: string;
    readonly event: string;
    readonly count: number;
    readonly checksum: string;
    readonly content: string;
  }[];
}

interface Sum {
  readonly day: number;
  readonly name: number;
  count: number;
  low: number;
  high: number;
  contentLow: number;
  contentHigh: number;
}

function createDaySums(): DaySums {
  const byDay = new Map<number, Map<number, Sum>>();
  // Consecutive rows often have the same day and name.
  let last: Sum | undefined;
  const find = (day: number, name: number): Sum => {
    const names = byDay.get(day) ?? new Map<number, Sum>();
    if (names.size === 0) byDay.set(day, names);
    const found = names.get(name) ?? { day, name, count: 0, low: 0, high: 0, contentLow: 0, contentHigh: 0 };
    if (found.count === 0) names.set(name, found);
    return found;
  };
  return {
    add: ({ micros, name, sumLow, sumHigh, contentLow, contentHigh }) => {
      const day = Math.floor(micros / dayMicros);
      if (last?.day !== day || last.name !== name) last = find(day, name);
      last.count += 1;
      last.low ^= sumLow;
      last.high ^= sumHigh;
      last.contentLow ^= contentLow;
      last.contentHigh ^= contentHigh;
    },
    list: (names) =>
      [...byDay].flatMap(([day, sums]) =>
        [...sums.values()].map((sum) => ({
          day: dayOfMicros(day * dayMicros),
          event: names[sum.name] ?? '',
          count: sum.count,
          checksum: checksumDigits(sum.low, sum.high),
          content: contentDigits(sum.contentLow, sum.contentHigh),
        })),
      ),
  };
}

/** Collects the rows of one segment for the table of the run, with their facts about persons and groups. */
export interface SegmentRows {
  /** Adds an event that was read as an object. */
  add(event: RowEvent, sums: EventSums): void;
  /** Adds an event that may merge persons, as bytes. */
  addPacked(row: Omit<RowPieces, 'importRun'>, sums: EventSums): void;
  /** Adds rows of the converter. */
  addConverted(rows: ConvertedRows): void;
  /** Rows since the last `take`. */
  readonly count: number;
  /** Returns all rows and starts again. `names` maps the indices of names. */
  take(names: readonly string[]): RowsOfSegment;
}

/** What an event adds to the checksums of its day and name (src/imports/checksum.ts), and its time and place. */
export interface EventSums {
  /** Time, in µs since the epoch. */
  readonly micros: number;
  /** `received_at`, in µs since the epoch. */
  readonly place: number;
  /** Index of its name in the segment. */
  readonly name: number;
  readonly sumLow: number;
  readonly sumHigh: number;
  readonly contentLow: number;
  readonly contentHigh: number;
}

/** An event as stored. */
export interface RowEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** JSON of the properties with the mark of the run. */
  readonly text: string;
  /** The properties as an object. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Can be sent between threads. */
export interface RowsOfSegment {
  readonly rows: RowBatch;
  /** `undefined` if the run needs no facts. */
  readonly facts: RowBatch | undefined;
  readonly sums: readonly DaySum[];
}
export type DaySum = ReturnType<DaySums['list']>[number];

export interface SegmentRowsOptions {
  readonly projectId: number;
  readonly runId: string;
  /** Whether persons and groups are updated from facts. */
  readonly wantsFacts: boolean;
  /** Bytes of the records, if known. */
  readonly sourceBytes?: number;
}

export function createSegmentRows(options: SegmentRowsOptions): SegmentRows {
  return new Rows(options);
}

class Rows implements SegmentRows {
  readonly #options: SegmentRowsOptions;
  readonly #writer: EventRowWriter;
  readonly #facts: SegmentFacts | undefined;
  #sums = createDaySums();
  readonly #rowSums = { micros: 0, place: 0, name: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0 };

  constructor(options: SegmentRowsOptions) {
    this.#options = options;
    const { sourceBytes } = options;
    // Properties are larger than their records, because person properties are in them twice.
    this.#writer = new EventRowWriter(undefined, sourceBytes === undefined ? undefined : sourceBytes * 2);
    this.#facts = options.wantsFacts ? new SegmentFacts(options) : undefined;
  }

  get count(): number {
    return this.#writer.rows;
  }

  add({ uuid, event, distinctId, text, properties }: RowEvent, sums: EventSums): void {
    const { projectId, runId: importRun } = this.#options;
    const { micros: timestampMicros, place: receivedAtMicros } = sums;
    const keyDay = Math.floor(timestampMicros / dayMicros);
    const numbers = { projectId, historical: true, receivedAtMicros, timestampMicros, keyDay };
    this.#writer.write({ ...numbers, uuid, event, distinctId, properties: text, importRun });
    this.#facts?.ofObjects.add({
      uuid,
      event,
      distinctId,
      micros: timestampMicros,
      place: receivedAtMicros,
      properties,
    });
    this.#sums.add(sums);
  }

  addPacked(row: Omit<RowPieces, 'importRun'>, sums: EventSums): void {
    const { projectId, runId: importRun } = this.#options;
    const { micros: timestampMicros, place: receivedAtMicros } = sums;
    const keyDay = Math.floor(timestampMicros / dayMicros);
    const numbers = { projectId, historical: true, receivedAtMicros, timestampMicros, keyDay };
    this.#writer.addRow(numbers, { ...row, importRun });
    // Such an event is always a fact.
    this.#facts?.writer.addRow(numbers, { ...row, importRun });
    this.#sums.add(sums);
  }

  addConverted(rows: ConvertedRows): void {
    const { projectId, runId: importRun } = this.#options;
    const at = { row: this.#writer.rows, ...this.#writer.end };
    const receivedAtMicros = rows.places;
    this.#writer.addColumns(rows.columns, { projectId, historical: true, importRun, receivedAtMicros });
    this.#addSums(rows);
    this.#facts?.add(rows, at);
  }

  take(names: readonly string[]): RowsOfSegment {
    // Facts are built from the columns of the rows.
    const facts = this.#facts?.take(this.#writer);
    const taken = { rows: this.#writer.take(), facts, sums: this.#sums.list(names) };
    this.#sums = createDaySums();
    return taken;
  }

  #addSums({ words, micros, places, names, columns: { rows } }: ConvertedRows): void {
    const sums = this.#rowSums;
    for (let row = 0; row < rows; row += 1) {
      const first = row * wordsPerRow;
      sums.micros = micros[row] as number;
      sums.place = places[row] as number;
      sums.name = names[row] as number;
      sums.sumLow = words[first + word.sumLow] as number;
      sums.sumHigh = words[first + word.sumHigh] as number;
      sums.contentLow = words[first + word.contentLow] as number;
      sums.contentHigh = words[first + word.contentHigh] as number;
      this.#sums.add(sums);
    }
  }
}

/** Facts of both kinds of rows. A fact may occur once in each kind. */
class SegmentFacts {
  readonly ofObjects: Facts;
  readonly #ofColumns: ColumnFacts;
  readonly writer = new EventRowWriter();

  constructor(of: SegmentRowsOptions) {
    this.ofObjects = createFacts(of, this.writer);
    this.#ofColumns = createColumnFacts(of);
  }

  add(rows: ConvertedRows, at: Parameters<ColumnFacts['add']>[1]): void {
    this.#ofColumns.add(rows, at);
    for (let row = 0; row < rows.columns.rows; row += 1) {
      if (rows.personEffects[row] === personEffect.other) this.ofObjects.add(eventOf(rows, row));
    }
  }

  take(rows: EventRowWriter): RowBatch {
    this.#ofColumns.write(rows, this.writer);
    this.ofObjects.write();
    return this.writer.take();
  }
}

function eventOf({ columns, words, micros, places }: ConvertedRows, row: number) {
  const wordOf = (index: number): number => words[row * wordsPerRow + index] as number;
  const from = wordOf(word.properties);
  const properties = Buffer.from(columns.properties.buffer, columns.properties.byteOffset + from);
  return {
    uuid: uuidIn(columns.uuid, row),
    event: textIn(columns.event, wordOf(word.event)),
    distinctId: textIn(columns.distinctId, wordOf(word.id)),
    micros: micros[row] as number,
    place: places[row] as number,
    properties: parseExactValues(properties.toString('utf8', 0, wordOf(word.propertiesBytes))) as JsonObject,
  };
}

function textIn(column: Uint8Array, at: number): string {
  const { from, to } = textAt(column, at);
  return Buffer.from(column.buffer, column.byteOffset + from, to - from).toString();
}

/** The engine stores two little-endian halves. */
function uuidIn(column: Uint8Array, row: number): string {
  const halves = [0, 8].map((half) => column.slice(row * 16 + half, row * 16 + half + 8).toReversed());
  const digits = halves.map((half) => Buffer.from(half).toString('hex')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
