import { commasForNewlines } from '../../base/json-lines.ts';
import type { LoadBatch } from '../target.ts';
import type { BatchEvents } from './send-batch.ts';

const newline = 0x0a;

/** Returns the lines of a batch as events of a JSON array, without parsing them. */
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

/** Copies lines with a comma for each newline; JSON on one line contains no newline. */
function withCommas(lines: Uint8Array): Buffer<ArrayBuffer> {
  const copy = Buffer.from(lines);
  commasForNewlines(copy);
  return copy;
}

/** Returns the lines as texts. */
export function splitLines(lines: Buffer): string[] {
  return lines.length === 0 ? [] : lines.toString('utf8').split('\n');
}

function lineStarts(lines: Buffer): number[] {
  const starts = [0];
  for (let at = lines.indexOf(newline); at >= 0; at = lines.indexOf(newline, at + 1)) starts.push(at + 1);
  return starts;
}
