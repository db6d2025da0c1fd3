import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Checksum over the events of one day and name, independent of their order: XOR over all events of the first 8 bytes of
 * `md5(uuid \0 distinct_id \0 µs)`, read as a little-endian number, as 16 hexadecimal digits with the most
 * significant one first. In ClickHouse:
 *
 *     leftPad(lower(hex(groupBitXor(reinterpretAsUInt64(substring(MD5(concat(toString(uuid), '\0', distinct_id, '\0',
 *       toString(toUnixTimestamp64Micro(timestamp)))), 1, 8))))), 16, '0')
 *
 * uuid in lower case; distinct_id as stored (see `storedId`); µs since the epoch in decimal digits.
 */
export interface Checksum {
  add(uuid: string, distinctId: string, micros: number | bigint): void;
  digits(): string;
}

/**
 * Second checksum, over the contents of events. `crc32`: XOR of two words per event, computed from the CRC-32 of its stored properties
 * without their last brace or the run mark that ends them (see `runMark`), and from the two halves of the event's contribution to the
 * first checksum, so that it changes when two events exchange their properties:
 *
 *     lower half: lower 32 bits of (crc XOR low) * (high OR 1); upper half: those of (crc XOR high) * (low OR 1)
 *
 * Its digits are prefixed with `crc32:`. `md5`: runs and services of earlier versions have the XOR of the first 8 bytes of
 * `md5(uuid \0 properties)`, including the last brace.
 */
interface ContentChecksum {
  /** `properties` without the run mark. */
  add(event: ChecksumEvent, properties: string): void;
  digits(): string;
}

interface ChecksumEvent {
  readonly uuid: string;
  readonly distinctId: string;
  readonly micros: number | bigint;
}

export const contentKinds = ['crc32', 'md5'] as const;
export type ContentKind = (typeof contentKinds)[number];

/** XOR of nothing. */
export const emptyChecksum = '0000000000000000';

export function createChecksum(): Checksum {
  let low = 0;
  let high = 0;
  const words = new Uint32Array(2);
  return {
    add: (uuid, distinctId, micros) => {
      identityWords(uuid, distinctId, micros, words);
      low ^= words[0] as number;
      high ^= words[1] as number;
    },
    digits: () => checksumDigits(low, high),
  };
}

/** Computes what one event adds to the checksum: the lower half in `words[0]`, the upper half in `words[1]`. */
export function identityWords(uuid: string, distinctId: string, micros: number | bigint, words: Uint32Array): void {
  // One character per byte is several times cheaper than a Buffer per event.
  md5Words(`${uuid}\0${distinctId}\0${micros}`, words);
}

/** Computes the first eight bytes of the MD5 of a text or its UTF-8. */
function md5Words(text: string | Uint8Array, words: Uint32Array): void {
  const bytes = hash('md5', text, 'binary');
  words[0] = wordAt(bytes, 0);
  words[1] = wordAt(bytes, 4);
}

export function createContentChecksum(kind: ContentKind = 'crc32'): ContentChecksum {
  let low = 0;
  let high = 0;
  const words = new Uint32Array(2);
  return {
    add: ({ uuid, distinctId, micros }, properties) => {
      if (kind === 'md5') md5Words(`${uuid}\0${properties}`, words);
      else {
        identityWords(uuid, distinctId, micros, words);
        contentWords(properties, words[0] as number, words[1] as number, words);
      }
      low ^= words[0] as number;
      high ^= words[1] as number;
    },
    digits: () => (kind === 'md5' ? checksumDigits(low, high) : contentDigits(low, high)),
  };
}

/** Computes what one event's properties add to the second checksum; `low` and `high` are what it adds to the first. */
export function contentWords(properties: string, low: number, high: number, words: Uint32Array): void {
  crcWords(crc32(properties.slice(0, -1)), low, high, words);
}

/** Does the same for the CRC-32 of the properties without their last brace. */
function crcWords(crc: number, low: number, high: number, words: Uint32Array): void {
  words[0] = Math.imul(crc ^ low, high | 1);
  words[1] = Math.imul(crc ^ high, low | 1);
}

const crcPrefix = 'crc32:';

export function contentDigits(low: number, high: number): string {
  return crcPrefix + checksumDigits(low, high);
}

/** `digits` are 16 hexadecimal digits of that kind. */
export function contentText(kind: ContentKind, digits: string): string {
  return kind === 'md5' ? digits : crcPrefix + digits;
}

export function contentKindOf(content: string): ContentKind {
  return content.startsWith(crcPrefix) ? 'crc32' : 'md5';
}

/** Combines two checksums of one kind. */
export function xorChecksums(one: string, other: string): string {
  const prefix = one.startsWith(crcPrefix) ? crcPrefix : '';
  const [a, b] = [one, other].map((each) => BigInt(`0x${each.slice(prefix.length)}`)) as [bigint, bigint];
  return prefix + (a ^ b).toString(16).padStart(16, '0');
}

/** Returns the end of an imported event's properties; what precedes it does not depend on the run. */
export function runMark(runId: string): string {
  return `,"$import_run_id":${JSON.stringify(runId)}}`;
}

/** Returns stored properties without the mark of their run. */
export function withoutRunMark(properties: string, runId: string): string {
  const mark = runMark(runId);
  return properties.endsWith(mark) ? `${properties.slice(0, -mark.length)}}` : properties;
}

function wordAt(bytes: string, at: number): number {
  return (
    bytes.charCodeAt(at) |
    (bytes.charCodeAt(at + 1) << 8) |
    (bytes.charCodeAt(at + 2) << 16) |
    (bytes.charCodeAt(at + 3) << 24)
  );
}

export function checksumDigits(low: number, high: number): string {
  return hexWord(high) + hexWord(low);
}

function hexWord(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
