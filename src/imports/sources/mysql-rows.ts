import { SourceError } from '../source.ts';
import { decimalJson, doubleJson, embeddedJson, integerJson } from './column-values.ts';
import type { MysqlColumn } from './mysql-result.ts';
import { binaryCharset, mysqlTypes } from './mysql-types.ts';

/** Converts a value from MySQL's text form to JSON. */
type Encode = (value: Buffer) => string;

const textOf = (value: Buffer): string => value.toString('utf8');
const quoted: Encode = (value) => JSON.stringify(textOf(value));
const bytes: Encode = (value) => JSON.stringify(value.toString('base64'));
const integer: Encode = (value) => integerJson(value.toString('latin1'));
const decimal: Encode = (value) => decimalJson(value.toString('latin1'));
const double: Encode = (value) => doubleJson(value.toString('latin1'));
/** The shortest number that is the same in single precision: 0.1, which as a double is 0.10000000149011612. */
const float: Encode = (value) => {
  const exact = Number(value.toString('latin1'));
  for (let digits = 1; digits <= 9; digits += 1) {
    const short = Number(exact.toPrecision(digits));
    if (Math.fround(short) === exact) return String(short);
  }
  return String(exact);
};
/** A zero date (`0000-00-00`, `2024-00-00`) is not a time: it stays as it is. */
const isTime = (text: string): boolean => !/^0000-|^\d{4}-00|^\d{4}-\d\d-00/.test(text);
const timeIn =
  (suffix: string): Encode =>
  (value) => {
    const text = value.toString('latin1');
    return JSON.stringify(isTime(text) ? text.replace(' ', 'T') + suffix : text);
  };
/** MariaDB's JSON is text, which a constraint checks that can be missing. */
const json: Encode = (value) => embeddedJson(textOf(value));

const encoders: ReadonlyMap<number, Encode> = new Map<number, Encode>([
  [mysqlTypes.tiny, integer],
  [mysqlTypes.short, integer],
  [mysqlTypes.long, integer],
  [mysqlTypes.int24, integer],
  [mysqlTypes.longlong, integer],
  [mysqlTypes.year, integer],
  [mysqlTypes.newdecimal, decimal],
  [mysqlTypes.double, double],
  // The session's zone is UTC; a DATETIME has none, and the mapping may give it one.
  [mysqlTypes.timestamp, timeIn('Z')],
  [mysqlTypes.datetime, timeIn('')],
  [mysqlTypes.json, json],
]);

/** Returns the SQL that reads a column, if its plain value would lose something: `undefined` otherwise. */
export function expressionOf({ type }: MysqlColumn, column: string): string | undefined {
  // As text it has only six digits.
  if (type === mysqlTypes.float) return `${column} + 0e0`;
  if (type === mysqlTypes.bit) return `${column} + 0`;
  return type === mysqlTypes.geometry ? `st_asgeojson(${column})` : undefined;
}

/**
 * Returns a function that writes rows as lines of JSON.
 * @param columns as the query has them, before `expressionOf`
 * @throws SourceError if two columns have the same name
 */
export function createRowWriter(columns: readonly MysqlColumn[]): (row: readonly (Buffer | null)[]) => string {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new SourceError(`the query has two columns "${twice.slice(0, 60)}"; rename one with "as"`);
  }
  const parts = columns.map((column) => ({ key: `${JSON.stringify(column.name)}:`, encode: encoderOf(column) }));
  return (row) => {
    const members = parts.map(({ key, encode }, index) => {
      const value = row[index] ?? null;
      return key + (value === null ? 'null' : encode(value));
    });
    return `{${members.join(',')}}\n`;
  };
}

function encoderOf({ type, charset, isJsonText }: MysqlColumn): Encode {
  if (isJsonText || type === mysqlTypes.geometry) return json;
  if (type === mysqlTypes.float) return float;
  if (type === mysqlTypes.bit) return integer;
  const known = encoders.get(type);
  if (known !== undefined) return known;
  // DATE and TIME are ASCII, although their character set is binary.
  const isText = charset !== binaryCharset || type === mysqlTypes.date || type === mysqlTypes.time;
  return isText ? quoted : bytes;
}
