import type * as Avsc from 'avsc';
import { createRequire } from 'node:module';
import { isObject } from '../../base/json.ts';
import { dateOf, decimal, integerOf, isoTime, jsonValue, timeOfDay } from './parquet-values.ts';

/**
 * Reads a value of a block and returns where the next one begins. A position beyond the end of the bytes means that the block is
 * truncated.
 */
export interface AvroDecoder {
  decode(block: Buffer, at: number): { readonly value: unknown; readonly next: number };
}

/** Converts a value of the underlying type to JSON. */
type FromStored = (value: unknown) => unknown;

type AvroTypes = typeof Avsc.types;

/**
 * Creates a decoder from values of a schema to JSON values, in the same form as for Parquet: times as ISO 8601, dates as
 * YYYY-MM-DD, whole numbers and decimals that a double does not represent exactly as text, bytes as base64; a union is the value
 * of its branch. Throws avsc's errors for an invalid schema.
 */
export function avroDecoder(schema: Avsc.Schema): AvroDecoder {
  // A CommonJS module whose exports an import cannot see. Loaded only for Avro files.
  const avsc = createRequire(import.meta.url)('avsc') as typeof Avsc;
  const long = exactLong(avsc.types);
  const logical = logicalTypes(avsc.types);
  const longOf = longHook(long, logical);
  const listOf = listHook(avsc.types);
  const type = avsc.Type.forSchema(schema, {
    registry: { long },
    typeHook: (part, options) => listOf(part, options) ?? longOf(part),
    logicalTypes: logical,
    omitRecordMethods: true,
    wrapUnions: 'auto',
  });
  return {
    decode(block, at) {
      const { value, offset } = type.decode(block, at) as { value: unknown; offset: number };
      return { value: plain(value), next: offset === -1 ? Infinity : offset };
    },
  };
}

/** The position from which avsc reads. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number | bigint;
  readString(): string | undefined;
}

interface ItemType {
  _read(tap: Tap): unknown;
}

type ListClass<Member extends string> = new (
  schema: Avsc.Schema,
  options: unknown,
) => Avsc.Type & Readonly<Record<Member, ItemType>>;

/** Limit of items without content in a list, since they take no bytes. */
const emptyItemsMax = 100_000;

/**
 * Ends lists with their block. avsc trusts the number of items that a list claims and reads beyond the block, so a few bytes
 * could fill the memory.
 */
function listHook(types: AvroTypes): (schema: Avsc.Schema, options: unknown) => Avsc.Type | undefined {
  // Sound: avsc itself constructs them this way and calls the method by this name.
  const ArrayType = types.ArrayType as unknown as ListClass<'itemsType'>;
  const MapType = types.MapType as unknown as ListClass<'valuesType'>;
  class LimitedArray extends ArrayType {
    _read(tap: Tap): unknown[] {
      const items: unknown[] = [];
      readItems(tap, () => items.push(this.itemsType._read(tap)));
      return items;
    }
  }
  class LimitedMap extends MapType {
    _read(tap: Tap): Record<string, unknown> {
      const members: [string, unknown][] = [];
      readItems(tap, () => members.push([tap.readString() ?? '', this.valuesType._read(tap)]));
      return Object.fromEntries(members);
    }
  }
  return (schema, options) => {
    if (!isObject(schema)) return undefined;
    if (schema['type'] === 'array') return new LimitedArray(schema as unknown as Avsc.Schema, options);
    return schema['type'] === 'map' ? new LimitedMap(schema as unknown as Avsc.Schema, options) : undefined;
  };
}

/** Reads blocks of items, each preceded by its count; a negative count is followed by the length in bytes. */
function readItems(tap: Tap, read: () => void): void {
  let empty = 0;
  for (let count = Number(tap.readLong()); count !== 0; count = Number(tap.readLong())) {
    if (count < 0) tap.readLong();
    for (let left = Math.abs(count); left > 0; left -= 1) {
      const before = tap.pos;
      read();
      if (tap.pos > tap.buf.length) throw new RangeError(`a list claims ${Math.abs(count)} items, more than there are`);
      // A negative length would move backwards.
      if (tap.pos > before) continue;
      empty += 1;
      if (empty > emptyItemsMax) throw new RangeError(`a list has more than ${emptyItemsMax} items without content`);
    }
  }
}

/** Ambiguous union branches are wrapped, others are not. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return jsonValue(value);
  if (Array.isArray(value)) return value.map(plain);
  if (isWrapped(value)) return plain(value.unwrap());
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function isWrapped(value: object): value is { unwrap(): unknown } {
  return !Object.hasOwn(value, 'unwrap') && 'unwrap' in value && typeof value.unwrap === 'function';
}

/**
 * Handles schema objects of type `long`; the registry covers only the bare name. The hook is called twice for a logical type: for
 * the type itself, which avsc handles, and for the underlying type.
 */
function longHook(
  long: Avsc.Type,
  logical: Readonly<Record<string, unknown>>,
): (schema: Avsc.Schema) => Avsc.Type | undefined {
  const seen = new WeakSet<object>();
  return (schema) => {
    if (!isObject(schema) || schema['type'] !== 'long') return undefined;
    const isLogical = typeof schema['logicalType'] === 'string' && Object.hasOwn(logical, schema['logicalType']);
    if (!isLogical || seen.has(schema)) return long;
    seen.add(schema);
    return undefined;
  };
}

/** A long type with all 64 bits. */
function exactLong({ LongType }: AvroTypes): Avsc.Type {
  const unused = (): never => {
    throw new Error('only reads');
  };
  return LongType.__with({
    fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
    toBuffer: unused,
    fromJSON: BigInt,
    toJSON: String,
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: (a: bigint, b: bigint) => (a < b ? -1 : Number(a > b)),
  });
}

function logicalTypes({ LogicalType }: AvroTypes): Record<string, typeof Avsc.types.LogicalType> {
  const kind = (fromStoredOf: (schema: Avsc.Schema) => FromStored): typeof Avsc.types.LogicalType =>
    class extends LogicalType {
      readonly #fromStored: FromStored;
      constructor(schema: Avsc.Schema, options?: unknown) {
        super(schema, options);
        this.#fromStored = fromStoredOf(schema);
      }
      protected override _fromValue(value: unknown): unknown {
        return this.#fromStored(value);
      }
      protected override _toValue(): unknown {
        return undefined;
      }
    };
  const whole = (convert: (value: bigint) => unknown) => kind(() => (value) => convert(BigInt(value as bigint)));
  return {
    date: whole((days) => dateOf(Number(days) * 86_400_000)?.slice(0, 10) ?? String(days)),
    decimal: kind(decimalOf),
    'local-timestamp-micros': whole((micros) => withoutZone(isoTime(micros))),
    'local-timestamp-millis': whole((millis) => withoutZone(isoTime(millis * 1000n))),
    'time-micros': whole(timeOfDay),
    'time-millis': whole((millis) => timeOfDay(millis * 1000n)),
    'timestamp-micros': whole(isoTime),
    'timestamp-millis': whole((millis) => isoTime(millis * 1000n)),
  };
}

function decimalOf(schema: Avsc.Schema): FromStored {
  const scale = isObject(schema) && typeof schema['scale'] === 'number' ? schema['scale'] : 0;
  return (bytes) => decimal(integerOf(bytes as Uint8Array), scale);
}

/** Returns the local time of a timestamp without a zone. */
function withoutZone(time: string | number): string | number {
  return typeof time === 'string' ? time.slice(0, -1) : time;
}
