import { nameCharsMax } from '../../../../wire/batch/limits.ts';

/** What a key of an object means. Negative numbers: there is none. */
export interface KeyMeaning {
  readonly isUnusual: boolean;
  /** What stands under it is an object whose members are looked at. */
  readonly object: number;
  /** What stands under it is a list of pairs that are looked at. */
  readonly pairs: number;
  /** An object under it is odd. */
  readonly isNoObject: boolean;
  /** Under which its value is looked at. */
  readonly member: number;
  /** The list of which it becomes an item, unless its value is one that becomes nothing. */
  readonly list: number;
  /** Lists that have a place for it. */
  readonly fields: readonly { readonly list: number; readonly index: number }[];
  /** Under which it is looked at as a property. */
  readonly property: number;
  /** What it becomes: `"name":`. */
  readonly output: Buffer;
  /** The output is the key. */
  readonly isKept: boolean;
  /** Names that no other member of the object may have: its own, and the one that it gets. */
  readonly ownKey: number;
  readonly ownName: number;
  /** The name that it gets, where it is written. */
  readonly name: number;
  /** What is gathered for this property stands in its place. */
  readonly group: '$set' | '$set_once' | undefined;
  /** It says something of the person. */
  readonly isOfPerson: boolean;
  /** Values that become nothing. */
  readonly nothing: readonly Buffer[];
  /** Name of the property when somebody wants to hear it. */
  readonly heard: string | undefined;
}

export type MeaningOf = (key: string) => KeyMeaning;

/** Of a key of which nothing is known. */
export const unusualKey: KeyMeaning = {
  isUnusual: true,
  object: -1,
  pairs: -1,
  isNoObject: false,
  member: -1,
  list: -1,
  fields: [],
  property: -1,
  output: Buffer.alloc(0),
  isKept: false,
  ownKey: -1,
  ownName: -1,
  name: -1,
  group: undefined,
  isOfPerson: false,
  nothing: [],
  heard: undefined,
};

/** Objects have numbers in front, whatever came first, and names that are too long are counted. */
export function isUnusualKey(key: string): boolean {
  return /^\d/.test(key) || key === '__proto__' || key.length > nameCharsMax;
}
