import { SourceWaitError } from '../source.ts';

const resumesMax = 5;

/**
 * Reads a body and, if its connection breaks, requests the rest from that byte on. Fails after several breaks at the same byte.
 * @param open returns the bytes from `at` to the end, always of the same object
 */
export async function* resumedBody(open: (at: number) => Promise<AsyncIterable<Buffer>>): AsyncGenerator<Buffer> {
  let at = 0;
  for (let resumes = 0; ; resumes += 1) {
    const before = at;
    try {
      for await (const chunk of await open(at)) {
        at += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (at > before) resumes = 0;
      if (!(error instanceof SourceWaitError) || at === 0 || resumes >= resumesMax) throw error;
    }
  }
}
