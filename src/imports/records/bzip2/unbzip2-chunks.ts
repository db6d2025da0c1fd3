import { SourceWaitError } from '../../source.ts';
import { readExactly, type ExactReader } from '../read-exactly.ts';
import { takeTurns } from '../take-turns.ts';
import { createBitReader, type BitReader } from './bit-reader.ts';
import { readBlock } from './block.ts';
import { addToChecksum } from './checksum.ts';
import { Bzip2Damage } from './symbols.ts';

/** More than a block can take: 900,000 symbols of 20 bits and its tables. */
const blockBytesMax = 2_400_000;
const blockMark = [0x314159, 0x265359] as const;
const endMark = [0x177245, 0x385090] as const;

/**
 * The bytes of a bzip2 file of any number of streams, block by block, each compared with its checksum. A decoder of our own: a
 * block is at most 46 MB here, whatever is in the file, and nothing in it can make the decoder run on.
 * @throws SourceWaitError when it is damaged or ends early: the transfer may have been cut
 */
export function unbzip2Chunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  return takeTurns(decodeFile(chunks, name));
}

async function* decodeFile(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  const window = createWindow(readExactly(source));
  try {
    while (!(await window.isAtEnd())) yield* decodeStream(window);
  } catch (error) {
    if (!(error instanceof Bzip2Damage)) throw error;
    throw new SourceWaitError(
      `the bzip2 data of ${name} at byte ${window.bytesRead()} cannot be read: ${error.message}; fetch or export the file again`,
      { unlimited: false, cause: error },
    );
  } finally {
    await source.return?.();
  }
}

async function* decodeStream(window: Window): AsyncGenerator<Buffer> {
  const start = await window.open();
  const [magic, level] = [start.read(24), start.read(8) - 0x30];
  if (magic !== 0x425a68 || level < 1 || level > 9) throw new Bzip2Damage('expected the beginning of a stream');
  window.close(start);
  for (let combined = 0; ;) {
    const bits = await window.open();
    const mark = [bits.read(24), bits.read(24)];
    const expected = (bits.read(16) << 16) | bits.read(16);
    if (isSame(mark, endMark)) {
      if (expected !== combined) throw new Bzip2Damage('the checksum of the stream differs');
      bits.alignToByte();
      return window.close(bits);
    }
    if (!isSame(mark, blockMark)) throw new Bzip2Damage(bits.isPastEnd() ? endsEarly : 'expected a block');
    yield* decodeBlock(bits, level, expected);
    combined = ((combined << 1) | (combined >>> 31)) ^ expected;
    window.close(bits);
  }
}

const endsEarly = 'it ends too early';

function* decodeBlock(bits: BitReader, level: number, expected: number): Generator<Buffer> {
  let sum = -1;
  try {
    for (const piece of readBlock(bits, level * 100_000)) {
      sum = addToChecksum(sum, piece);
      yield piece;
    }
  } catch (error) {
    // Behind the end there are zeros, which are damage of some kind.
    throw error instanceof Bzip2Damage && bits.isPastEnd() ? new Bzip2Damage(endsEarly, { cause: error }) : error;
  }
  if (bits.isPastEnd()) throw new Bzip2Damage(endsEarly);
  if (~sum !== expected) throw new Bzip2Damage('the checksum of a block differs');
}

function isSame(mark: readonly number[], other: readonly number[]): boolean {
  return mark.every((part, index) => part === other[index]);
}

/** So much of the file that a whole block lies in it; blocks begin in the middle of bytes. */
interface Window {
  open(): Promise<BitReader>;
  /** Throws Bzip2Damage when more was read than there was. */
  close(bits: BitReader): void;
  isAtEnd(): Promise<boolean>;
  /** Of the file. */
  bytesRead(): number;
}

function createWindow(reader: ExactReader): Window {
  let bytes: Buffer = Buffer.alloc(0);
  let bit = 0;
  let before = 0;
  const fill = async (): Promise<void> => {
    if (bytes.length < blockBytesMax) bytes = Buffer.concat([bytes, await reader.take(blockBytesMax - bytes.length)]);
  };
  return {
    async open() {
      await fill();
      return createBitReader(bytes, bit);
    },
    close(bits) {
      if (bits.isPastEnd()) throw new Bzip2Damage(endsEarly);
      const read = bits.bytesRead();
      bit = bits.bit();
      bytes = bytes.subarray(read);
      before += read;
    },
    async isAtEnd() {
      await fill();
      return bytes.length === 0;
    },
    bytesRead: () => before,
  };
}
