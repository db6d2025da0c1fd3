// Hashes of short messages, in place. A message has room behind it for what closes it: 72 bytes.

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
const md5Shifts: usize = memory.data<u8>([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]);

/** The first two words of the MD5 of a message, little-endian, into `sum`. */
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
    for (let step: u32 = 0; step < 64; step++) {
      let mixed: u32;
      let word: u32;
      if (step < 16) {
        mixed = (b & c) | (~b & d);
        word = step;
      } else if (step < 32) {
        mixed = (d & b) | (~d & c);
        word = (5 * step + 1) & 15;
      } else if (step < 48) {
        mixed = b ^ c ^ d;
        word = (3 * step + 5) & 15;
      } else {
        mixed = c ^ (b | ~d);
        word = (7 * step) & 15;
      }
      const turned =
        a + mixed + load<u32>(md5Constants + ((<usize>step) << 2)) + load<u32>(from + ((<usize>word) << 2));
      a = d;
      d = c;
      c = b;
      b = b + rotl<u32>(turned, load<u8>(md5Shifts + <usize>(((step >> 4) << 2) | (step & 3))));
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

/** The first four words of the SHA-1 of a message, big-endian as numbers, into `sum`. */
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
    for (let step: usize = 0; step < 80; step++) {
      let mixed: u32;
      if (step < 20) mixed = ((b & c) | (~b & d)) + 0x5a827999;
      else if (step < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1;
      else if (step < 60) mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
      else mixed = (b ^ c ^ d) + 0xca62c1d6;
      const next = rotl<u32>(a, 5) + mixed + e + load<u32>(sha1Words + (step << 2));
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

/** Tables of CRC-32, for eight bytes at a time; made by the first call. */
const crcTables: usize = memory.data(8 * 256 * 4, 8);

function makeCrcTables(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit: i32 = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    store<u32>(crcTables + ((<usize>byte) << 2), crc);
  }
  for (let at: usize = 0; at < 7 * 1024; at += 4) {
    const before = load<u32>(crcTables + at);
    store<u32>(crcTables + at + 1024, (before >> 8) ^ load<u32>(crcTables + ((<usize>(before & 0xff)) << 2)));
  }
}

function crcTable(table: usize, byte: u32): u32 {
  return load<u32>(crcTables + (table << 10) + ((<usize>byte) << 2));
}

export function crc32(from: usize, to: usize): u32 {
  if (load<u32>(crcTables + 4) == 0) makeCrcTables();
  let crc: u32 = 0xffffffff;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const low = load<u32>(at) ^ crc;
    const high = load<u32>(at + 4);
    crc =
      crcTable(7, low & 0xff) ^
      crcTable(6, (low >> 8) & 0xff) ^
      crcTable(5, (low >> 16) & 0xff) ^
      crcTable(4, low >> 24) ^
      crcTable(3, high & 0xff) ^
      crcTable(2, (high >> 8) & 0xff) ^
      crcTable(1, (high >> 16) & 0xff) ^
      crcTable(0, high >> 24);
  }
  for (; at < to; at++) crc = (crc >> 8) ^ crcTable(0, (crc ^ load<u8>(at)) & 0xff);
  return ~crc;
}
