import type { RowBatch } from './eventstore.ts';
import { blockHead, columnHead, FixedColumn, TextColumn } from './native-columns.ts';
import { findRun, runOfProperties } from './run-marker.ts';

/**
 * Columns of an insert, in the order in which EventRowWriter writes them. `event` and `import_run` are dictionaries in the table;
 * plain strings cost the engine no more than a prepared dictionary.
 */
const columnTypes = {
  project_id: 'Int32',
  day: 'Date32',
  uuid: 'UUID',
  timestamp: "DateTime64(6, 'UTC')",
  received_at: "DateTime64(6, 'UTC')",
  historical_migration: 'Bool',
  event: 'String',
  distinct_id: 'String',
  properties: 'String',
  import_run: 'String',
} as const;

type ColumnName = keyof typeof columnTypes;

export const eventColumns = Object.keys(columnTypes) as readonly ColumnName[];

interface RowNumbers {
  /** 32-bit. */
  readonly projectId: number;
  readonly historical: boolean;
  /** µs since the epoch, a whole number. */
  readonly receivedAtMicros: number;
  /** µs since the epoch after clock correction, a whole number; may be negative. */
  readonly timestampMicros: number;
  /** Day number (since the epoch) of the client timestamp, part of the event's identity. Clamped to 1900..2299. */
  readonly keyDay: number;
}

export interface EventRow extends RowNumbers {
  /** 36 characters of a validated UUID. */
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** JSON text of an object. */
  readonly properties: string;
  /** The run named by the properties. If `undefined`, it is searched in their text. */
  readonly importRun?: string | undefined;
}

/** A row whose texts are in a body as received. Ranges are byte offsets, [from, to). The object may be reused. */
export interface SplicedRow extends RowNumbers {
  /** Valid UTF-8. */
  readonly json: Buffer;
  /** Offset of the 36 characters of a validated UUID. */
  readonly uuidFrom: number;
  /** String contents without quotes and escapes. */
  readonly eventFrom: number;
  readonly eventTo: number;
  readonly idFrom: number;
  readonly idTo: number;
  /** A JSON object, braces included. */
  readonly propsFrom: number;
  readonly propsTo: number;
  /** Members to insert after the `{`, ending in a comma, or empty. With members, the object must not be empty. */
  readonly propsPrefix: Uint8Array;
}

/** Rows in column layout, texts with their lengths. Views of memory that may be reused. */
export interface RowColumns {
  readonly rows: number;
  readonly day: Uint8Array;
  readonly uuid: Uint8Array;
  readonly timestamp: Uint8Array;
  readonly event: Uint8Array;
  readonly distinctId: Uint8Array;
  readonly properties: Uint8Array;
}

/** A row as bytes: its UUID in the engine's form, and its texts. */
export interface RowPieces {
  readonly uuid: Uint8Array;
  readonly event: Uint8Array;
  readonly distinctId: Uint8Array;
  readonly properties: readonly Uint8Array[];
  readonly importRun: string;
}

/** Values shared by rows of columns, and the receipt time of each in µs since the epoch. */
export interface ColumnNumbers extends Pick<RowNumbers, 'projectId' | 'historical'> {
  readonly importRun: string;
  readonly receivedAtMicros: Float64Array;
}

const date32First = -25_567; // 1900-01-01
const date32Last = 120_529; // 2299-12-31
const firstRows = 1 << 10;
const firstTextBytes = 1 << 14;

/** Bytes before the values of each column, in column order. */
export const columnHeads: readonly Uint8Array[] = eventColumns.map((name) => columnHead(name, columnTypes[name]));

