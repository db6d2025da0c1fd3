import { isUtf8 } from 'node:buffer';
import type { ParquetParsers, SchemaElement } from 'hyparquet';
import { exactNumberFrom } from '../../base/exact-json.ts';
import type { ReadingNote } from '../source.ts';

/** Converts a present value of a column to JSON. */
export type Convert = (value: unknown) => unknown;

/** Number of digits that a double always represents exactly. */
const exactDigits = 15;

export const parquetParsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis: bigint) => isoTime(millis * 1000n),
  timestampFromMicroseconds: isoTime,
  timestampFromNanoseconds: (nanos: bigint) => isoTime(nanos / 1000n),
  dateFromDays: (days: number) => dateOf(days * 86_400_000)?.slice(0, 10) ?? days,
  // JSON columns are left to the format.
  jsonFromBytes: textOf,
  stringFromBytes: textOf,
};

/** Bytes that are not UTF-8 become base64: replacement characters would lose them. */
function textOf(bytes: Uint8Array): string;
function textOf(bytes: Uint8Array | undefined): string | undefined;
function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(isUtf8(bytes) ? 'utf8' : 'base64');
}

export function isoTime(micros: bigint): string | number {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const iso = dateOf(Number((micros - rest) / 1000n));
  if (iso === undefined) return Number(micros);
  return rest === 0n ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

export function dateOf(millis: number): string | undefined {
  const date = new Date(millis);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

export function timeOfDay(micros: bigint): string {
  const time = isoTime(micros);
  return typeof time === 'string' ? time.slice(11, -1) : String(micros);
}

/**
 * Reads decimals as their unscaled integers, because a product of doubles would not be exact, and types unknown to the reader as
 * bytes.
 */
export function plainSchema(element: SchemaElement): SchemaElement {
  const isBytes = element.converted_type === 'INTERVAL' || element.converted_type === 'BSON';
  if (!isDecimal(element) && !isBytes) return element;
  const { converted_type: _converted, logical_type: _logical, ...plain } = element;
  return plain;
}

function isDecimal({ type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return type !== undefined && (converted === 'DECIMAL' || logical?.type === 'DECIMAL');
}

/** A column of the file with nested columns: records, lists, maps. */
export interface ParquetColumn {
  /** Schema element of the file. */
  readonly element: SchemaElement;
  readonly children: readonly ParquetColumn[];
}

export function mayBeNotFinite({ element, children }: ParquetColumn): boolean {
  const isFloating = element.type === 'FLOAT' || element.type === 'DOUBLE' || element.logical_type?.type === 'FLOAT16';
  return isFloating || children.some(mayBeNotFinite);
}

/** Returns the function that converts values of the column to JSON. */
export function jsonColumn({ element, children }: ParquetColumn): Convert {
  if (children.length === 0) return orEach(leafOf(element));
  if (isKind(element, 'LIST')) return orEach(jsonColumn(innermost(children[0])));
  if (isKind(element, 'MAP') || isKind(element, 'MAP_KEY_VALUE')) return mapOf(children[0]);
  const members = new Map(children.map((child) => [child.element.name, jsonColumn(child)]));
  return orEach((value) => membersOf(value, (key) => members.get(key)));
}

/** A list is a repeated record with one member or, in older files, the repeated element itself. */
function innermost(repeated: ParquetColumn | undefined): ParquetColumn {
  const only = repeated?.children.length === 1 ? repeated.children[0] : repeated;
  return only ?? { element: { name: '' }, children: [] };
}

function mapOf(pairs: ParquetColumn | undefined): Convert {
  const value = pairs?.children[1];
  const convert = value === undefined ? jsonValue : jsonColumn(value);
  return orEach((map) => membersOf(map, () => convert));
}

function orEach(convert: Convert): Convert {
  const each: Convert = (value) => (Array.isArray(value) ? value.map(each) : convert(value));
  return each;
}

function membersOf(value: unknown, convertOf: (key: string) => Convert | undefined): unknown {
  if (typeof value !== 'object' || value === null) return jsonValue(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, (convertOf(key) ?? jsonValue)(each as unknown)]),
  );
}

function isKind({ converted_type: converted, logical_type: logical }: SchemaElement, kind: string): boolean {
  return converted === kind || logical?.type === kind;
}

function leafOf(element: SchemaElement): Convert {
  const { converted_type: converted, logical_type: logical } = element;
  const unit = timeUnitOf(element);
  if (unit !== undefined) return (value) => (isInteger(value) ? timeOfDay(microsOf(integerOf(value), unit)) : null);
  if (converted === 'INTERVAL') return (value) => (value instanceof Uint8Array ? durationOf(value) : null);
  if (!isDecimal(element)) return element.type === 'BYTE_ARRAY' && converted !== 'BSON' ? textOrValue : jsonValue;
  const scale = element.scale ?? (logical?.type === 'DECIMAL' ? logical.scale : 0);
  return (value) => (isInteger(value) ? decimal(integerOf(value), scale) : jsonValue(value));
}

function textOrValue(value: unknown): unknown {
  return value instanceof Uint8Array ? textOf(value) : jsonValue(value);
}

type TimeUnit = 'MILLIS' | 'MICROS' | 'NANOS';

function timeUnitOf({ converted_type: converted, logical_type: logical }: SchemaElement): TimeUnit | undefined {
  if (logical?.type === 'TIME') return logical.unit;
  return converted === 'TIME_MILLIS' ? 'MILLIS' : converted === 'TIME_MICROS' ? 'MICROS' : undefined;
}

function microsOf(time: bigint, unit: TimeUnit): bigint {
  return unit === 'MILLIS' ? time * 1000n : unit === 'MICROS' ? time : time / 1000n;
}

/** Formats months, days and milliseconds as an ISO 8601 duration: `P1M2DT3.004S`. */
function durationOf(interval: Uint8Array): string {
  const bytes = Buffer.from(interval);
  return `P${bytes.readUInt32LE(0)}M${bytes.readUInt32LE(4)}DT${bytes.readUInt32LE(8) / 1000}S`;
}

function isInteger(value: unknown): value is bigint | number | Uint8Array {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint8Array;
}

/** Bytes are a big-endian two's complement. */
export function integerOf(value: bigint | number | Uint8Array): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value);
  let number = 0n;
  for (const byte of value) number = (number << 8n) | BigInt(byte);
  return BigInt.asIntN(value.length * 8, number);
}

