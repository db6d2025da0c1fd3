const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;
const colon = 0x3a;
const startOfNull = 0x6e;

/** Position of an object's JSON text. */
export interface JsonSpan {
  readonly json: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/**
 * Whether two objects have the same keys with the same spelling and order, and null for the same ones. Both are valid JSON.
 * Returns false if unsure, e.g. with different white space.
 */
export function haveSameKeys(one: JsonSpan, other: JsonSpan): boolean {
  const a = one.json;
  const b = other.json;
  let i = one.from + 1;
  let j = other.from + 1;
  for (;;) {
    let byte = a[i] as number;
    if (byte !== b[j]) return false;
    if (byte === closeObject) return true;
    if (byte !== quote) return false;
    do {
      if (byte === backslash) {
        i++;
        j++;
        if (a[i] !== b[j]) return false;
      }
      byte = a[++i] as number;
      if (byte !== b[++j]) return false;
    } while (byte !== quote);
    // White space before a colon: unsure.
    if (a[++i] !== colon || b[++j] !== colon) return false;
    i++;
    j++;
    if ((a[i] === startOfNull) !== (b[j] === startOfNull)) return false;
    i = valueEnd(a, i);
    j = valueEnd(b, j);
    if (a[i] !== b[j]) return false;
    if (a[i] === comma) {
      i++;
      j++;
    } else if (a[i] !== closeObject) return false;
  }
}

/** Returns the end of a value known to be valid, including leading white space. */
function valueEnd(json: Uint8Array, from: number): number {
  let at = from;
  let open = 0;
  for (;;) {
    switch (json[at]) {
      case quote:
        at = textEnd(json, at) - 1;
        break;
      case openObject:
      case openArray:
        open++;
        break;
      case closeObject:
      case closeArray:
        if (open === 0) return at;
        open--;
        break;
      case comma:
        if (open === 0) return at;
    }
    at++;
  }
}

function textEnd(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at + 1;
}
