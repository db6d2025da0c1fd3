import type { RowColumns } from '../../../../stores/events/rows.ts';

/** Rows as the converter makes them. Views on its memory, valid until the next call of `convert`. */
export interface ConvertedRows {
  readonly columns: RowColumns;
  /** Of each row the words of `Row` in assembly/convert.ts; see `rowWords`. */
  readonly words: Uint32Array;
  /** µs since the epoch. */
  readonly micros: Float64Array;
  /** Their `received_at`, µs since the epoch. */
  readonly places: Float64Array;
  /** Indices of their names in the segment. */
  readonly names: Int32Array;
  /** Numbers of their distinct_ids in the segment. */
  readonly ids: Int32Array;
  /** What each row says about persons: one of `says`. */
  readonly says: Uint8Array;
}

export const says = {
  /** Only that the person exists. */
  nothing: 0,
  /** `$set` and `$set_once` as well, and nothing else. */
  properties: 1,
  /** More than that: the properties have to be parsed. */
  more: 2,
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
export const rowFlags = { tellsOfLink: 1, special: 2 } as const;
/** Rows that are converted at once, at most. */
export const rowsMax = 1024;