export function decimal(unscaled: bigint, scale: number): number | string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const shown = `${unscaled < 0n ? '-' : ''}${whole}${scale > 0 ? `.${digits.slice(digits.length - scale)}` : ''}`;
  return digits.length > exactDigits ? shown : Number(shown);
}

export function jsonValue(value: unknown): unknown {
  // JSON.stringify would lose the sign.
  if (Object.is(value, -0)) return exactNumberFrom('-0');
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Date) return dateOf(value.getTime()) ?? null;
  if (Array.isArray(value)) return value.map(jsonValue);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, jsonValue(each)]));
}

const columnsShown = 3;

/** Counts numbers that JSON cannot represent (NaN, Infinity) and that become null. */
interface NotFiniteCounter {
  /** Counts them in the given columns of one record. */
  count(record: Iterable<readonly [column: string, value: unknown]>): void;
  /** Returns the notes for records since the last call. */
  take(): readonly ReadingNote[];
}

export function createNotFiniteCounter(): NotFiniteCounter {
  const columns = new Set<string>();
  let records = 0;
  let numbers = 0;
  return {
    count(record) {
      let own = 0;
      for (const [column, value] of record) {
        const found = notFiniteIn(value);
        if (found > 0 && columns.size < columnsShown) columns.add(column);
        own += found;
      }
      if (own > 0) records += 1;
      numbers += own;
    },
    take() {
      if (records === 0) return [];
      const notes: ReadingNote[] = [...columns].map((sample, index) => ({
        of: 'numbers_not_finite',
        count: index === 0 ? records : 0,
        amount: index === 0 ? numbers : 0,
        sample,
      }));
      columns.clear();
      records = 0;
      numbers = 0;
      return notes;
    },
  };
}

function notFiniteIn(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + notFiniteIn(each), 0);
}
