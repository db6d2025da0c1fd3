import { crc32, createInflateRaw } from 'node:zlib';
import { SourceError, SourceWaitError } from '../source.ts';
import { asDamage, feedFrame, outputBytes } from './decompress.ts';

/** The name of a file and a comment may stand in a header. */
const headerTextMax = 64 * 1024;
const trailerBytes = 8;
const flags = { checksum: 2, extra: 4, name: 8, comment: 16 };

/** The compressed bytes, of which some are held back: what comes next is looked at before it is taken. */
interface Packed {
  readonly name: string;
  readonly source: AsyncIterator<Buffer>;
  held: Buffer;
  /** Bytes taken so far. */
  at: number;
}

/**
 * The bytes of a gzip file of any number of members; zeros behind the last one are padding.
 * @throws SourceWaitError when it is damaged or ends early: the transfer may have been cut; SourceError when something else follows
 */
export async function* gunzipChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const packed: Packed = { name, source: chunks[Symbol.asyncIterator](), held: Buffer.alloc(0), at: 0 };
  try {
    do {
      await passHeader(packed);
      yield* member(packed);
    } while (await isFollowed(packed));
  } finally {
    await packed.source.return?.();
  }
}

async function* member(packed: Packed): AsyncGenerator<Buffer> {
  const { name, source } = packed;
  const begins = packed.at;
  const decoder = createInflateRaw({ chunkSize: outputBytes });
  const feeding = feedFrame(decoder, packed.held, source);
  let sum = 0;
  let bytes = 0;
  try {
    for await (const chunk of decoder) {
      const content = chunk as Buffer;
      sum = crc32(content, sum);
      bytes += content.length;
      yield content;
    }
  } catch (error) {
    throw asDamage(error, 'gzip', name, packed.at + decoder.bytesWritten);
  } finally {
    decoder.destroy();
  }
  packed.held = (await feeding) ?? Buffer.alloc(0);
  packed.at += decoder.bytesWritten;
  const trailer = await take(packed, trailerBytes);
  if (trailer.readUInt32LE(0) !== sum || trailer.readUInt32LE(4) !== bytes % 2 ** 32) {
    throw damaged(packed, `does not match its checksum between bytes ${begins} and ${packed.at}`);
  }
}

/** Whether another member comes. Throws SourceError where it is anything else but padding. */
async function isFollowed(packed: Packed): Promise<boolean> {
  const ends = packed.at;
  if (!(await hold(packed, 2))) return packed.held.length > 0 && refuse(packed, ends);
  if (packed.held[0] === 0x1f && packed.held[1] === 0x8b) return true;
  do {
    if (packed.held.some((byte) => byte !== 0)) return refuse(packed, ends);
    packed.held = Buffer.alloc(0);
  } while (await hold(packed, 1));
  return false;
}

function refuse({ name, held }: Packed, ends: number): boolean {
  if (held.every((byte) => byte === 0)) return false;
  throw new SourceError(
    `the gzip data of ${name} ends at byte ${ends}, and something else follows that is no gzip: fetch or export the file again, ` +
      `or, if nothing is missing before it, keep its first ${ends} bytes only`,
  );
}

async function passHeader(packed: Packed): Promise<void> {
  const head = await take(packed, 10);
  const flag = head.readUInt8(3);
  if (head.readUInt16BE(0) !== 0x1f8b || head[2] !== 8) throw damaged(packed, `is damaged at byte ${packed.at - 10}`);
  if ((flag & flags.extra) !== 0) await take(packed, (await take(packed, 2)).readUInt16LE());
  if ((flag & flags.name) !== 0) await passText(packed);
  if ((flag & flags.comment) !== 0) await passText(packed);
  if ((flag & flags.checksum) !== 0) await take(packed, 2);
}

/** It ends with a zero. */
async function passText(packed: Packed): Promise<void> {
  for (let count = 0; count < headerTextMax; count += 1) {
    if ((await take(packed, 1))[0] === 0) return;
  }
  throw damaged(packed, `is damaged at byte ${packed.at}`);
}

async function take(packed: Packed, bytes: number): Promise<Buffer> {
  if (!(await hold(packed, bytes))) throw damaged(packed, `ends too early at byte ${packed.at + packed.held.length}`);
  const taken = packed.held.subarray(0, bytes);
  packed.held = packed.held.subarray(bytes);
  packed.at += bytes;
  return taken;
}

/** Whether there are so many bytes. */
async function hold(packed: Packed, bytes: number): Promise<boolean> {
  while (packed.held.length < bytes) {
    const next = await packed.source.next();
    if (next.done === true) return false;
    packed.held = packed.held.length === 0 ? next.value : Buffer.concat([packed.held, next.value]);
  }
  return true;
}

function damaged({ name }: Packed, what: string): SourceWaitError {
  return new SourceWaitError(`the gzip data of ${name} ${what}: fetch or export the file again`, { unlimited: false });
}