/** Value of a hex digit by its character code. */
const hexValue = new Uint8Array(256);
for (let value = 0; value < 16; value++) {
  hexValue[value.toString(16).charCodeAt(0)] = value;
  hexValue[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** Value of four hex digits. */
function hex16(text: Uint8Array, from: number): number {
  return (
    ((hexValue[text[from] as number] as number) << 12) |
    ((hexValue[text[from + 1] as number] as number) << 8) |
    ((hexValue[text[from + 2] as number] as number) << 4) |
    (hexValue[text[from + 3] as number] as number)
  );
}

/** The memory of one batch, reused for a later one. */
class Columns {
  capacity = firstRows;
  readonly projectId = new FixedColumn(4, firstRows);
  readonly day = new FixedColumn(4, firstRows);
  readonly uuid = new FixedColumn(16, firstRows);
  readonly timestamp = new FixedColumn(8, firstRows);
  readonly receivedAt = new FixedColumn(8, firstRows);
  readonly historical = new FixedColumn(1, firstRows);
  readonly event = new TextColumn(firstTextBytes);
  readonly distinctId = new TextColumn(firstTextBytes);
  readonly properties: TextColumn;
  readonly importRun = new TextColumn(firstTextBytes);

  /** @param propertiesBytes expected size of all properties */
  constructor(propertiesBytes = firstTextBytes) {
    this.properties = new TextColumn(propertiesBytes);
  }

  grow(rows: number): void {
    this.capacity *= 2;
    const { projectId, day, uuid, timestamp, receivedAt, historical } = this;
    for (const column of [projectId, day, uuid, timestamp, receivedAt, historical]) column.reserve(this.capacity, rows);
  }

  clear(): void {
    this.event.clear();
    this.distinctId.clear();
    this.properties.clear();
    this.importRun.clear();
  }

  /** In the order of eventColumns. */
  bytes(rows: number): Uint8Array[] {
    return [
      this.projectId.bytes(rows),
      this.day.bytes(rows),
      this.uuid.bytes(rows),
      this.timestamp.bytes(rows),
      this.receivedAt.bytes(rows),
      this.historical.bytes(rows),
      this.event.bytes(),
      this.distinctId.bytes(),
      this.properties.bytes(),
      this.importRun.bytes(),
    ];
  }
}

const fixedBytes = 4 + 4 + 16 + 8 + 8 + 1;

/** Memory of batches, shared by many writers of which only a few are busy at a time. */
export class RowMemory {
  readonly #max: number;
  #free: Columns[] = [];

  /** @param max number of batches to keep, the largest ones */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes the largest free memory. */
  take(): Columns | undefined {
    return this.#free.pop();
  }

  give(columns: Columns): void {
    this.#free = [...this.#free, columns].sort((a, b) => a.capacity - b.capacity).slice(-this.#max);
  }
}

/** Encodes rows directly into growing columns, without allocation per row. */
export class EventRowWriter {
  #columns: Columns;
  #spare: Columns | undefined;
  readonly #uuidText = Buffer.alloc(36);
  readonly #lent = new WeakMap<RowBatch, Columns>();
  #rows = 0;
  readonly #shared: RowMemory | undefined;

  /**
   * With `shared` memory, the writer only holds memory from `begin` to `recycle`. `propertiesBytes` is the approximate size of the
   * first batch's properties; unwritten memory is not touched.
   */
  constructor(shared?: RowMemory, propertiesBytes?: number) {
    this.#shared = shared;
    this.#columns = new Columns(propertiesBytes);
  }

  /** Begins a new batch. Only useful with shared memory. */
  begin(): void {
    if (this.#rows === 0) this.#columns = this.#shared?.take() ?? this.#columns;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Encoded bytes of the current batch. */
  get size(): number {
    const { event, distinctId, properties, importRun } = this.#columns;
    return this.#rows * fixedBytes + event.size + distinctId.size + properties.size + importRun.size;
  }

  write(row: EventRow): void {
    const columns = this.#begin(row);
    this.#uuidText.write(row.uuid, 0, 36, 'latin1');
    this.#uuid(columns, this.#uuidText, 0);
    columns.event.addText(row.event);
    columns.distinctId.addText(row.distinctId);
    columns.properties.addText(row.properties);
    columns.importRun.addText(row.importRun ?? runOfProperties(row.properties, row.historical));
    this.#rows++;
  }

  splice(row: SplicedRow): void {
    const { json, uuidFrom, propsFrom, propsTo, propsPrefix } = row;
    const columns = this.#begin(row);
    this.#uuid(columns, json, uuidFrom);
    columns.event.addBytes(json, row.eventFrom, row.eventTo);
    columns.distinctId.addBytes(json, row.idFrom, row.idTo);
    if (propsPrefix.length === 0) columns.properties.addBytes(json, propsFrom, propsTo);
    else columns.properties.addWithPrefix(json, propsFrom, propsTo, propsPrefix);
    const run = findRun(json, propsFrom, propsTo, row.historical);
    if (typeof run === 'number') columns.importRun.addBytes(json, run, propsTo - 2);
    else columns.importRun.addText(run);
    this.#rows++;
  }

  /** Adds rows in column layout. */
  addColumns(added: RowColumns, { projectId, historical, importRun, receivedAtMicros }: ColumnNumbers): void {
    const columns = this.#columns;
    const from = this.#rows;
    const to = from + added.rows;
    while (to > columns.capacity) columns.grow(from);
    columns.projectId.fill(from, to, projectId);
    columns.day.setBytes(from, added.day);
    columns.uuid.setBytes(from, added.uuid);
    columns.timestamp.setBytes(from, added.timestamp);
    for (let row = from; row < to; row++) {
      columns.receivedAt.setInt64(row, receivedAtMicros[row - from] as number);
      columns.historical.setUint8(row, historical ? 1 : 0);
    }
    columns.event.addValues(added.event);
    columns.distinctId.addValues(added.distinctId);
    columns.properties.addValues(added.properties);
    columns.importRun.addRepeated(importRun, added.rows);
    this.#rows = to;
  }

  /** Returns where the next row begins in the text columns. */
  get end(): { readonly event: number; readonly distinctId: number; readonly properties: number } {
    const { event, distinctId, properties } = this.#columns;
    return { event: event.size, distinctId: distinctId.size, properties: properties.size };
  }

  /** Returns the columns of the written rows. Valid until the next row is written. */
  written(): Omit<RowColumns, 'day' | 'timestamp'> {
    const { uuid, event, distinctId, properties } = this.#columns;
    const rows = this.#rows;
    return {
      rows,
      uuid: uuid.bytes(rows),
      event: event.bytes(),
      distinctId: distinctId.bytes(),
      properties: properties.bytes(),
    };
  }

  /** Adds a row of byte pieces. */
  addRow(numbers: RowNumbers, { uuid, event, distinctId, properties, importRun }: RowPieces): void {
    const columns = this.#begin(numbers);
    columns.uuid.setBytes(this.#rows, uuid);
    columns.event.addPieces([event]);
    columns.distinctId.addPieces([distinctId]);
    columns.properties.addPieces(properties);
    columns.importRun.addText(importRun);
    this.#rows++;
  }

  /** Takes the rows written since the last call as one block, with its memory; the writer continues in other columns. */
  take(): RowBatch {
    const columns = this.#columns;
    const chunks = [blockHead(eventColumns.length, this.#rows)];
    for (const [i, bytes] of columns.bytes(this.#rows).entries()) chunks.push(columnHeads[i] as Uint8Array, bytes);
    const batch: RowBatch = { chunks, rows: this.#rows };
    this.#lent.set(batch, columns);
    this.#columns = this.#spare ?? new Columns();
    this.#spare = undefined;
    this.#rows = 0;
    return batch;
  }

  /**
   * Returns the memory of a batch once it is no longer read. Optional but worthwhile: the first touch of fresh memory costs as much
   * as encoding the rows.
   */
  recycle(batch: RowBatch): void {
    const columns = this.#lent.get(batch);
    if (columns === undefined) return;
    this.#lent.delete(batch);
    columns.clear();
    if (this.#shared !== undefined) return this.#shared.give(columns);
    if (columns.capacity >= (this.#spare?.capacity ?? 0)) this.#spare = columns;
  }

  /** Writes all values of fixed width except the UUID. */
  #begin(row: RowNumbers): Columns {
    const columns = this.#columns;
    const at = this.#rows;
    if (at === columns.capacity) columns.grow(at);
    columns.projectId.setInt32(at, row.projectId);
    columns.day.setInt32(at, Math.max(date32First, Math.min(date32Last, Math.floor(row.keyDay))));
    columns.timestamp.setInt64(at, row.timestampMicros);
    columns.receivedAt.setInt64(at, row.receivedAtMicros);
    columns.historical.setUint8(at, row.historical ? 1 : 0);
    return columns;
  }

  /** xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
  #uuid(columns: Columns, text: Buffer, from: number): void {
    columns.uuid.setUuid(
      this.#rows,
      (hex16(text, from) << 16) | hex16(text, from + 4),
      (hex16(text, from + 9) << 16) | hex16(text, from + 14),
      (hex16(text, from + 19) << 16) | hex16(text, from + 24),
      (hex16(text, from + 28) << 16) | hex16(text, from + 32),
    );
  }
}
