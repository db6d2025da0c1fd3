import type { RowColumns } from '../../../../stores/events/rows.ts';

/** Rows of the converter. They are views of its memory, valid until the next call of `convert`. */
export interface ConvertedRows {
  readonly columns: RowColumns;
  /** Words of `Row` in assembly/convert.ts for each row; see `rowWords`. */
  readonly words: Uint32Array;
  /** Times, in µs since the epoch. */
  readonly micros: Float64Array;
  /** `received_at`, in µs since the epoch. */
  readonly places: Float64Array;
  /** Indices of the names in the segment. */
  readonly names: Int32Array;
  /** Numbers of the distinct_ids in the segment. */
  readonly ids: Int32Array;
  /** How each row affects persons: a `personEffect`. */
  readonly personEffects: Uint8Array;
}

export const personEffect = {
  /** The row only shows that the person exists. */
  none: 0,
  /** The row may contain `$set` and `$set_once`, but nothing else about persons. */
  properties: 1,
  /** The row contains more, and its properties must be parsed. */
  other: 2,
} as const;

/** Offsets of the 32-bit words of `Row` in assembly/convert.ts; its time, a double, follows them. */
export const rowWords = {
  name: 0,
  identity: 1,
  line: 2,
  flags: 3,
  sumLow: 4,
  sumHigh: 5,
  contentLow: 6,
  contentHigh: 7,
  event: 8,
  id: 9,
  properties: 10,
  propertiesBytes: 11,
  setFrom: 12,
  setTo: 13,
  onceFrom: 14,
  onceTo: 15,
  setShapeLow: 16,
  setShapeHigh: 17,
  onceShapeLow: 18,
  onceShapeHigh: 19,
} as const;
export const wordsPerRow = 22;
/** Index of the time in a row of doubles. */
export const microsOfRow = 10;
export const rowFlags = { statesLink: 1, special: 2 } as const;
/** Maximum rows per call. */
export const rowsMax = 1024;
