import type { LoadBatch } from '../../target.ts';

/** Events of a day as JSON on one line each. */
export interface EventTexts {
  readonly day: string;
  readonly texts: readonly string[];
}

/** Maximum size of one batch of JSON. */
export const batchBytesMax = 4 << 20;

export function batchOf({ day, texts }: EventTexts): LoadBatch {
  return { day, lines: Buffer.from(texts.join('\n')), events: texts.length };
}

/** Divides events into pieces of limited count and size, each with the position of its first event; a single event may be larger. */
export function piecesOf(
  { day, texts }: EventTexts,
  { eventsMax = Infinity, bytesMax = batchBytesMax }: { readonly eventsMax?: number; readonly bytesMax?: number } = {},
): { readonly from: number; readonly piece: EventTexts }[] {
  const pieces: { readonly from: number; readonly piece: EventTexts }[] = [];
  let from = 0;
  let bytes = 0;
  const cut = (to: number): void => {
    pieces.push({ from, piece: { day, texts: texts.slice(from, to) } });
    from = to;
    bytes = 0;
  };
  for (const [at, text] of texts.entries()) {
    const size = Buffer.byteLength(text) + 1;
    if (at > from && (at - from === eventsMax || bytes + size > bytesMax)) cut(at);
    bytes += size;
  }
  if (from < texts.length) cut(texts.length);
  return pieces;
}
