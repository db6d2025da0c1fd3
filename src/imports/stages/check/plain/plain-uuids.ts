import { hash } from 'node:crypto';
import { partsSeparator } from '../../../formats/derived-uuids.ts';
import type { PlainContentUuid, PlainIdPart, PlainUuid } from '../../../formats/plain-table.ts';
import { quote } from './canonical-value.ts';
import type { CompiledTable } from './compiled-table.ts';
import { writeContent } from './content-text.ts';
import { createAnswers } from './fragments.ts';
import { createTimeWriter } from './plain-times.ts';
import type { RecordSpans } from './record-spans.ts';
import { hashRoomBytes, sha1Of } from './short-hashes.ts';

/** UUIDs of records as bytes and as numbers; those of src/imports/formats/derived-uuids.ts. */
export interface PlainUuids {
  /** False: the record is odd. `micros`: its time. */
  prepare(spans: RecordSpans, json: Buffer, micros: number): boolean;
  /** Makes the UUID of the record that was prepared; once for each that is taken, for some are counted. */
  derive(json: Buffer): void;
  /** The record that was prepared has a number among those that are like it. */
  isCounted(): boolean;
  /** 36 characters, lower case. */
  readonly text: Buffer;
  readonly words: Uint32Array;
}

const idBytesMax = 1024;
type NamedUuid = Extract<PlainUuid, { is: 'name' }>;
type PartsUuid = Extract<PlainUuid, { is: 'parts' }>;

const numberBytesMax = 16;
const backslash = 0x5c;
const dash = 0x2d;
const nullByte = 0x6e;
const hexDigits = Buffer.from('0123456789abcdef');
const wordsPerUuid = 4;

export function createPlainUuids(uuid: PlainUuid, table: CompiledTable): PlainUuids {
  if (uuid.is === 'content') return createOfContent(uuid);
  if (uuid.is === 'parts') return createFromParts(uuid, table);
  const member = table.memberOf(uuid.path);
  if (uuid.is === 'uuid') return createGiven(member);
  const named = createDerived(member, uuid);
  return uuid.otherwise === undefined ? named : createEither(member, named, createOfContent(uuid.otherwise));
}

/** `other`: of records without a value there. */
function createEither(member: number, own: PlainUuids, other: PlainUuids): PlainUuids {
  let used = own;
  return {
    get text() {
      return used.text;
    },
    get words() {
      return used.words;
    },
    isCounted: () => used.isCounted(),
    prepare: (spans, json, micros) => {
      const from = spans.memberFrom(member);
      used = from < 0 || isEmpty(json, from, spans.memberTo(member)) ? other : own;
      return used.prepare(spans, json, micros);
    },
    derive: (json) => used.derive(json),
  };
}

function createOfContent({ namespace, occurrences }: PlainContentUuid): PlainUuids {
  const text = Buffer.alloc(36, dash);
  const words = new Uint32Array(wordsPerUuid);
  let named = Buffer.alloc(0);
  let end = 0;
  /** Of so many bytes: more than are worth hashing here. */
  const make = (bytes: number): void => {
    const sum = hash('sha1', named.subarray(0, bytes), 'buffer');
    for (let word = 0; word < wordsPerUuid; word += 1) words[word] = sum.readUInt32BE(word * 4);
    finish(words, text);
  };
  return {
    text,
    words,
    isCounted: always,
    prepare: (spans, json) => {
      const needed = namespace.length + spans.to - spans.from + numberBytesMax;
      if (named.length < needed) named = Buffer.concat([namespace], needed * 2);
      end = writeContent(json, spans.from, named, namespace.length);
      return end >= 0;
    },
    derive: () => {
      make(end);
      const occurrence = occurrences.next(text.toString('latin1'));
      if (occurrence > 1) make(end + named.write(`${partsSeparator}${occurrence}`, end, 'latin1'));
    },
  };
}

const always = (): boolean => true;
const never = (): boolean => false;

/** Version 5, variant of RFC 9562. */
function finish(words: Uint32Array, text: Buffer): void {
  words[1] = ((words[1] as number) & 0xffff0fff) | 0x5000;
  words[2] = ((words[2] as number) & 0x3fffffff) | 0x80000000;
  writeUuid(words, text);
}

/** Those that the records have. */
function createGiven(member: number): PlainUuids {
  const text = Buffer.alloc(36);
  const words = new Uint32Array(wordsPerUuid);
  return {
    text,
    words,
    isCounted: never,
    prepare: (spans, json) => {
      const from = spans.memberFrom(member);
      return (
        from >= 0 &&
        json[from] === quote &&
        spans.memberTo(member) - from === 38 &&
        readUuid(json, from + 1, text, words)
      );
    },
    derive: () => undefined,
  };
}

/** Those of version 5. */
interface Derivation {
  readonly text: Buffer;
  readonly words: Uint32Array;
  /** The namespace, and behind it room for the name. */
  readonly named: Buffer;
  /** Makes the UUID of so many bytes of `named`. */
  make(bytes: number): void;
}

function createDerivation(namespace: Uint8Array): Derivation {
  const named = Buffer.alloc(namespace.length + idBytesMax + numberBytesMax + hashRoomBytes);
  named.set(namespace);
  const text = Buffer.alloc(36, dash);
  const words = new Uint32Array(wordsPerUuid);
  return {
    text,
    words,
    named,
    make: (bytes) => {
      sha1Of(named, bytes, words);
      finish(words, text);
    },
  };
}

