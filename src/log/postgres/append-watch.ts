import type { Connected } from './connect.ts';
import { readEnds } from './writer.ts';

interface Watched {
  /** `lane/slot` */
  readonly place: string;
  /** Last seq that was read. */
  readonly seen: number;
}

/** Waits for appends to all slots of the process with one query, as long as a reader waits. */
export interface AppendWatch {
  /** Resolves when records may have arrived, after `timeoutMs`, or when the signal is aborted. Does not keep the process alive. */
  wait(watched: readonly Watched[], timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

interface Waiter {
  readonly watched: readonly Watched[];
  readonly resolve: () => void;
}

/**
 * Polling also works through a connection pooler, and does not make commits wait for each other, as notifications do. The query reads
 * two rows a slot.
 */
const pollMs = 50;
const restMs = 500;

export function createAppendWatch(connected: Connected, failed: (error: unknown) => void): AppendWatch {
  const waiting = new Set<Waiter>();
  let isClosed = false;
  let isPolling = false;
  let timer: NodeJS.Timeout | undefined;

  const end = (waiter: Waiter): void => {
    if (waiting.delete(waiter)) waiter.resolve();
  };

  const poll = async (): Promise<void> => {
    timer = undefined;
    isPolling = true;
    let restsMs = pollMs;
    try {
      const ends = await readEnds(connected);
      for (const waiter of waiting) {
        if (waiter.watched.some(({ place, seen }) => (ends.get(place) ?? 0) > seen)) end(waiter);
      }
    } catch (error) {
      restsMs = restMs;
      // The next read reports it.
      if (!isClosed) failed(error);
    }
    isPolling = false;
    pollAfter(restsMs);
  };

  const pollAfter = (ms: number): void => {
    if (isClosed || waiting.size === 0 || isPolling || timer !== undefined) return;
    timer = setTimeout(() => void poll(), ms).unref();
  };

  return {
    wait: async (watched, timeoutMs, signal) => {
      if (isClosed || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiter: Waiter = { watched, resolve };
      const stop = (): void => end(waiter);
      waiting.add(waiter);
      const timeout = setTimeout(stop, timeoutMs).unref();
      signal.addEventListener('abort', stop, { once: true });
      pollAfter(0);
      await promise;
      clearTimeout(timeout);
      signal.removeEventListener('abort', stop);
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const waiter of waiting) end(waiter);
    },
  };
}
