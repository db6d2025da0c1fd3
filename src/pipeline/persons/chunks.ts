/**
 * Cuts a list for statements with many parameters. The last piece is filled up to a power of two by repeating its last
 * element, so that only a few different statements exist and each stays prepared. For `in (…)` lists, where repeats are harmless.
 */
export function* paddedChunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) {
    const piece = items.slice(from, from + size);
    const wanted = Math.min(size, 2 ** Math.ceil(Math.log2(piece.length)));
    const fill = piece.slice(-1);
    for (let missing = wanted - piece.length; missing > 0; missing--) piece.push(...fill);
    yield piece;
  }
}

/** Cuts a list for multi-row inserts: pieces of `size`, then powers of two, so that only a few different statements exist. */
export function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  let from = 0;
  while (from < items.length) {
    const left = items.length - from;
    const take = left >= size ? size : 2 ** Math.floor(Math.log2(left));
    yield items.slice(from, from + take);
    from += take;
  }
}
