import { counted, notCanonical, numberEnd, quote, sameBytes, valueEnd } from './canonical-value.ts';

/** Where what a pair says stands; negative: it says nothing. */
export interface PairValue {
  from: number;
  to: number;
}

/** The first that is not null counts. */
const kinds = ['string_value', 'int_value', 'double_value', 'float_value', 'set_timestamp_micros'].map((kind) =>
  Buffer.from(`"${kind}":`),
);
const textKind = 0;
const timeKind = 4;
const openObject = 0x7b;
const closeObject = 0x7d;
const comma = 0x2c;
const minus = 0x2d;
const nullByte = 0x6e;

/**
 * Reads `{"string_value":"pro","int_value":null}` from its brace, or null; numbers may be written as texts. Gives where it ends,
 * or notCanonical where it is odd.
 */
export function readPairValue(json: Buffer, from: number, found: PairValue): number {
  found.from = -1;
  if (json[from] === nullByte) return valueEnd(json, from);
  if (json[from] !== openObject) return notCanonical;
  if (json[from + 1] === closeObject) return from + 2;
  let known = 0;
  let best = timeKind;
  let at = from;
  do {
    const kind = kindAt(json, at + 1);
    if (kind < 0 || (known & (1 << kind)) !== 0) return notCanonical;
    known |= 1 << kind;
    counted.keys += 1;
    const value = at + 1 + (kinds[kind] as Buffer).length;
    at = valueEnd(json, value);
    if (at < 0) return notCanonical;
    if (kind >= best || json[value] === nullByte) continue;
    best = kind;
    const isNumber = kind !== textKind && json[value] === quote;
    if (isNumber && !isNumberAlone(json, value + 1, at - 1)) return notCanonical;
    found.from = isNumber ? value + 1 : value;
    found.to = isNumber ? at - 1 : at;
  } while (json[at] === comma);
  return json[at] === closeObject ? at + 1 : notCanonical;
}

function kindAt(json: Buffer, from: number): number {
  for (let kind = 0; kind < kinds.length; kind += 1) {
    const name = kinds[kind] as Buffer;
    if (sameBytes(name, 0, json, from, name.length)) return kind;
  }
  return -1;
}

function isNumberAlone(json: Buffer, from: number, to: number): boolean {
  const first = json[from] as number;
  return (first === minus || (first >= 0x30 && first <= 0x39)) && numberEnd(json, from) === to;
}
