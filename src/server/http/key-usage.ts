import { LRUCache } from 'lru-cache';
import { isoMicros, type Clock } from '../../base/clock.ts';

const flushMs = 10_000;
const keysMax = 10_000;

/** Collects when keys (or sessions) were used, and writes it in batches: at most once in `everyMs` per key. */
export interface KeyUsage {
  /** @param lastUsedAt as stored; null: never */
  used(keyId: string, lastUsedAt: string | null): void;
  flush(): Promise<void>;
  /** Writes what is left and stops the timer. */
  close(): Promise<void>;
}

export function createKeyUsage(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly write: (usedAt: ReadonlyMap<string, string>) => Promise<void>;
  readonly onError: (error: unknown) => void;
}): KeyUsage {
  const { everyMs } = options;
  const lastNoted = new LRUCache<string, number>({ max: keysMax });
  let pending = new Map<string, string>();
  const flush = async (): Promise<void> => {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await options.write(batch);
    } catch (error) {
      // A lost time of use is no reason to fail a request; the next use notes it again.
      for (const keyId of batch.keys()) lastNoted.delete(keyId);
      options.onError(error);
    }
  };
  const timer = setInterval(() => void flush(), flushMs);
  timer.unref();
  return {
    used(keyId, lastUsedAt) {
      const now = options.clock.now();
      const noted = lastNoted.get(keyId) ?? (lastUsedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastUsedAt));
      if (now - noted < everyMs) return;
      lastNoted.set(keyId, now);
      pending.set(keyId, isoMicros(now));
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
