// Hashes of short messages, in place. A message must be followed by room for its padding: 72 bytes.

const block: usize = 64;

function close(message: usize, length: usize): usize {
  const end = message + (((length + 8) >> 6) + 1) * block;
  store<u8>(message + length, 0x80);
  memory.fill(message + length + 1, 0, end - 8 - (message + length + 1));
  return end;
}

const md5Constants: usize = memory.data<u32>([
  0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8,
  0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
  0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87,
  0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
  0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039,
  0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
  0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
  0xeb86d391,
]);

function md5Step(to: u32, mixed: u32, by: u32, from: usize, step: u32, word: u32, shift: u32): u32 {
  const constant = load<u32>(md5Constants + ((<usize>step) << 2));
  return by + rotl<u32>(to + mixed + constant + load<u32>(from + ((<usize>(word & 15)) << 2)), shift);
}

/** Writes the first two words of the MD5 of a message, little-endian, to `sum`. */
export function md5Of(message: usize, length: usize, sum: usize): void {
  const end = close(message, length);
  store<u64>(end - 8, (<u64>length) << 3);
  let a: u32 = 0x67452301;
  let b: u32 = 0xefcdab89;
  let c: u32 = 0x98badcfe;
  let d: u32 = 0x10325476;
  for (let from = message; from < end; from += block) {
    const oldA = a;
    const oldB = b;
    const oldC = c;
    const oldD = d;
    // Four rounds of sixteen steps; four steps return each word to its place.
    for (let step: u32 = 0; step < 16; step += 4) {
      a = md5Step(a, (b & c) | (~b & d), b, from, step, step, 7);
      d = md5Step(d, (a & b) | (~a & c), a, from, step + 1, step + 1, 12);
      c = md5Step(c, (d & a) | (~d & b), d, from, step + 2, step + 2, 17);
      b = md5Step(b, (c & d) | (~c & a), c, from, step + 3, step + 3, 22);
    }
    for (let step: u32 = 16; step < 32; step += 4) {
      a = md5Step(a, (d & b) | (~d & c), b, from, step, 5 * step + 1, 5);
      d = md5Step(d, (c & a) | (~c & b), a, from, step + 1, 5 * step + 6, 9);
      c = md5Step(c, (b & d) | (~b & a), d, from, step + 2, 5 * step + 11, 14);
      b = md5Step(b, (a & c) | (~a & d), c, from, step + 3, 5 * step + 16, 20);
    }
    for (let step: u32 = 32; step < 48; step += 4) {
      a = md5Step(a, b ^ c ^ d, b, from, step, 3 * step + 5, 4);
      d = md5Step(d, a ^ b ^ c, a, from, step + 1, 3 * step + 8, 11);
      c = md5Step(c, d ^ a ^ b, d, from, step + 2, 3 * step + 11, 16);
      b = md5Step(b, c ^ d ^ a, c, from, step + 3, 3 * step + 14, 23);
    }
    for (let step: u32 = 48; step < 64; step += 4) {
      a = md5Step(a, c ^ (b | ~d), b, from, step, 7 * step, 6);
      d = md5Step(d, b ^ (a | ~c), a, from, step + 1, 7 * step + 7, 10);
      c = md5Step(c, a ^ (d | ~b), d, from, step + 2, 7 * step + 14, 15);
      b = md5Step(b, d ^ (c | ~a), c, from, step + 3, 7 * step + 21, 21);
    }
    a += oldA;
    b += oldB;
    c += oldC;
    d += oldD;
  }
  store<u32>(sum, a);
  store<u32>(sum + 4, b);
}

const sha1Words: usize = memory.data(80 * 4, 8);

