/** Reads exact numbers of bytes from a stream. */
export interface ExactReader {
  /** Returns so many bytes, fewer at the end of the stream. */
  take(bytes: number): Promise<Buffer>;
  /** Yields the same bytes piece by piece. */
  stream(bytes: number): AsyncGenerator<Buffer>;
}

export function readExactly(source: AsyncIterator<Buffer>): ExactReader {
  let rest: Buffer = Buffer.alloc(0);
  async function* stream(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      if (rest.length === 0) {
        const next = await source.next();
        if (next.done === true) return;
        rest = next.value;
      }
      const piece = rest.subarray(0, left);
      rest = rest.subarray(piece.length);
      left -= piece.length;
      if (piece.length > 0) yield piece;
    }
  }
  return { stream, take: async (bytes) => Buffer.concat(await Array.fromAsync(stream(bytes))) };
}
