/**
 * Key of the shard of a row: murmur3 (32 bits, seed 0) of `<project>:<distinct_id>`, as the engine's murmurHash3_32 computes it.
 * Equal identities have the same project and distinct_id, so their rows are always on one shard.
 */
export const shardKeySql = "murmurHash3_32(concat(toString(project_id), ':', distinct_id))";

/** Creates a hash function for many rows, which keeps the bytes of the last project. */
export function createShardHash(): (projectId: number, from: Uint8Array, start: number, end: number) => number {
  let project: number | undefined;
  let prefixBytes = 0;
  let text = new Uint8Array(256);
  return (projectId, from, start, end) => {
    if (projectId !== project) {
      project = projectId;
      prefixBytes = Buffer.from(text.buffer).write(`${projectId}:`, 'latin1');
    }
    const size = prefixBytes + end - start;
    if (size > text.length) {
      const grown = new Uint8Array(size * 2);
      grown.set(text.subarray(0, prefixBytes));
      text = grown;
    }
    for (let at = start, to = prefixBytes; at < end; at++, to++) text[to] = from[at] as number;
    return murmur3(text, size);
  };
}

function murmur3(bytes: Uint8Array, size: number): number {
  let hash = 0;
  const whole = size & ~3;
  for (let at = 0; at < whole; at += 4) {
    hash ^= mixed(wordAt(bytes, at));
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
  }
  let rest = 0;
  for (let at = size - 1; at >= whole; at--) rest = (rest << 8) | (bytes[at] as number);
  if (whole < size) hash ^= mixed(rest);
  hash ^= size;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mixed(word: number): number {
  const scattered = Math.imul(word, 0xcc9e2d51);
  return Math.imul((scattered << 15) | (scattered >>> 17), 0x1b873593);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
