import { SourceError } from '../source.ts';
import { decimalJson, integerJson } from './column-values.ts';

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** OID of its type in PostgreSQL's catalogue. */
  readonly dataTypeID: number;
}

/** Returns the client library's parser for lists of one type. */
export type ListParsers = (dataTypeID: number) => (text: string) => unknown;

/** Converts a value from PostgreSQL's text form to JSON. */
type Encode = (text: string) => string;

const number: Encode = (text) => (/^-?\d/.test(text) ? text : quoted(text));
/** Line breaks can only occur between values. */
const json: Encode = (text) => (/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text);
/** `2024-03-01 10:00:00.5+00`, since the session's zone is UTC; `infinity` stays. */
const time: Encode = (text) => quoted(/^\d{4}-/.test(text) ? `${text.replace(' ', 'T').replace(/\+00$/, '')}Z` : text);
const bytes: Encode = (text) => quoted(Buffer.from(text.slice('\\x'.length), 'hex').toString('base64'));
const truth: Encode = (text) => (text === 't' ? 'true' : 'false');

const encoders: ReadonlyMap<number, Encode> = new Map<number, Encode>([
  [16, truth],
  [17, bytes],
  [20, integerJson],
  [21, number],
  [23, number],
  [26, number],
  [114, json],
  [700, number],
  [701, number],
  [1114, time],
  [1184, time],
  [1700, decimalJson],
  [3802, json],
]);

/** Lists of texts, numbers, booleans, uuids and JSON become arrays; bigint and numeric in them become texts. */
const listTypes = new Set([199, 1000, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1231, 2951, 3807]);

/** Returns a function that writes rows as lines of JSON. Throws SourceError if two columns have the same name. */
export function createRowWriter(
  columns: readonly Column[],
  lists: ListParsers,
): (row: readonly (string | null)[]) => string {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new SourceError(`the query has two columns "${twice.slice(0, 60)}"; rename one with "as"`);
  }
  const parts = columns.map(({ name, dataTypeID }) => ({
    key: `${quoted(name)}:`,
    encode: encoderOf(dataTypeID, lists),
  }));
  return (row) => {
    const members = parts.map(({ key, encode }, index) => {
      const value = row[index] ?? null;
      return key + (value === null ? 'null' : encode(value));
    });
    return `{${members.join(',')}}\n`;
  };
}

function encoderOf(dataTypeID: number, lists: ListParsers): Encode {
  const known = encoders.get(dataTypeID);
  if (known !== undefined) return known;
  if (!listTypes.has(dataTypeID)) return quoted;
  const parse = lists(dataTypeID);
  return (text) => JSON.stringify(parse(text));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
