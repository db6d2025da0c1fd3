import { setImmediate } from 'node:timers/promises';

const turnBytes = 2 * 1024 * 1024;

/** Lets others work after every 2 MB: decoding in this thread is work without waiting. */
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
