import { putByte, putBytes, putSpan, type ByteWriter } from './byte-writer.ts';
import { quote } from './canonical-value.ts';
import type { RecordSpans } from './record-spans.ts';

const comma = 0x2c;
/** The only word that begins so is null. */
const nullByte = 0x6e;

/** Values of properties that are looked at again: in the line, or in a fragment. */
export class PropertyValues {
  readonly #spans: RecordSpans;
  readonly #bytes: (Buffer | undefined)[];
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  #json: Buffer = Buffer.alloc(0);
  #isClear = true;

  constructor(spans: RecordSpans, properties: number) {
    this.#spans = spans;
    this.#bytes = Array.from({ length: properties }, () => undefined);
    this.#from = new Int32Array(properties);
    this.#to = new Int32Array(properties);
  }

  clear(json: Buffer): void {
    this.#json = json;
    if (!this.#isClear) this.#bytes.fill(undefined);
    this.#isClear = true;
  }

  set(property: number, bytes: Buffer, from: number, to: number): void {
    this.#isClear = false;
    this.#bytes[property] = bytes;
    this.#from[property] = from;
    this.#to[property] = to;
  }

  /** A text that may be two characters long: a code, of which the reader makes something else. */
  isShortText(property: number): boolean {
    const bytes = this.#bytes[property];
    const from = bytes === undefined ? this.#spans.propertyFrom(property) : (this.#from[property] as number);
    if (from < 0) return false;
    const to = bytes === undefined ? this.#spans.propertyTo(property) : (this.#to[property] as number);
    const source = bytes ?? this.#json;
    return (
      source[from] === quote && to - from <= 14 && String(JSON.parse(source.toString('utf8', from, to))).length === 2
    );
  }

  /** Writes a member where there is a value that says something; false: there is none. */
  write(writer: ByteWriter, property: number, key: Buffer): boolean {
    const bytes = this.#bytes[property];
    const source = bytes ?? this.#json;
    const from = bytes === undefined ? this.#spans.propertyFrom(property) : (this.#from[property] as number);
    if (from < 0 || source[from] === nullByte) return false;
    putBytes(writer, key);
    putSpan(
      writer,
      source,
      from,
      bytes === undefined ? this.#spans.propertyTo(property) : (this.#to[property] as number),
    );
    putByte(writer, comma);
    return true;
  }
}
