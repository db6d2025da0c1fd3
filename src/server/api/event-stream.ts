import { Readable } from 'node:stream';
import { ApiError } from '../../wire/contract/errors.ts';

export const eventStreamType = 'text/event-stream; charset=utf-8';
export const eventStreamHeaders = { 'content-type': eventStreamType, 'x-accel-buffering': 'no' };

/**
 * Streams texts, requesting each when the client has received the previous one. `close` is called once, however the stream
 * ends.
 */
export function streamOf(texts: AsyncGenerator<string>, close: () => void): Readable {
  // Readable.from would wait for the next text before releasing a client that has disconnected.
  const stream: Readable = new Readable({
    read: () => {
      texts.next().then(
        ({ done, value }) => stream.push(done === true ? null : value),
        (error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    },
    destroy: (error, done) => {
      close();
      done(error);
    },
  });
  return stream;
}

export interface StreamSlots {
  /** Returns a function that frees the slot. @throws ApiError throttled */
  take(projectId: number): () => void;
}

/** Limits open streams. `what` names them in the error. */
export function createStreamSlots(limits: {
  readonly what: string;
  readonly total: number;
  readonly perProject: number;
}): StreamSlots {
  const open = new Map<number, number>();
  let total = 0;
  return {
    take(projectId) {
      const own = open.get(projectId) ?? 0;
      if (own >= limits.perProject || total >= limits.total) {
        const detail = `Expected at most ${limits.perProject} ${limits.what} per project; close one or retry later.`;
        throw new ApiError('throttled', detail, { headers: { 'retry-after': '5' } });
      }
      open.set(projectId, own + 1);
      total += 1;
      return () => {
        const left = (open.get(projectId) ?? 1) - 1;
        if (left === 0) open.delete(projectId);
        else open.set(projectId, left);
        total -= 1;
      };
    },
  };
}
