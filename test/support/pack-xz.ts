import { crc32 } from 'node:zlib';

const magic = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]);
/** Checked by CRC32. */
const flags = Buffer.from([0x00, 0x01]);
/** One filter, LZMA2, with a dictionary of 8 MB. */
const blockHeader = withChecksum(Buffer.from([0x02, 0x00, 0x21, 0x01, 0x16, 0, 0, 0]));
const chunkBytes = 65_536;

/** For tests: bytes as an xz stream that stores them as they are. */
export function packXz(bytes: Buffer): Buffer {
  const data = lzma2(bytes);
  const block = Buffer.concat([blockHeader, data, padding(data.length), word(crc32(bytes))]);
  const unpadded = blockHeader.length + data.length + 4;
  const records = Buffer.from([0, 1, ...varint(unpadded), ...varint(bytes.length)]);
  const index = withChecksum(Buffer.concat([records, padding(records.length)]));
  const footer = Buffer.concat([word(index.length / 4 - 1), flags]);
  const end = Buffer.concat([word(crc32(footer)), footer, Buffer.from('YZ')]);
  return Buffer.concat([magic, withChecksum(flags), block, index, end]);
}

function lzma2(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const piece = bytes.subarray(at, at + chunkBytes);
    const size = piece.length - 1;
    parts.push(Buffer.from([at === 0 ? 1 : 2, size >> 8, size & 0xff]), piece);
  }
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function withChecksum(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, word(crc32(bytes))]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
}
