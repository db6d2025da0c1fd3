import { open, type FileHandle } from 'node:fs/promises';

/** Whether the memory of a chunk may be used again once the next one is asked for; may change while the file is read. */
export interface ChunkMemory {
  isReused: boolean;
}

const chunkBytes = 1024 * 1024;

/**
 * A file from its beginning to its end; the next chunk is read while one is looked at. Of memory that is left to the garbage
 * collector, a few hundred megabytes make it run dozens of full collections: who needs no chunk any longer than until it asks for
 * the next one says so, and then two pieces are enough. Throws the file system's errors.
 */
export async function* fileChunks(path: string, memory: ChunkMemory): AsyncGenerator<Buffer> {
  const file = await open(path);
  let reading: Promise<Buffer> | undefined;
  try {
    let free: Buffer | undefined;
    reading = readChunk(file, newChunk());
    for (;;) {
      const chunk = await reading;
      if (chunk.length === 0) return;
      reading = readChunk(file, free ?? newChunk());
      // Whoever waits for it hears of a failure.
      reading.catch(() => undefined);
      yield chunk;
      free = memory.isReused ? Buffer.from(chunk.buffer) : undefined;
    }
  } finally {
    await reading?.catch(() => undefined);
    await file.close();
  }
}

function newChunk(): Buffer {
  return Buffer.allocUnsafeSlow(chunkBytes);
}

/** Empty: the file has ended. */
async function readChunk(file: FileHandle, into: Buffer): Promise<Buffer> {
  const { bytesRead } = await file.read(into, 0, into.length);
  return into.subarray(0, bytesRead);
}
