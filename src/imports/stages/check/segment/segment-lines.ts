import { isUtf8 } from 'node:buffer';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { eventDepthMax } from '../../../../wire/batch/limits.ts';
import { isNoRecord } from '../../../source.ts';

/** One line of a segment. */
export type SegmentLine =
  | { readonly kind: 'record'; readonly record: unknown; readonly text: string }
  | { readonly kind: 'blank'; readonly reason: string }
  /** Blank, or part of the previous record. */
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly code: string; readonly reason: string; readonly text: string };

export const tooDeepReason = `expected at most ${eventDepthMax} levels of nesting in a record, got: more`;
const newline = 0x0a;
const withoutRecord: SegmentLine = { kind: 'blank', reason: 'no value (a tombstone)' };
const none: SegmentLine = { kind: 'none' };

/** Yields every line in order; the last one may lack its \n. */
export function* segmentLines(lines: Buffer): Generator<SegmentLine> {
  const isText = isUtf8(lines);
  for (let at = 0; at < lines.length;) {
    const end = lineEnd(lines, at);
    yield readLine(lines, at, end, isText);
    at = end + 1;
  }
}

/** Returns the position of the \n that ends the line at `from`, or the end of `lines`. */
export function lineEnd(lines: Buffer, from: number): number {
  const found = lines.indexOf(newline, from);
  return found < 0 ? lines.length : found;
}

/** `isText` tells that all of `lines` is valid UTF-8. */
export function readLine(lines: Buffer, from: number, to: number, isText: boolean): SegmentLine {
  const text = lines.toString('utf8', from, to);
  if (!isText && !isUtf8(lines.subarray(from, to))) {
    return { kind: 'broken', code: 'invalid_utf8', reason: 'expected UTF-8 text, got: other bytes', text };
  }
  if (isBlank(text)) return isNoRecord(text) ? none : withoutRecord;
  try {
    return { kind: 'record', record: parseExactValues(text), text };
  } catch (error) {
    // A byte order mark at the start of a file is not part of the record.
    if (text.startsWith('\ufeff')) return readLine(Buffer.from(text.slice(1)), 0, to - from - 3, true);
    // The parser that keeps every digit recurses; ingest would refuse so deep a record anyway.
    if (error instanceof RangeError) return { kind: 'broken', code: 'event_too_deep', reason: tooDeepReason, text };
    return { kind: 'broken', code: 'invalid_json', reason: brokenReason(error), text };
  }
}

function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return (text === '' || first <= 0x20 || first === 0xfeff) && text.trim() === '';
}

function brokenReason(error: unknown): string {
  // The parser's message quotes the text; the position is enough.
  const place = error instanceof Error ? /at position \d+/.exec(error.message)?.[0] : undefined;
  return place === undefined
    ? 'expected one JSON value in the line, got: the line ends before the value does'
    : `expected one JSON value in the line, got: something else ${place}`;
}
