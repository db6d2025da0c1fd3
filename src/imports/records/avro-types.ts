import type * as Avsc from 'avsc';
import { createRequire } from 'node:module';
import { isObject } from '../../base/json.ts';
import { dateOf, decimal, integerOf, isoTime, jsonValue, timeOfDay } from './parquet-values.ts';

/** Reads a value of a block and says where the next one begins; beyond the end of the bytes: the block is cut off. */
export interface AvroDecoder {
  decode(block: Buffer, at: number): { readonly value: unknown; readonly next: number };
}

/** A value of the underlying type as JSON holds it. */
type FromStored = (value: unknown) => unknown;

type AvroTypes = typeof Avsc.types;

/**
 * What decodes values of a schema into JSON values, as Parquet gives them: times ISO 8601, dates YYYY-MM-DD, whole numbers and
 * decimals that a number does not hold exactly text, bytes base64; a union is the value of its branch.
 * Throws avsc's errors for a schema that is none.
 */
export function avroDecoder(schema: Avsc.Schema): AvroDecoder {
  // A module of CommonJS whose names an import does not see. Loaded when there is an Avro file, and not before.
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

/** What avsc reads a value of: where it stands in the block. */
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

/** Items without any content in one list, which take no bytes. */
const emptyItemsMax = 100_000;

/**
 * avsc believes the number of items that a list claims, and reads on behind the end of the block: a few bytes would fill the
 * memory. Here a list ends where the block does.
 */
function listHook(types: AvroTypes): (schema: Avsc.Schema, options: unknown) => Avsc.Type | undefined {
  // Sound: they are made so by avsc itself, and what reads is called by the name of this method.
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

/** Blocks of items, each behind their number; a negative one is followed by their length in bytes. */
function readItems(tap: Tap, read: () => void): void {
  let empty = 0;
  for (let count = Number(tap.readLong()); count !== 0; count = Number(tap.readLong())) {
    if (count < 0) tap.readLong();
    for (let left = Math.abs(count); left > 0; left -= 1) {
      const before = tap.pos;
      read();
      if (tap.pos > tap.buf.length) throw new RangeError(`a list claims ${Math.abs(count)} items, more than there are`);
      // A length below zero leads back.
      if (tap.pos > before) continue;
      empty += 1;
      if (empty > emptyItemsMax) throw new RangeError(`a list has more than ${emptyItemsMax} items without content`);
    }
  }
}

/** Branches of unions that cannot be told apart by their values come wrapped, others bare. */
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
 * The registry knows the bare name `long` only; this is for objects that say it. One with a logical type is asked about twice: for
 * itself, which stays with avsc, and as what lies under the logical type.
 */
function longHook(
  long: Avsc.Type,
  logical: Readonly<Record<string, unknown>>,
): (schema: Avsc.Schema) => Avsc.Type | undefined {
  const asked = new WeakSet<object>();
  return (schema) => {
    if (!isObject(schema) || schema['type'] !== 'long') return undefined;
    const isLogical = typeof schema['logicalType'] === 'string' && Object.hasOwn(logical, schema['logicalType']);
    if (!isLogical || asked.has(schema)) return long;
    asked.add(schema);
    return undefined;
  };
}

/** All 64 bits of a whole number. */
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

/** Of a time that no zone belongs to, only what the clock shows. */
function withoutZone(time: string | number): string | number {
  return typeof time === 'string' ? time.slice(0, -1) : time;
}
