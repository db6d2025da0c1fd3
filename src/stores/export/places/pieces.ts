export interface Piece {
  readonly bytes: Buffer;
  /** Offset in the file. */
  readonly at: number;
  readonly isLast: boolean;
}

/** Divides a file into pieces of this size, and a last one that may be smaller or empty. */
export async function* piecesOf(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Piece> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let at = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    heldBytes += chunk.length;
    // One byte is kept, so that there is a last piece.
    while (heldBytes > size) {
      const all = Buffer.concat(held);
      yield { bytes: all.subarray(0, size), at, isLast: false };
      at += size;
      held = [all.subarray(size)];
      heldBytes -= size;
    }
  }
  yield { bytes: Buffer.concat(held), at, isLast: true };
}
