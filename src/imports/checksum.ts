import { hash } from 'node:crypto';

/**
 * Checksum over the events of one day and name, the same in whatever order they come: XOR over all of them of the first
 * 8 bytes of `md5(uuid \0 distinct_id \0 µs)`, read as a little-endian number, as 16 hexadecimal digits with the most
 * significant one first. In ClickHouse:
 *
 *     leftPad(lower(hex(groupBitXor(reinterpretAsUInt64(substring(MD5(concat(toString(uuid), '\0', distinct_id, '\0',
 *       toString(toUnixTimestamp64Micro(timestamp)))), 1, 8))))), 16, '0')
 *
 * uuid in lower case; distinct_id as it is stored (see `storedId`); µs since the epoch in decimal digits.
 */
export interface Checksum {
  add(uuid: string, distinctId: string, micros: number | bigint): void;
  digits(): string;
}

/**
 * The second checksum, of what the events say: the same over `md5(uuid \0 properties)`, where properties are the text that is
 * stored, byte for byte, without the mark of the run that ends it (see `runMark`).
 */
export interface ContentChecksum {
  add(uuid: string, properties: string): void;
  digits(): string;
}

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

/** What one event adds to the checksum: the lower half in `words[0]`, the upper half in `words[1]`. */
export function identityWords(uuid: string, distinctId: string, micros: number | bigint, words: Uint32Array): void {
  // As text of one character per byte: several times cheaper than a Buffer per event.
  const bytes = hash('md5', `${uuid}\0${distinctId}\0${micros}`, 'binary');
  words[0] = wordAt(bytes, 0);
  words[1] = wordAt(bytes, 4);
}

export function createContentChecksum(): ContentChecksum {
  let low = 0;
  let high = 0;
  const words = new Uint32Array(2);
  return {
    add: (uuid, properties) => {
      contentWords(uuid, properties, words);
      low ^= words[0] as number;
      high ^= words[1] as number;
    },
    digits: () => checksumDigits(low, high),
  };
}

/** What the properties of one event add to the second checksum. */
export function contentWords(uuid: string, properties: string, words: Uint32Array): void {
  const bytes = hash('md5', `${uuid}\0${properties}`, 'binary');
  words[0] = wordAt(bytes, 0);
  words[1] = wordAt(bytes, 4);
}

/** How the properties of an imported event end; what is before it does not depend on the run. */
export function runMark(runId: string): string {
  return `,"$import_run_id":${JSON.stringify(runId)}}`;
}

/** Properties as they are stored, without the mark of their run. */
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
