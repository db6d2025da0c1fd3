import { span, spanStride, type ScannedBatch } from './scanned-batch.ts';

type FieldName = Exclude<keyof typeof span, 'flags' | 'problem'>;

/** Start of a field's JSON text; -1 when the event does not have it. */
export function fieldFrom(scan: ScannedBatch, index: number, field: FieldName): number {
  return scan.spans[index * spanStride + span[field]] ?? -1;
}

export function fieldTo(scan: ScannedBatch, index: number, field: FieldName): number {
  return scan.spans[index * spanStride + span[field] + 1] ?? -1;
}

/** Bits of `eventFlag`. */
export function flagsOf(scan: ScannedBatch, index: number): number {
  return scan.spans[index * spanStride + span.flags] ?? 0;
}

/** The JSON text as it was sent. */
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

/** PHP writes an empty map as `[]`: wherever an object is expected it stands for one. */
export function isEmptyArrayAt(json: Buffer, from: number, to: number): boolean {
  return json[from] === 0x5b && /^\[\s*\]$/.test(json.toString('latin1', from, Math.min(to, from + emptyBytesMax)));
}
const emptyBytesMax = 64;

export function isNumberAt(json: Buffer, from: number): boolean {
  const byte = json[from] ?? 0;
  return byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
}

export function hasBackslash(json: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (json[at] === 0x5c) return true;
  return false;
}

/**
 * The text of a JSON string whose quotes stand at `from` and `to - 1`. A lone surrogate (`\ud800`) has no UTF-8 form:
 * it becomes U+FFFD here, always, so that the same bytes give the same text everywhere.
 */
export function stringAt(json: Buffer, from: number, to: number): string {
  if (!hasBackslash(json, from, to)) return json.toString('utf8', from + 1, to - 1);
  return String(JSON.parse(json.toString('utf8', from, to))).toWellFormed();
}

/**
 * A distinct_id as it is stored, uncut: a string as it is, any other value as its JSON text without white space
 * (numbers digit by digit as sent: 12345678901234567890 stays). NUL becomes U+FFFD, as clients of this protocol expect.
 */
export function distinctIdText(json: Buffer, from: number, to: number): string {
  const text = isStringAt(json, from) ? stringAt(json, from, to) : compactJson(textAt(json, from, to));
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** JSON text without the white space between its tokens. */
function compactJson(text: string): string {
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

/** Text of UTF-8 bytes; most are ASCII and short, where reading them one by one beats a decoder. */
export function plainText(json: Buffer, from: number, to: number): string {
  for (let at = from; at < to; at++) if ((json[at] as number) > 0x7f) return json.toString('utf8', from, to);
  return json.toString('latin1', from, to);
}
