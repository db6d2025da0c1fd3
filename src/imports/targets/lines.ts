import type { LoadBatch } from '../target.ts';
import type { BatchEvents } from './send-batch.ts';

const newline = 0x0a;
const comma = 0x2c;
const openArray = 0x5b;
const closeArray = 0x5d;

/** The lines of a batch as events of a JSON array, without parsing them. */
export function batchEvents({ lines, events }: LoadBatch): BatchEvents {
  let starts: readonly number[] | undefined;
  return {
    count: events,
    json: (from, to) => {
      if (from === 0 && to === events) return withCommas(lines);
      starts ??= lineStarts(lines);
      return withCommas(lines.subarray(starts[from] ?? 0, (starts[to] ?? lines.length + 1) - 1));
    },
  };
}

/** A copy with a comma for each newline: JSON on one line has no newline inside. */
export function withCommas(lines: Uint8Array): Buffer<ArrayBuffer> {
  const copy = Buffer.from(lines);
  putCommas(copy);
  return copy;
}

function putCommas(json: Buffer): void {
  for (let at = json.indexOf(newline); at >= 0; at = json.indexOf(newline, at + 1)) json[at] = comma;
}

/** The lines as a JSON array, in memory of its own. */
export function arrayOf(lines: Uint8Array): Buffer<ArrayBuffer> {
  const array = Buffer.allocUnsafeSlow(lines.length + 2);
  array[0] = openArray;
  array.set(lines, 1);
  array[lines.length + 1] = closeArray;
  putCommas(array);
  return array;
}

/** Line `index` as text. */
export function splitLines(lines: Buffer): string[] {
  return lines.length === 0 ? [] : lines.toString('utf8').split('\n');
}

function lineStarts(lines: Buffer): number[] {
  const starts = [0];
  for (let at = lines.indexOf(newline); at >= 0; at = lines.indexOf(newline, at + 1)) starts.push(at + 1);
  return starts;
}