/** Writes the first four words of the SHA-1 of a message, big-endian as numbers, to `sum`. */
export function sha1Of(message: usize, length: usize, sum: usize): void {
  const end = close(message, length);
  store<u64>(end - 8, bswap<u64>((<u64>length) << 3));
  let a: u32 = 0x67452301;
  let b: u32 = 0xefcdab89;
  let c: u32 = 0x98badcfe;
  let d: u32 = 0x10325476;
  let e: u32 = 0xc3d2e1f0;
  for (let from = message; from < end; from += block) {
    for (let word: usize = 0; word < 64; word += 4) store<u32>(sha1Words + word, bswap<u32>(load<u32>(from + word)));
    for (let word: usize = 64; word < 320; word += 4) {
      const at = sha1Words + word;
      store<u32>(at, rotl<u32>(load<u32>(at - 12) ^ load<u32>(at - 32) ^ load<u32>(at - 56) ^ load<u32>(at - 64), 1));
    }
    const oldA = a;
    const oldB = b;
    const oldC = c;
    const oldD = d;
    const oldE = e;
    for (let step: usize = 0; step < 20; step++) {
      const next = rotl<u32>(a, 5) + ((b & c) | (~b & d)) + e + 0x5a827999 + load<u32>(sha1Words + (step << 2));
      e = d;
      d = c;
      c = rotl<u32>(b, 30);
      b = a;
      a = next;
    }
    for (let step: usize = 20; step < 40; step++) {
      const next = rotl<u32>(a, 5) + (b ^ c ^ d) + e + 0x6ed9eba1 + load<u32>(sha1Words + (step << 2));
      e = d;
      d = c;
      c = rotl<u32>(b, 30);
      b = a;
      a = next;
    }
    for (let step: usize = 40; step < 60; step++) {
      const next =
        rotl<u32>(a, 5) + ((b & c) | (b & d) | (c & d)) + e + 0x8f1bbcdc + load<u32>(sha1Words + (step << 2));
      e = d;
      d = c;
      c = rotl<u32>(b, 30);
      b = a;
      a = next;
    }
    for (let step: usize = 60; step < 80; step++) {
      const next = rotl<u32>(a, 5) + (b ^ c ^ d) + e + 0xca62c1d6 + load<u32>(sha1Words + (step << 2));
      e = d;
      d = c;
      c = rotl<u32>(b, 30);
      b = a;
      a = next;
    }
    a += oldA;
    b += oldB;
    c += oldC;
    d += oldD;
    e += oldE;
  }
  store<u32>(sum, a);
  store<u32>(sum + 4, b);
  store<u32>(sum + 8, c);
  store<u32>(sum + 12, d);
}

/** Tables of CRC-32 for sixteen bytes at a time; built by the first call. */
const crcTables: usize = memory.data(16 * 256 * 4, 8);

function makeCrcTables(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit: i32 = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    store<u32>(crcTables + ((<usize>byte) << 2), crc);
  }
  for (let at: usize = 0; at < 15 * 1024; at += 4) {
    const before = load<u32>(crcTables + at);
    store<u32>(crcTables + at + 1024, (before >> 8) ^ load<u32>(crcTables + ((<usize>(before & 0xff)) << 2)));
  }
}

function crcTable(table: usize, byte: u32): u32 {
  return load<u32>(crcTables + (table << 10) + ((<usize>byte) << 2));
}

/** Contribution of four bytes that are followed by this many others. */
function crcOfWord(others: usize, word: u32): u32 {
  return (
    crcTable(others + 3, word & 0xff) ^
    crcTable(others + 2, (word >> 8) & 0xff) ^
    crcTable(others + 1, (word >> 16) & 0xff) ^
    crcTable(others, word >> 24)
  );
}

export function crc32(from: usize, to: usize): u32 {
  if (load<u32>(crcTables + 4) == 0) makeCrcTables();
  let crc: u32 = 0xffffffff;
  let at = from;
  for (; at + 16 <= to; at += 16) {
    crc =
      crcOfWord(12, load<u32>(at) ^ crc) ^
      crcOfWord(8, load<u32>(at + 4)) ^
      crcOfWord(4, load<u32>(at + 8)) ^
      crcOfWord(0, load<u32>(at + 12));
  }
  for (; at < to; at++) crc = (crc >> 8) ^ crcTable(0, (crc ^ load<u8>(at)) & 0xff);
  return ~crc;
}
