/** CRC-32 as bzip2 has it, its bits the other way round than those of zlib. */
const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value;
});

/** @param sum of what came before; -1 at the beginning, and the complement of the last one is the checksum */
export function addToChecksum(sum: number, bytes: Buffer): number {
  let value = sum;
  for (let index = 0; index < bytes.length; index += 1) {
    value = (value << 8) ^ (table[((value >>> 24) ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return value;
}
