import { isUtf8 } from 'node:buffer';
import type { ParquetParsers, SchemaElement } from 'hyparquet';
import { exactNumberFrom } from '../../base/exact-json.ts';

/** A value of a column that is there, as JSON can hold it. */
export type Convert = (value: unknown) => unknown;

/** Digits that every number of JavaScript holds exactly. */
const exactDigits = 15;

export const parquetParsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis: bigint) => isoTime(millis * 1000n),
  timestampFromMicroseconds: isoTime,
  timestampFromNanoseconds: (nanos: bigint) => isoTime(nanos / 1000n),
  dateFromDays: (days: number) => dateOf(days * 86_400_000)?.slice(0, 10) ?? days,
  // What is JSON in a column is for the format to read.
  jsonFromBytes: textOf,
  stringFromBytes: textOf,
};

/** Bytes that are no UTF-8 are kept as base64: characters in their stead would lose them. */
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
 * Decimals are read as the integers that they are stored as, because a product of numbers would not be exact, and what the reader
 * does not know as the bytes that it is.
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

/** A column of the file with what lies in it: records, lists, maps. */
export interface ParquetColumn {
  /** As the file has it. */
  readonly element: SchemaElement;
  readonly children: readonly ParquetColumn[];
}

export function mayBeNotFinite({ element, children }: ParquetColumn): boolean {
  const isFloating = element.type === 'FLOAT' || element.type === 'DOUBLE' || element.logical_type?.type === 'FLOAT16';
  return isFloating || children.some(mayBeNotFinite);
}

/** How values of the column become JSON. */
export function jsonColumn({ element, children }: ParquetColumn): Convert {
  if (children.length === 0) return orEach(leafOf(element));
  if (isKind(element, 'LIST')) return orEach(jsonColumn(innermost(children[0])));
  if (isKind(element, 'MAP') || isKind(element, 'MAP_KEY_VALUE')) return mapOf(children[0]);
  const members = new Map(children.map((child) => [child.element.name, jsonColumn(child)]));
  return orEach((value) => membersOf(value, (key) => members.get(key)));
}

/** A list is a repeated record with one member, or, as older files have it, the repeated element itself. */
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

/** Months, days and milliseconds as ISO 8601 writes a duration: `P1M2DT3.004S`. */
function durationOf(interval: Uint8Array): string {
  const bytes = Buffer.from(interval);
  return `P${bytes.readUInt32LE(0)}M${bytes.readUInt32LE(4)}DT${bytes.readUInt32LE(8) / 1000}S`;
}

function isInteger(value: unknown): value is bigint | number | Uint8Array {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint8Array;
}

/** Bytes are a two's complement, highest first. */
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
