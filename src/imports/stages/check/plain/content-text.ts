import { notCanonical, plainTextEnd, quote, skipSpace } from './canonical-value.ts';

/** Members of one object; more are better sorted elsewhere. */
const membersMax = 128;
const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
/** From here on the order of bytes may be another one than that of the characters of a text. */
const orderByteMax = 0xed;

/**
 * Writes a value as canonicalJson does, with the members of every object in order. For values that are known to be written as JSON.stringify
 * writes them, but for white space between tokens. The target has room for as many bytes. Gives where it ends there, or
 * notCanonical for more than it can put in order.
 */
export function writeContent(json: Buffer, from: number, target: Buffer, at: number): number {
  const byte = json[from];
  if (byte === openObject) return writeObject(json, from, target, at);
  if (byte === openList) return writeList(json, from, target, at);
  return copy(json, from, valueEnd(json, from), target, at);
}

interface Member {
  readonly key: number;
  readonly keyEnd: number;
  readonly value: number;
}

function writeObject(json: Buffer, from: number, target: Buffer, start: number): number {
  const members = membersOf(json, from);
  if (members === undefined) return notCanonical;
  members.sort((one, other) => compareKeys(json, one, other));
  let at = start;
  target[at++] = openObject;
  for (const { key, keyEnd, value } of members) {
    if (at > start + 1) target[at++] = comma;
    at = copy(json, key, keyEnd, target, at);
    target[at++] = colon;
    at = writeContent(json, value, target, at);
    if (at < 0) return notCanonical;
  }
  target[at++] = closeObject;
  return at;
}

/** Undefined: too many, or in an order that bytes do not tell. */
function membersOf(json: Buffer, from: number): Member[] | undefined {
  const members: Member[] = [];
  let at = skipSpace(json, from + 1);
  while (json[at] === quote) {
    const keyEnd = plainTextEnd(json, at);
    if (keyEnd < 0 || members.length === membersMax) return undefined;
    for (let byte = at; byte < keyEnd; byte += 1) if ((json[byte] as number) > orderByteMax) return undefined;
    const value = skipSpace(json, skipSpace(json, keyEnd) + 1);
    members.push({ key: at, keyEnd, value });
    at = skipSpace(json, valueEnd(json, value));
    if (json[at] === comma) at = skipSpace(json, at + 1);
  }
  return members;
}

/** Without their quotes. */
function compareKeys(json: Buffer, one: Member, other: Member): number {
  const length = Math.min(one.keyEnd - one.key, other.keyEnd - other.key) - 1;
  for (let at = 1; at < length; at += 1) {
    const difference = (json[one.key + at] as number) - (json[other.key + at] as number);
    if (difference !== 0) return difference;
  }
  return one.keyEnd - one.key - (other.keyEnd - other.key);
}

function writeList(json: Buffer, from: number, target: Buffer, start: number): number {
  let at = start;
  let next = from;
  do {
    target[at++] = json[next++] as number;
    if (json[next] === closeList) break;
    const end = valueEnd(json, next);
    at = writeContent(json, next, target, at);
    if (at < 0) return notCanonical;
    next = end;
  } while (json[next] === comma);
  target[at++] = closeList;
  return at;
}

/** Of a value that is known to be one. */
function valueEnd(json: Buffer, from: number): number {
  let at = from;
  let depth = 0;
  do {
    const byte = json[at] as number;
    if (byte === quote) at = textEnd(json, at);
    else {
      if (byte === openObject || byte === openList) depth += 1;
      else if (byte === closeObject || byte === closeList) depth -= 1;
      at += 1;
      if (depth === 0 && byte !== closeObject && byte !== closeList) at = wordEnd(json, at);
    }
  } while (depth > 0);
  return at;
}

function textEnd(json: Buffer, from: number): number {
  let at = from + 1;
  while (json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at + 1;
}

/** Of a number, true, false or null. */
function wordEnd(json: Buffer, from: number): number {
  let at = from;
  while (isOfWord(json[at] as number)) at += 1;
  return at;
}

function isOfWord(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2e || byte === 0x2d;
}

function copy(json: Buffer, from: number, to: number, target: Buffer, at: number): number {
  json.copy(target, at, from, to);
  return at + to - from;
}
