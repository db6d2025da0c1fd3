/**
 * MD5 and SHA-1 of a few dozen bytes, as words: calling the platform for so few takes longer than they do, and makes objects. They
 * tell events apart here, and keep nothing secret.
 */

/** Behind a message there has to be room for so many bytes, which its end is written into. */
export const hashRoomBytes = 72;

const blockBytes = 64;
const words = new Int32Array(80);
const md5Constants = Int32Array.from({ length: 64 }, (_, index) => Math.floor(Math.abs(Math.sin(index + 1)) * 2 ** 32));
const md5Shifts = Uint8Array.from(
  [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
  ].flatMap((round) => Array.from({ length: 16 }, (_, index) => round[index % 4] ?? 0)),
);
const md5Words = Uint8Array.from({ length: 64 }, (_, index) => {
  const [first, step] = [
    [0, 1],
    [1, 5],
    [5, 3],
    [0, 7],
  ][index >> 4] as [number, number];
  return (first + step * index) % 16;
});

/** The first two words of the MD5 of `bytes` up to `length`, little-endian, into `sum`. */
export function md5Of(bytes: Uint8Array, length: number, sum: Uint32Array): void {
  const end = close(bytes, length);
  writeWord(bytes, end - 8, length << 3, true);
  writeWord(bytes, end - 4, length >>> 29, true);
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  for (let from = 0; from < end; from += blockBytes) {
    for (let word = 0; word < 16; word += 1) words[word] = littleWord(bytes, from + word * 4);
    const oldA = a;
    const oldB = b;
    const oldC = c;
    const oldD = d;
    for (let step = 0; step < 64; step += 1) {
      const mixed =
        step < 16 ? (b & c) | (~b & d) : step < 32 ? (d & b) | (~d & c) : step < 48 ? b ^ c ^ d : c ^ (b | ~d);
      const turned = (a + mixed + (md5Constants[step] as number) + (words[md5Words[step] as number] as number)) | 0;
      const shift = md5Shifts[step] as number;
      a = d;
      d = c;
      c = b;
      b = (b + ((turned << shift) | (turned >>> (32 - shift)))) | 0;
    }
    a = (a + oldA) | 0;
    b = (b + oldB) | 0;
    c = (c + oldC) | 0;
    d = (d + oldD) | 0;
  }
  sum[0] = a;
  sum[1] = b;
}

/** The first four words of the SHA-1 of `bytes` up to `length`, big-endian, into `sum`. */
export function sha1Of(bytes: Uint8Array, length: number, sum: Uint32Array): void {
  const end = close(bytes, length);
  writeWord(bytes, end - 8, length >>> 29, false);
  writeWord(bytes, end - 4, length << 3, false);
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  let e = 0xc3d2e1f0 | 0;
  for (let from = 0; from < end; from += blockBytes) {
    for (let word = 0; word < 16; word += 1) words[word] = bigWord(bytes, from + word * 4);
    for (let word = 16; word < 80; word += 1) words[word] = spread(word);
    const oldA = a;
    const oldB = b;
    const oldC = c;
    const oldD = d;
    const oldE = e;
    for (let step = 0; step < 80; step += 1) {
      const mixed =
        step < 20
          ? ((b & c) | (~b & d)) + 0x5a827999
          : step < 40
            ? (b ^ c ^ d) + 0x6ed9eba1
            : step < 60
              ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
              : (b ^ c ^ d) + 0xca62c1d6;
      const next = (((a << 5) | (a >>> 27)) + mixed + e + (words[step] as number)) | 0;
      e = d;
      d = c;
      c = (b << 30) | (b >>> 2);
      b = a;
      a = next;
    }
    a = (a + oldA) | 0;
    b = (b + oldB) | 0;
    c = (c + oldC) | 0;
    d = (d + oldD) | 0;
    e = (e + oldE) | 0;
  }
  sum[0] = a;
  sum[1] = b;
  sum[2] = c;
  sum[3] = d;
}

function spread(word: number): number {
  const mixed =
    (words[word - 3] as number) ^
    (words[word - 8] as number) ^
    (words[word - 14] as number) ^
    (words[word - 16] as number);
  return (mixed << 1) | (mixed >>> 31);
}

/** Writes what stands behind every message but its length; gives where the last block ends. */
function close(bytes: Uint8Array, length: number): number {
  const end = (((length + 8) >> 6) + 1) * blockBytes;
  if (end > bytes.length) throw new RangeError(`expected room for ${end} bytes, got: ${bytes.length}`);
  bytes[length] = 0x80;
  for (let at = length + 1; at < end - 8; at += 1) bytes[at] = 0;
  return end;
}

function writeWord(bytes: Uint8Array, at: number, word: number, isLittle: boolean): void {
  for (let byte = 0; byte < 4; byte += 1) bytes[at + byte] = word >>> (isLittle ? byte * 8 : 24 - byte * 8);
}

function littleWord(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

function bigWord(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
