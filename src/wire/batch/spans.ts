import { span, spanStride, type ScannedBatch } from './scanned-batch.ts';

type FieldName = Exclude<keyof typeof span, 'flags' | 'problem'>;

/** Returns the start of a field's JSON text, or -1 if the event does not have it. */
export function fieldFrom(scan: ScannedBatch, index: number, field: FieldName): number {
  return scan.spans[index * spanStride + span[field]] ?? -1;
}

export function fieldTo(scan: ScannedBatch, index: number, field: FieldName): number {
  return scan.spans[index * spanStride + span[field] + 1] ?? -1;
}

/** Returns the bits of `eventFlag`. */
export function flagsOf(scan: ScannedBatch, index: number): number {
  return scan.spans[index * spanStride + span.flags] ?? 0;
}

/** Returns the JSON text as sent. */
export function textAt(json: Buffer, from: number, to: number): string {
  return json.toString('utf8', from, to);
}

export function isStringAt(json: Buffer, from: number): boolean {
  return json[from] === 0x22;
}

export function isNullAt(json: Buffer, from: number): boolean {
  return json[from] === 0x6e;
}

export function isObjectAt(json: Buffer, from: number): boolean {
  return json[from] === 0x7b;
}

/** Checks for `[]`, which PHP writes for an empty map and which is accepted wherever an object is expected. */
export function isEmptyArrayAt(json: Buffer, from: number, to: number): boolean {
  return json[from] === 0x5b && /^\[\s*\]$/.test(json.toString('latin1', from, Math.min(to, from + emptyBytesMax)));
}
const emptyBytesMax = 64;

export function isNumberAt(json: Buffer, from: number): boolean {
  const byte = json[from] ?? 0;
  return byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
}

function hasBackslash(json: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (json[at] === 0x5c) return true;
  return false;
}

/**
 * Decodes the JSON string with quotes at `from` and `to - 1`. A lone surrogate (`\ud800`) has no UTF-8 form and always becomes
 * U+FFFD, so that the same bytes give the same text everywhere.
 */
export function stringAt(json: Buffer, from: number, to: number): string {
  if (!hasBackslash(json, from, to)) return json.toString('utf8', from + 1, to - 1);
  return String(JSON.parse(json.toString('utf8', from, to))).toWellFormed();
}

/**
 * Returns a distinct_id as stored, without truncation: a string as it is, any other value as its JSON text without white space
 * (numbers keep their digits: 12345678901234567890). NUL becomes U+FFFD, as clients of this protocol expect.
 */
export function distinctIdText(json: Buffer, from: number, to: number): string {
  const text = isStringAt(json, from) ? stringAt(json, from, to) : compactJson(textAt(json, from, to));
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** Removes white space between tokens of JSON text. */
function compactJson(text: string): string {
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

/** Decodes UTF-8 bytes. Most texts are short and ASCII, for which checking each byte beats a decoder. */
export function plainText(json: Buffer, from: number, to: number): string {
  for (let at = from; at < to; at++) if ((json[at] as number) > 0x7f) return json.toString('utf8', from, to);
  return json.toString('latin1', from, to);
}
