import type { Transform } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { SourceError, SourceWaitError } from '../source.ts';
import type { ReadHints } from './piece.ts';

export const outputBytes = 256 * 1024;
/** Small files compress as they like. */
const unguardedBytesDefault = 256 * 1024 * 1024;

/**
 * The bytes of a zstd file of any number of frames. A decoder ends with its frame when another follows in the same piece; then a new one takes over, so that
 * no frame is lost.
 * @throws SourceWaitError when it is damaged or ends early: the transfer may have been cut
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

/** What the decoder left of the piece in which its frame ended; undefined: that was all, or it broke. Never rejects. */
export async function feedFrame(
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

/** Resolves when the piece is through, or the decoder is closed. */
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

/** Errors of zlib become what the source can be told; others (of the source itself) stay as they are. */
export function asDamage(error: unknown, kind: string, name: string, at: number): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(Z_|ZSTD_)/.test(code)) return error;
  const what = code === 'Z_BUF_ERROR' ? 'ends too early' : 'is damaged';
  return new SourceWaitError(
    `the ${kind} data of ${name} ${what} at byte ${at} (${code}): fetch or export the file again`,
    { unlimited: false, cause: error },
  );
}

/** Stops what becomes much larger than it was: an archive made to fill memory and disks. */
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
