import { SourceWaitError } from '../source.ts';

const resumesMax = 5;

/**
 * A body whose connection may break: it is asked for again from the byte at which it broke, and given up when that happens several
 * times at one byte.
 * @param open the bytes from `at` to the end; of the same object each time
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
