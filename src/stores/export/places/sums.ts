import { createHash } from 'node:crypto';

/** Sums the bytes that pass through. */
export function createSums(): {
  passing(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  found(): { readonly bytes: number; readonly sha256: string };
} {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async *passing(chunks) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    found: () => ({ bytes, sha256: hash.digest('hex') }),
  };
}