function createFromParts({ namespace, parts, mayBeUuid = 0 }: PartsUuid, table: CompiledTable): PlainUuids {
  const { text, words, named, make } = createDerivation(namespace);
  const room: Room = { bytes: named.subarray(0, namespace.length + idBytesMax), end: 0 };
  const pieces = parts.map((part) => pieceOf(part, table));
  /** The first parts are a UUID. */
  let isGiven = false;
  return {
    text,
    words,
    isCounted: never,
    prepare: (spans, json, micros) => {
      isGiven = false;
      room.end = namespace.length;
      for (let at = 0; at < pieces.length; at += 1) {
        if (!(pieces[at] as Piece)(room, spans, json, micros)) return false;
        if (at + 1 !== mayBeUuid || room.end - namespace.length !== 36) continue;
        isGiven = readUuid(named, namespace.length, text, words);
        if (isGiven) return true;
      }
      return true;
    },
    derive: () => {
      if (!isGiven) make(room.end);
    },
  };
}

interface Room {
  readonly bytes: Buffer;
  end: number;
}

/** Puts a part behind the others; false: the record is odd. */
type Piece = (room: Room, spans: RecordSpans, json: Buffer, micros: number) => boolean;

function pieceOf(part: PlainIdPart, table: CompiledTable): Piece {
  if (part === 'time') return timePiece();
  if ('text' in part) {
    const text = Buffer.from(part.text);
    return (room) => put(room, text, 0, text.length);
  }
  if ('path' in part) return pathPiece(table.memberOf(part.path), part.isNeeded === true);
  const { from, make } = part;
  const answers = createAnswers(1024, { of: 'members', numbers: from.map(table.memberOf) }, (values) => {
    const text = make(values);
    return text === undefined ? undefined : Buffer.from(text);
  });
  return (room, spans, json) => {
    const text = answers.of(spans, json);
    return text !== undefined && put(room, text, 0, text.length);
  };
}

function timePiece(): Piece {
  const writeTime = createTimeWriter();
  const text = Buffer.alloc(32);
  return (room, _spans, _json, micros) => put(room, text, 0, writeTime(text, 0, micros));
}

function pathPiece(member: number, isNeeded: boolean): Piece {
  return (room, spans, json) => {
    const from = spans.memberFrom(member);
    const to = spans.memberTo(member);
    if (from < 0 || isEmpty(json, from, to)) return !isNeeded;
    if (json[from] !== quote) return isWhole(json, from, to) && put(room, json, from, to);
    return isPlainId(json, from + 1, to - 1) && put(room, json, from + 1, to - 1);
  };
}

function put(room: Room, source: Buffer, from: number, to: number): boolean {
  const { bytes } = room;
  let { end } = room;
  if (to - from > bytes.length - end) return false;
  for (let at = from; at < to; at += 1) bytes[end++] = source[at] as number;
  room.end = end;
  return true;
}

/** Null, or a text of no character. */
function isEmpty(json: Buffer, from: number, to: number): boolean {
  return json[from] === nullByte || (json[from] === quote && to - from === 2);
}

/** Digits, perhaps with a minus. */
function isWhole(json: Buffer, from: number, to: number): boolean {
  let at = json[from] === dash ? from + 1 : from;
  if (at === to) return false;
  for (; at < to; at += 1) if ((json[at] as number) < 0x30 || (json[at] as number) > 0x39) return false;
  return true;
}

function createDerived(member: number, { namespace, occurrences }: NamedUuid): PlainUuids {
  const { text, words, named, make } = createDerivation(namespace);
  let from = 0;
  let to = 0;
  return {
    text,
    words,
    isCounted: () => occurrences !== undefined,
    prepare: (spans, json) => {
      from = spans.memberFrom(member) + 1;
      to = spans.memberTo(member) - 1;
      return from > 0 && json[from - 1] === quote && isPlainId(json, from, to);
    },
    derive: (json) => {
      let end = namespace.length;
      for (let at = from; at < to; at += 1) named[end++] = json[at] as number;
      make(end);
      const occurrence = occurrences?.next(text.toString('latin1')) ?? 1;
      if (occurrence > 1) make(end + named.write(`${partsSeparator}${occurrence}`, end, 'latin1'));
    },
  };
}

/** Neither blank nor written with escapes. */
function isPlainId(json: Buffer, from: number, to: number): boolean {
  const first = json[from] as number;
  if (to - from > idBytesMax || to === from || first <= 0x20 || first >= 0x7f) return false;
  for (let at = from; at < to; at += 1) if (json[at] === backslash) return false;
  return true;
}

function writeUuid(words: Uint32Array, text: Buffer): void {
  let at = 0;
  for (let word = 0; word < wordsPerUuid; word += 1) {
    const value = words[word] as number;
    for (let shift = 28; shift >= 0; shift -= 4) {
      if (at === 8 || at === 13 || at === 18 || at === 23) at += 1;
      text[at++] = hexDigits[(value >>> shift) & 15] as number;
    }
  }
}

const nibbles = new Int8Array(256).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  nibbles[digit.charCodeAt(0)] = value;
  nibbles[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Into lower case; false: it is none. */
function readUuid(json: Buffer, from: number, text: Buffer, words: Uint32Array): boolean {
  let digit = 0;
  for (let at = 0; at < 36; at += 1) {
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (json[from + at] !== dash) return false;
      text[at] = dash;
      continue;
    }
    const value = nibbles[json[from + at] as number] as number;
    if (value < 0) return false;
    text[at] = hexDigits[value] as number;
    words[digit >> 3] = ((words[digit >> 3] as number) << 4) | value;
    digit += 1;
  }
  return true;
}
