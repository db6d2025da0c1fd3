/** What a block of bzip2 says, bit by bit; beyond the end it says zeros, which `isPastEnd` tells. */
export interface BitReader {
  /** At most 24 bits, as a number. */
  read(bits: number): number;
  /** The next 20 bits, which stay there. */
  peek(): number;
  skip(bits: number): void;
  alignToByte(): void;
  isPastEnd(): boolean;
  /** Bytes that are read in full. */
  bytesRead(): number;
  /** Bits read of the next byte. */
  bit(): number;
}

const peekBits = 20;

export function createBitReader(bytes: Buffer, startBit: number): BitReader {
  let at = startBit;
  const wordAt = (byte: number): number =>
    ((bytes[byte] ?? 0) << 24) |
    ((bytes[byte + 1] ?? 0) << 16) |
    ((bytes[byte + 2] ?? 0) << 8) |
    (bytes[byte + 3] ?? 0);
  return {
    read(bits) {
      const value = (wordAt(at >> 3) << (at & 7)) >>> (32 - bits);
      at += bits;
      return value;
    },
    peek: () => (wordAt(at >> 3) << (at & 7)) >>> (32 - peekBits),
    skip: (bits) => void (at += bits),
    alignToByte: () => void (at = (at + 7) & ~7),
    isPastEnd: () => at > bytes.length * 8,
    bytesRead: () => at >> 3,
    bit: () => at & 7,
  };
}
