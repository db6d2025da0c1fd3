import { isUtf8 } from 'node:buffer';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { eventDepthMax } from '../../../../wire/batch/limits.ts';
import { isNoRecord } from '../../../source.ts';

/** One line of a segment. */
export type SegmentLine =
  | { readonly kind: 'record'; readonly record: unknown; readonly text: string }
  | { readonly kind: 'blank'; readonly reason: string }
  /** It is blank, or belongs to the record before it. */
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly code: string; readonly reason: string; readonly text: string };

export const tooDeepReason = `expected at most ${eventDepthMax} levels of nesting in a record, got: more`;
const newline = 0x0a;
const withoutRecord: SegmentLine = { kind: 'blank', reason: 'no value (a tombstone)' };
const none: SegmentLine = { kind: 'none' };

/** Every line, in order; the last one may lack its \n. */
export function* segmentLines(lines: Buffer): Generator<SegmentLine> {
  const isText = isUtf8(lines);
  for (let at = 0; at < lines.length;) {
    const end = lineEnd(lines, at);
    yield readLine(lines, at, end, isText);
    at = end + 1;
  }
}

/** Where the \n of the line that begins at `from` stands, or would stand. */
export function lineEnd(lines: Buffer, from: number): number {
  const found = lines.indexOf(newline, from);
  return found < 0 ? lines.length : found;
}

/** `isText`: all of `lines` is UTF-8. */
export function readLine(lines: Buffer, from: number, to: number, isText: boolean): SegmentLine {
  const text = lines.toString('utf8', from, to);
  if (!isText && !isUtf8(lines.subarray(from, to))) {
    return { kind: 'broken', code: 'invalid_utf8', reason: 'expected UTF-8 text, got: bytes that are not', text };
  }
  if (isBlank(text)) return isNoRecord(text) ? none : withoutRecord;
  try {
    return { kind: 'record', record: parseExactValues(text), text };
  } catch (error) {
    // The mark that some editors put before a file's first line is no part of the record.
    if (text.startsWith('\ufeff')) return readLine(Buffer.from(text.slice(1)), 0, to - from - 3, true);
    // The parser that keeps every digit recurses; the program can do nothing with so deep a record anyway.
    if (error instanceof RangeError) return { kind: 'broken', code: 'event_too_deep', reason: tooDeepReason, text };
    return { kind: 'broken', code: 'invalid_json', reason: brokenReason(error), text };
  }
}

function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return (text === '' || first <= 0x20 || first === 0xfeff) && text.trim() === '';
}

function brokenReason(error: unknown): string {
  // What the parser says quotes the text; where it broke is enough.
  const place = error instanceof Error ? /at position \d+/.exec(error.message)?.[0] : undefined;
  return place === undefined
    ? 'expected one JSON value in the line, got: the line ends before the value does'
    : `expected one JSON value in the line, got: something else ${place}`;
}
