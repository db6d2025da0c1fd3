import { nameCharsMax } from '../../../../wire/batch/limits.ts';

/** What the converter does with a key of an object. -1 means none. */
export interface KeyMeaning {
  /** Whether the key makes its record unusual. */
  readonly isUnusual: boolean;
  /** Number of the object whose members are read. */
  readonly object: number;
  /** Number of the list of pairs that is read. */
  readonly pairs: number;
  /** Whether an object as its value makes the record unusual. */
  readonly rejectsObjects: boolean;
  /** Number of the member as which its value is read. */
  readonly member: number;
  /** List to which it is added, unless its value is in `nothing`. */
  readonly list: number;
  /** Positions among the fields of lists. */
  readonly fields: readonly { readonly list: number; readonly index: number }[];
  /** Number of the property as which it is read. */
  readonly property: number;
  /** `"name":` as written. */
  readonly output: Buffer;
  /** Whether the output is the key itself. */
  readonly isKept: boolean;
  /** Numbers of the key and of its new name; no other member of the object may have either. */
  readonly ownKey: number;
  readonly ownName: number;
  /** Number of the written name. */
  readonly name: number;
  /** The collected person properties that are written at its position. */
  readonly group: '$set' | '$set_once' | undefined;
  /** Whether it contains person properties. */
  readonly isOfPerson: boolean;
  /** Values that are dropped. */
  readonly nothing: readonly Buffer[];
  /** Name of the property if it is unmapped, and therefore counted. */
  readonly unmapped: string | undefined;
}

export type MeaningOf = (key: string) => KeyMeaning;

export const unusualKey: KeyMeaning = {
  isUnusual: true,
  object: -1,
  pairs: -1,
  rejectsObjects: false,
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
  unmapped: undefined,
};

/** JavaScript moves keys that are numbers to the front of an object; keys that are too long are reported by the reader. */
export function isUnusualKey(key: string): boolean {
  return /^\d/.test(key) || key === '__proto__' || key.length > nameCharsMax;
}

/** Assigns numbers to names, so that a record can mark the names that it has used. */
export interface NameNumbers {
  /** Returns the same number for the same name of the same kind; -1 if there are too many names. */
  numberOf(kind: string, name: string): number;
}

/** More names than this contain data. */
export const nameNumbersMax = 1 << 15;

export function createNameNumbers(): NameNumbers {
  const numbers = new Map<string, number>();
  return {
    numberOf: (kind, name) => {
      const key = `${kind}\0${name}`;
      const known = numbers.get(key);
      if (known !== undefined) return known;
      if (numbers.size === nameNumbersMax) return -1;
      numbers.set(key, numbers.size);
      return numbers.size - 1;
    },
  };
}
