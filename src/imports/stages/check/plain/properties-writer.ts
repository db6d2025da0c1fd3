import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PlainTable } from '../../../formats/plain-table.ts';
import { settledTexts } from '../../../formats/settle-properties.ts';
import { putByte, putBytes, putSpan, type ByteWriter } from './byte-writer.ts';
import { quote } from './canonical-value.ts';
import { countryName, type CompiledTable } from './compiled-table.ts';
import { createAnswers, createFragment, type Answers, type Fragment } from './fragments.ts';
import type { ItemSpans, RecordSpans } from './record-spans.ts';
import { createUrlParts } from './url-parts.ts';

/** Writes the properties of an event as its reader would have made them. */
export interface PropertiesWriter {
  /** Bytes that they need at most; -1: the record is odd. `ids` are the properties that follow from its ids. */
  prepare(json: Buffer, ids: Fragment): number;
  /** What was prepared: an object without its last bracket. */
  write(writer: ByteWriter, json: Buffer): void;
}

type Step = 'ids' | 'person' | Answers<Fragment>;

const comma = 0x2c;
const closeObject = 0x7d;
const setKey = Buffer.from('"$set":{');
const setOnceKey = Buffer.from('"$set_once":{');
/** Punctuation, and what settled texts may be longer. */
const slack = 256;

export function createPropertiesWriter(
  table: PlainTable,
  compiled: CompiledTable,
  spans: RecordSpans,
): PropertiesWriter {
  const steps = table.derived.map((each) => stepOf(each, compiled));
  const current = personKeys(currentProperties, compiled);
  const initial = personKeys(initialProperties, compiled);
  const settle = createSettled(compiled, spans);
  const url = createUrlParts(compiled, spans);
  const nameNumber = compiled.propertyOf(countryName);
  const marks = Buffer.from(`"$geoip_disable":true,"$import_source":${JSON.stringify(table.slug)}`);
  const fragments: Fragment[] = [];
  const values = new Values(spans, compiled.properties);

  const addFragment = (fragment: Fragment): boolean => {
    for (const name of fragment.names) if (!spans.claim(name)) return false;
    for (const [property, from, to] of fragment.looked) values.set(property, fragment.bytes, from, to);
    fragments.push(fragment);
    return true;
  };
  return {
    prepare: (json, ids) => {
      fragments.length = 0;
      values.clear(json);
      let bytes = spans.bytes + marks.length + slack;
      for (const step of steps) {
        const fragment = step === 'ids' ? ids : step === 'person' ? undefined : step.of(spans, json);
        if (step === 'person') continue;
        if (fragment === undefined || !addFragment(fragment)) return -1;
        bytes += fragment.bytes.length * 2;
      }
      if (!settle.prepare(json) || !url.prepare(json) || values.isShortText(nameNumber)) return -1;
      return bytes + url.bytes;
    },
    write: (writer, json) => {
      for (const items of spans.items) writeItems(writer, json, items, settle);
      let next = 0;
      for (const step of steps) {
        if (step !== 'person') putBytes(writer, (fragments[next++] as Fragment).bytes);
        else {
          writePerson(writer, setKey, current, values);
          writePerson(writer, setOnceKey, initial, values);
        }
      }
      url.write(writer, json);
      putBytes(writer, marks);
    },
  };
}

function stepOf(derived: PlainTable['derived'][number], compiled: CompiledTable): Step {
  if (typeof derived === 'string') return derived;
  const { of, from, make } = derived;
  const numbers = from.map(of === 'members' ? compiled.memberOf : compiled.propertyOf);
  return createAnswers(256, { of, numbers }, (values) => {
    const properties = make(values);
    return properties === undefined ? undefined : createFragment(properties, compiled);
  });
}

interface PersonKey {
  readonly property: number;
  readonly key: Buffer;
}

function personKeys(names: readonly string[], { propertyOf }: CompiledTable): readonly PersonKey[] {
  return names.map((name) => ({ property: propertyOf(name), key: Buffer.from(`${JSON.stringify(name)}:`) }));
}

/** Values of properties that are looked at again: in the line, or in a fragment. */
class Values {
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
  write(writer: ByteWriter, { property, key }: PersonKey): boolean {
    const bytes = this.#bytes[property];
    const source = bytes ?? this.#json;
    const from = bytes === undefined ? this.#spans.propertyFrom(property) : (this.#from[property] as number);
    // The only word that begins so is null.
    if (from < 0 || source[from] === 0x6e) return false;
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

function writePerson(writer: ByteWriter, key: Buffer, keys: readonly PersonKey[], values: Values): void {
  const start = writer.at;
  putBytes(writer, key);
  let count = 0;
  for (const each of keys) if (values.write(writer, each)) count += 1;
  if (count === 0) {
    writer.at = start;
    return;
  }
  writer.bytes[writer.at - 1] = closeObject;
  putByte(writer, comma);
}

/** Texts that are written in another way where they stand. */
interface Settled {
  /** False: the record is odd. */
  prepare(json: Buffer): boolean;
  /** Undefined: the value stays as it is. */
  of(property: number): Buffer | undefined;
}

function createSettled(compiled: CompiledTable, spans: RecordSpans): Settled {
  const texts = [...settledTexts].map(([name, settled]) => {
    const property = compiled.propertyOf(name);
    const answers = createAnswers(256, { of: 'properties', numbers: [property] }, ([value]) =>
      Buffer.from(JSON.stringify(typeof value === 'string' ? settled(value) : value)),
    );
    return { property, answers };
  });
  const found: (Buffer | undefined)[] = Array.from({ length: compiled.properties }, () => undefined);
  return {
    prepare: (json) => {
      for (const { property, answers } of texts) {
        const from = spans.propertyFrom(property);
        const isText = from >= 0 && json[from] === quote;
        found[property] = isText ? answers.of(spans, json) : undefined;
        if (isText && found[property] === undefined) return false;
      }
      return true;
    },
    of: (property) => (property < 0 ? undefined : found[property]),
  };
}

function writeItems(writer: ByteWriter, json: Buffer, items: ItemSpans, settled: Settled): void {
  const { count, entries, key, from, to } = items;
  for (let index = 0; index < count; index += 1) {
    const entry = entries[index] as ItemSpans['entries'][number];
    const other = settled.of(entry.property);
    if (other !== undefined) {
      putBytes(writer, entry.output);
      putBytes(writer, other);
    } else if (!isAsWritten(items, index, settled)) {
      putBytes(writer, entry.output);
      putSpan(writer, json, from[index] as number, to[index] as number);
    } else {
      // What lies side by side is copied in one piece.
      const first = key[index] as number;
      while (
        index + 1 < count &&
        key[index + 1] === (to[index] as number) + 1 &&
        isAsWritten(items, index + 1, settled)
      )
        index += 1;
      putSpan(writer, json, first, to[index] as number);
    }
    putByte(writer, comma);
  }
}

/** Under the same key, with nothing between it and its value. */
function isAsWritten({ entries, key, from }: ItemSpans, index: number, settled: Settled): boolean {
  const entry = entries[index] as ItemSpans['entries'][number];
  return (
    entry.isKept &&
    (from[index] as number) - (key[index] as number) === entry.key.length + 1 &&
    settled.of(entry.property) === undefined
  );
}
