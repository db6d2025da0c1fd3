/**
 * - text: any text
 * - json: JSON text of one value, nested in NDJSON, text in the other formats
 * - time: µs since the epoch
 */
export type ColumnType = 'text' | 'json' | 'time' | 'boolean' | 'integer';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** A time and an integer are a bigint. */
export type Value = string | bigint | boolean | null;

/** Values in the order of the columns. */
export type Row = readonly Value[];

/** Encodes rows of one file, piece by piece. */
export interface RowWriter {
  begin(): Uint8Array;
  add(rows: readonly Row[]): Uint8Array;
  end(): Uint8Array;
}

export const nothing = new Uint8Array(0);
