import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

/**
 * The bytes of an engine's files, unpacked: it writes columns, indexes and marks as blocks of a 16-byte checksum, a method, two lengths
 * and compressed bytes. Files of another form are returned as they are.
 */
const checksumBytes = 16;
const headBytes = 9;
const methods = { none: 0x02, lz4: 0x82, zstd: 0x90 } as const;

/** Names the files below the directory that contain one of these texts. */
export function filesWith(directory: string, texts: readonly string[]): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const bytes = entry.isFile() ? readIfThere(path) : undefined;
    if (bytes === undefined) continue;
    const contents = [bytes, unpacked(bytes)];
    for (const text of texts) if (contents.some((each) => each.includes(text))) found.push(`${path}: ${text}`);
  }
  return found;
}

/** A merge may remove a file at any time. */
function readIfThere(path: string): Buffer | undefined {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : readFileSync(path);
}

/** Returns nothing if the file does not consist of such blocks. */
export function unpacked(file: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    const head = at + checksumBytes;
    if (head + headBytes > file.length) return Buffer.alloc(0);
    const [method, length, plain] = [file[head], file.readUInt32LE(head + 1), file.readUInt32LE(head + 5)];
    if (length < headBytes || head + length > file.length) return Buffer.alloc(0);
    const packed = file.subarray(head + headBytes, head + length);
    if (method === methods.none) blocks.push(packed);
    else if (method === methods.zstd) blocks.push(zstdDecompressSync(packed));
    else if (method === methods.lz4) blocks.push(lz4(packed, plain));
    else return Buffer.alloc(0);
    at = head + length;
  }
  return Buffer.concat(blocks);
}

/** Decodes a block of LZ4: literals and copies of what was decoded before. */
function lz4(packed: Buffer, plainBytes: number): Buffer {
  const plain = Buffer.alloc(plainBytes);
  let [from, to] = [0, 0];
  const length = (nibble: number): number => {
    let sum = nibble;
    for (let byte = nibble === 15 ? 255 : 0; byte === 255;) {
      byte = packed[from++] as number;
      sum += byte;
    }
    return sum;
  };
  while (from < packed.length) {
    const token = packed[from++] as number;
    const literals = length(token >> 4);
    packed.copy(plain, to, from, from + literals);
    [from, to] = [from + literals, to + literals];
    if (from >= packed.length) break;
    const back = packed.readUInt16LE(from);
    from += 2;
    for (const end = to + length(token & 15) + 4; to < end; to++) plain[to] = plain[to - back] as number;
  }
  return plain;
}
