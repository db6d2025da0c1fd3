import type { RowBatch } from './eventstore.ts';

/**
 * Columns of an insert, in the order in which EventRowWriter writes them. RowBinary: fixed widths are little-endian,
 * strings are a LEB128 length and UTF-8 bytes.
 */
export const eventColumns = [
  'project_id',
  'day',
  'uuid',
  'timestamp',
  'received_at',
  'historical_migration',
  'event',
  'distinct_id',
  'properties',
] as const;

interface RowNumbers {
  /** 32-bit. */
  readonly projectId: number;
  readonly historical: boolean;
  /** µs since the epoch, a whole number. */
  readonly receivedAtMicros: number;
  /** µs since the epoch after clock correction, a whole number; may be negative. */
  readonly timestampMicros: number;
  /** Day number (since the epoch) of the event's own client timestamp: part of its identity. Saturated to 1900..2299. */
  readonly keyDay: number;
}

export interface EventRow extends RowNumbers {
  /** 36 characters, checked to be a UUID. */
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** JSON text of an object. */
  readonly properties: string;
}

/** A row whose texts lie in a body as received. Ranges are byte offsets, [from, to). The object may be reused. */
export interface SplicedRow extends RowNumbers {
  /** Valid UTF-8. */
  readonly json: Buffer;
  /** Offset of the 36 characters of a checked UUID. */
  readonly uuidFrom: number;
  /** String contents without quotes, with no escapes inside. */
  readonly eventFrom: number;
  readonly eventTo: number;
  readonly idFrom: number;
  readonly idTo: number;
  /** A JSON object, braces included. */
  readonly propsFrom: number;
  readonly propsTo: number;
  /** Members to put after the `{`, ending in a comma; empty for none. With members, the object must not be empty. */
  readonly propsPrefix: Uint8Array;
}

const date32First = -25_567; // 1900-01-01
const date32Last = 120_529; // 2299-12-31
const fixedBytes = 4 + 4 + 16 + 8 + 8 + 1;
const varintBytesMax = 5;
const firstCapacity = 1 << 20;
/** Below this a byte loop beats a call into native code. */
const shortCopyMax = 48;

/** Where the two hex digits of byte i stand in the text of a UUID, and where the engine keeps that byte. */
const digitAt = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);
const placeOf = Uint8Array.of(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
const hexValue = new Uint8Array(256);
for (let value = 0; value < 16; value++) {
  hexValue[value.toString(16).charCodeAt(0)] = value;
  hexValue[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** Encodes rows straight into one growing buffer; allocates nothing per row. */
export class EventRowWriter {
  #bytes: Buffer<ArrayBufferLike> = Buffer.allocUnsafeSlow(firstCapacity);
  #view = new DataView(this.#bytes.buffer);
  #spare: Buffer<ArrayBufferLike> | undefined;
  #at = 0;
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  /** Bytes encoded so far. */
  get size(): number {
    return this.#at;
  }

  write(row: EventRow): void {
    const { uuid, event, distinctId, properties } = row;
    const eventBytes = Buffer.byteLength(event);
    const idBytes = Buffer.byteLength(distinctId);
    const propertiesBytes = Buffer.byteLength(properties);
    this.#reserve(fixedBytes + 3 * varintBytesMax + eventBytes + idBytes + propertiesBytes);
    this.#numbers(row);
    const at = this.#at;
    for (let i = 0; i < 16; i++) {
      const digit = digitAt[i] ?? 0;
      const high = hexValue[uuid.charCodeAt(digit)] ?? 0;
      const low = hexValue[uuid.charCodeAt(digit + 1)] ?? 0;
      this.#bytes[at + 8 + (placeOf[i] ?? 0)] = (high << 4) | low;
    }
    this.#at = at + fixedBytes;
    this.#text(event, eventBytes);
    this.#text(distinctId, idBytes);
    this.#text(properties, propertiesBytes);
    this.#rows++;
  }

  splice(row: SplicedRow): void {
    const { json, uuidFrom, eventFrom, eventTo, idFrom, idTo, propsFrom, propsTo, propsPrefix } = row;
    const propertiesBytes = propsTo - propsFrom + propsPrefix.length;
    const texts = eventTo - eventFrom + idTo - idFrom + propertiesBytes;
    this.#reserve(fixedBytes + 3 * varintBytesMax + texts);
    this.#numbers(row);
    const bytes = this.#bytes;
    const at = this.#at;
    for (let i = 0; i < 16; i++) {
      const digit = uuidFrom + (digitAt[i] ?? 0);
      const high = hexValue[json[digit] ?? 0] ?? 0;
      const low = hexValue[json[digit + 1] ?? 0] ?? 0;
      bytes[at + 8 + (placeOf[i] ?? 0)] = (high << 4) | low;
    }
    this.#at = at + fixedBytes;
    this.#length(eventTo - eventFrom);
    this.#copy(json, eventFrom, eventTo);
    this.#length(idTo - idFrom);
    this.#copy(json, idFrom, idTo);
    this.#length(propertiesBytes);
    if (propsPrefix.length === 0) {
      this.#copy(json, propsFrom, propsTo);
    } else {
      bytes[this.#at++] = 0x7b; // {
      bytes.set(propsPrefix, this.#at);
      this.#at += propsPrefix.length;
      this.#copy(json, propsFrom + 1, propsTo);
    }
    this.#rows++;
  }

  /** The rows written since the last call. The bytes are handed over: the writer goes on in another buffer. */
  take(): RowBatch {
    const batch = { bytes: this.#bytes.subarray(0, this.#at), rows: this.#rows };
    const wanted = Math.max(firstCapacity, this.#at);
    const spare = this.#spare;
    this.#spare = undefined;
    this.#use(spare && spare.length >= wanted ? spare : Buffer.allocUnsafeSlow(Math.ceil(wanted * 1.1)));
    this.#at = 0;
    this.#rows = 0;
    return batch;
  }

  /**
   * Gives the memory of a batch back, once nobody reads it any more. Optional; worth it, since the first touch of fresh
   * memory costs as much as encoding the rows.
   */
  recycle(batch: RowBatch): void {
    const whole = Buffer.from(batch.bytes.buffer);
    if (whole.length > (this.#spare?.length ?? 0)) this.#spare = whole;
  }

  /** Everything of fixed width but the UUID; leaves the position where it is. */
  #numbers(row: RowNumbers): void {
    const view = this.#view;
    const at = this.#at;
    view.setInt32(at, row.projectId, true);
    view.setInt32(at + 4, Math.max(date32First, Math.min(date32Last, Math.floor(row.keyDay))), true);
    this.#int64(at + 24, row.timestampMicros);
    this.#int64(at + 32, row.receivedAtMicros);
    view.setUint8(at + 40, row.historical ? 1 : 0);
  }

  /** Exact for every whole number that a double holds. */
  #int64(at: number, value: number): void {
    const high = Math.floor(value / 4_294_967_296);
    this.#view.setUint32(at, value - high * 4_294_967_296, true);
    this.#view.setInt32(at + 4, high, true);
  }

  #length(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  #text(text: string, byteLength: number): void {
    this.#length(byteLength);
    this.#at += this.#bytes.write(text, this.#at, byteLength, 'utf8');
  }

  #copy(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    if (end - start <= shortCopyMax) {
      for (let i = start; i < end; i++) bytes[at++] = from[i] ?? 0;
      this.#at = at;
    } else {
      this.#at = at + from.copy(bytes, at, start, end);
    }
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#use(grown);
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}
