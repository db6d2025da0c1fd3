import type { Transform } from 'node:stream';
import { createZstdDecompress, crc32, createInflateRaw } from 'node:zlib';
import { SourceError, SourceWaitError } from '../source.ts';
import type { ReadHints } from './piece.ts';
import { setImmediate } from 'node:timers/promises';

export const outputBytes = 256 * 1024;
/** Small files may have any compression ratio. */
const unguardedBytesDefault = 256 * 1024 * 1024;

/**
 * Decompresses a zstd file of any number of frames. A decoder ends with its frame if another one follows in the same chunk; a new
 * decoder then continues, so that no frame is lost.
 * @throws SourceWaitError if it is damaged or ends early: the transfer may have been cut off
 */
export async function* unzstdChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  let rest: Buffer | undefined = Buffer.alloc(0);
  let before = 0;
  try {
    while (rest !== undefined) {
      const decoder = createZstdDecompress({ chunkSize: outputBytes });
      const feeding = feedFrame(decoder, rest, source);
      try {
        for await (const chunk of decoder) yield chunk as Buffer;
      } catch (error) {
        throw asDamage(error, 'zstd', name, before + decoder.bytesWritten);
      } finally {
        decoder.destroy();
      }
      rest = await feeding;
      before += decoder.bytesWritten;
    }
  } finally {
    await source.return?.();
  }
}

/**
 * Feeds a frame to the decoder. Returns what the decoder left of the chunk in which the frame ended; `undefined` at the end of
 * the input or after an error. Never rejects.
 */
async function feedFrame(
  decoder: Transform & { readonly bytesWritten: number },
  first: Buffer,
  source: AsyncIterator<Buffer>,
): Promise<Buffer | undefined> {
  let chunk = first;
  let fed = 0;
  try {
    for (;;) {
      fed += chunk.length;
      if (chunk.length > 0) await written(decoder, chunk);
      if (decoder.errored !== null) return undefined;
      if (decoder.bytesWritten < fed) return chunk.subarray(chunk.length - (fed - decoder.bytesWritten));
      if (decoder.destroyed) return undefined;
      const next = await source.next();
      if (next.done === true) {
        decoder.end();
        return undefined;
      }
      chunk = next.value;
    }
  } catch (error) {
    decoder.destroy(error instanceof Error ? error : new Error(String(error)));
    return undefined;
  }
}

/** Resolves when the chunk is processed or the decoder is closed. */
async function written(decoder: Transform, chunk: Buffer): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      decoder.off('close', done);
      resolve();
    };
    decoder.once('close', done);
    decoder.write(chunk, done);
  });
}

/** Converts errors of zlib to errors for the source; others (of the source itself) stay. */
export function asDamage(error: unknown, kind: string, name: string, at: number): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(Z_|ZSTD_)/.test(code)) return error;
  const what = code === 'Z_BUF_ERROR' ? 'ends too early' : 'is damaged';
  return new SourceWaitError(
    `the ${kind} data of ${name} ${what} at byte ${at} (${code}): fetch or export the file again`,
    { unlimited: false, cause: error },
  );
}

/** Stops at an excessive compression ratio: an archive made to fill memory and disks. */
export async function* guardRatio(
  chunks: AsyncIterable<Buffer>,
  {
    name,
    sourceBytes,
    ratioMax,
    unguardedBytes = unguardedBytesDefault,
  }: Pick<ReadHints, 'name' | 'unguardedBytes'> & { readonly ratioMax: number; readonly sourceBytes: () => number },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > unguardedBytes && bytes > ratioMax * sourceBytes()) {
      throw new SourceError(
        `expected at most ${ratioMax} decompressed bytes for each byte of ${name}, got more; if the file is sound, decompress it first`,
      );
    }
    yield chunk;
  }
}

/** Limit of the file name and comment in a header. */
const headerTextMax = 64 * 1024;
const trailerBytes = 8;
const flags = { checksum: 2, extra: 4, name: 8, comment: 16 };

/** Compressed input with look-ahead. */
interface Packed {
  readonly name: string;
  readonly source: AsyncIterator<Buffer>;
  held: Buffer;
  /** Number of bytes consumed. */
  at: number;
}

/**
 * Decompresses a gzip file of any number of members; trailing zeros are padding.
 * @throws SourceWaitError if it is damaged or ends early: the transfer may have been cut off; SourceError if other data follows
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

/** Whether another member follows. Throws SourceError for anything but padding. */
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
    `the gzip data of ${name} ends at byte ${ends}, and is followed by data that is not gzip: fetch or export the file again, ` +
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

/** Skips a zero-terminated text. */
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

/** Buffers at least so many bytes. Returns false if the input ends before. */
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

const turnBytes = 2 * 1024 * 1024;

/** Yields to the event loop after every 2 MB, since decoding in this thread never waits. */
export async function* takeTurns(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    bytes += chunk.length;
    if (bytes < turnBytes) continue;
    bytes = 0;
    await setImmediate();
  }
}
