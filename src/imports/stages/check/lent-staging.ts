import type { Answers, Call } from '../../../base/calls.ts';
import type { Staging, Written } from '../../staging.ts';

/** Staging for a thread: what it reads and writes goes through the one that holds the run, with its lease and its quota. */
type Lent = Pick<Staging, 'read' | 'write' | 'description'>;

/** As the thread sees it. */
export function lentStaging(call: Call, description: string): Lent {
  return {
    description,
    async *read(key, range) {
      // What `read` below answers.
      yield asBuffer((await call('read', key, range)) as Uint8Array);
    },
    write: async (key, chunks) => {
      const file = await call('open', key);
      try {
        for await (const chunk of chunks) await call('chunk', file, chunk);
      } catch (error) {
        await call('abandon', file);
        throw error;
      }
      return (await call('close', file)) as Written;
    },
  };
}

export interface LentStaging {
  /** Of the side that has it. */
  readonly answers: Answers;
  /** First error of staging; undefined: there was none. */
  failure(): unknown;
  /** Ends what is still being written. */
  close(): Promise<void>;
}

interface LentFile {
  readonly feed: Feed;
  readonly written: Promise<Written>;
}

export function lendStaging(staging: Lent): LentStaging {
  const files = new Map<number, LentFile>();
  let last = 0;
  let failure: unknown;
  const noting = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      failure ??= error;
      throw error;
    }
  };
  const fileOf = (id: number): LentFile => {
    const file = files.get(id);
    if (file === undefined) throw new RangeError(`expected a file that is being written, got: ${id}`);
    return file;
  };
  const abandon = async (id: number): Promise<void> => {
    const { feed, written } = fileOf(id);
    files.delete(id);
    feed.fail(new Error('the file is not written to its end'));
    await Promise.allSettled([written]);
  };
  return {
    answers: {
      read: (key: string, range: { readonly start: number; readonly end: number }) =>
        noting(readAll(staging, key, range)),
      open: async (key: string) => {
        const feed = createFeed();
        const written = noting(staging.write(key, feed.chunks()));
        // Whoever closes it hears of a failure, or the next chunk.
        written.catch(() => undefined);
        files.set((last += 1), { feed, written });
        return last;
      },
      chunk: async (id: number, bytes: Uint8Array) => {
        const { feed, written } = fileOf(id);
        await Promise.race([feed.push(bytes), written]);
      },
      close: async (id: number) => {
        const { feed, written } = fileOf(id);
        files.delete(id);
        feed.end();
        return await written;
      },
      abandon,
    },
    failure: () => failure,
    close: async () => {
      for (const id of files.keys()) await abandon(id);
    },
  };
}

async function readAll(
  staging: Lent,
  key: string,
  range: { readonly start: number; readonly end: number },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface Feed {
  /** Resolves when it is taken. */
  push(bytes: Uint8Array): Promise<void>;
  end(): void;
  fail(error: Error): void;
  chunks(): AsyncGenerator<Uint8Array>;
}

function createFeed(): Feed {
  const queue: { readonly bytes: Uint8Array; readonly taken: () => void }[] = [];
  let state: 'open' | 'ended' | Error = 'open';
  let wake = (): void => {};
  const end = (as: 'ended' | Error): void => {
    state = as;
    wake();
  };
  return {
    push: (bytes) =>
      new Promise((taken) => {
        queue.push({ bytes, taken });
        wake();
      }),
    end: () => end('ended'),
    fail: end,
    async *chunks() {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) {
          next.taken();
          yield next.bytes;
        } else if (state === 'ended') return;
        else if (state !== 'open') throw state;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** Memory that is nobody else's: small buffers share a pool. */
export function wholeMemory(views: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = views.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer);
  return [...new Set(buffers)].filter((buffer) => buffer.byteLength > Buffer.poolSize);
}

/** Bytes that came from another thread. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
