/**
 * Splits a list for statements with many parameters. The last chunk is padded to a power of two by repeating its last
 * element, so that only a few different statements exist and stay prepared. For `in (…)` lists, where repeats are harmless.
 */
export function* paddedChunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) {
    const chunk = items.slice(from, from + size);
    const wanted = Math.min(size, 2 ** Math.ceil(Math.log2(chunk.length)));
    const fill = chunk.slice(-1);
    for (let missing = wanted - chunk.length; missing > 0; missing--) chunk.push(...fill);
    yield chunk;
  }
}

/** Splits a list for multi-row inserts: chunks of `size`, then powers of two, so that only a few different statements exist. */
export function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  let from = 0;
  while (from < items.length) {
    const left = items.length - from;
    const take = left >= size ? size : 2 ** Math.floor(Math.log2(left));
    yield items.slice(from, from + take);
    from += take;
  }
}
