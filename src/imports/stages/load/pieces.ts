import type { LoadBatch } from '../../target.ts';
import { splitLines } from '../../targets/lines.ts';

/** The batch in pieces of so many events at most, each with the place of its first event in the batch. */
export function piecesOf(batch: LoadBatch, eventsMax: number): { readonly from: number; readonly batch: LoadBatch }[] {
  if (batch.events <= eventsMax) return [{ from: 0, batch }];
  const lines = splitLines(batch.lines);
  return Array.from({ length: Math.ceil(lines.length / eventsMax) }, (_, index) => {
    const from = index * eventsMax;
    const part = lines.slice(from, from + eventsMax);
    return { from, batch: { day: batch.day, lines: Buffer.from(part.join('\n')), events: part.length } };
  });
}
