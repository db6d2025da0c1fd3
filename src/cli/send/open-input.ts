import { createReadStream, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { CommandProcess } from '../command-process.ts';
import { CommandError } from '../exit-codes.ts';

export interface Input {
  /** The JSON text, decompressed. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Bytes of the source taken so far, as they lie in the file. */
  bytesRead(): number;
  /** Size of the source; undefined for a pipe. */
  readonly bytesTotal: number | undefined;
  /** Stops reading: whoever waits for the next chunk gets an error instead. */
  close(): void;
}

/** Opens a file, or stdin for `-`. Gzip is recognised by its first bytes, not by the name. Errors: CommandError usage. */
export function openInput(path: string, { stdin }: CommandProcess): Input {
  let bytes = 0;
  let stream: Readable | undefined;
  const bytesTotal = path === '-' ? undefined : sizeOf(path);
  async function* counted(): AsyncGenerator<Buffer> {
    stream = path === '-' ? stdin : createReadStream(path, { highWaterMark: 256 * 1024 });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { chunks: inflated(counted()), bytesRead: () => bytes, bytesTotal, close: () => stream?.destroy() };
}

function sizeOf(path: string): number | undefined {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) throw new CommandError('usage', `expected a file, got the directory ${path}`);
    return stat.isFile() ? stat.size : undefined;
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError('usage', `cannot read ${path} (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, {
      cause,
    });
  }
}

async function* inflated(raw: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await raw.next();
  if (first.done === true) return;
  const all = prepend(first.value, raw);
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) {
    yield* all;
    return;
  }
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  const feeding = feed(all, gunzip);
  try {
    yield* gunzip as AsyncIterable<Buffer>;
    await feeding;
  } finally {
    gunzip.destroy();
  }
}

async function* prepend(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function feed(chunks: AsyncIterable<Buffer>, gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (gunzip.destroyed) return;
      if (!gunzip.write(chunk)) await drained(gunzip);
    }
    gunzip.end();
  } catch (error) {
    gunzip.destroy(error as Error);
  }
}

function drained(stream: ReturnType<typeof createGunzip>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
