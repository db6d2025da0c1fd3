import type { QueryParam } from '../eventstore.ts';

export interface Bound {
  readonly sql: string;
  readonly params: Readonly<Record<string, QueryParam>>;
}

/**
 * A server refuses a parameter of more than 128 KiB (`http_max_field_value_size`), a limit that a query cannot raise. Each character
 * of a piece takes at most three bytes of UTF-8, or two if a byte is escaped: 120,000 of 131,072 bytes.
 */
const pieceCharsMax = 40_000;

/**
 * Splits large texts and lists of a statement into pieces that the server concatenates before it runs the query. The value's text
 * stays the same and stays bound: none of it becomes SQL.
 */
export function splitLargeParams(sql: string, params: Readonly<Record<string, QueryParam>>): Bound {
  let split = sql;
  const bound: Record<string, QueryParam> = {};
  for (const [name, value] of Object.entries(params)) {
    const text = largeText(value);
    if (text === undefined) bound[name] = value;
    else {
      const pieces = piecesOf(text);
      const names = pieces.map((_, at) => `${name}__${at}`);
      for (const [at, piece] of pieces.entries()) bound[names[at] as string] = piece;
      split = split.replaceAll(placeholder(name), (_, type: string) => concatenated(names, type));
    }
  }
  return { sql: split, params: bound };
}

const placeholder = (name: string): RegExp => new RegExp(`\\{${name}:([^{}]+)\\}`, 'g');

/** Returns the text that the engine casts to the value, or `undefined` if the value fits into one field. */
function largeText(value: QueryParam): string | undefined {
  if (typeof value === 'string') return value.length > pieceCharsMax ? value : undefined;
  if (!Array.isArray(value)) return undefined;
  const literal = `[${value.map(literalOf).join(',')}]`;
  return literal.length > pieceCharsMax ? literal : undefined;
}

function literalOf(value: string | number | bigint | boolean): string {
  return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : String(value);
}

/** Splits the text without splitting a surrogate pair. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + pieceCharsMax, text.length);
    if (end < text.length && isLeadSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

const isLeadSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

function concatenated(names: readonly string[], type: string): string {
  const text = `concat(${names.map((name) => `{${name}:String}`).join(', ')})`;
  return type === 'String' ? text : `CAST(${text}, '${type.replaceAll("'", "\\'")}')`;
}
