import type { LazyDeps } from '../modules.ts';

interface BufferOptions {
  /** What the sum of the sizes may not exceed. */
  readonly limit: number;
  readonly timeoutSeconds?: number;
  readonly onFlush?: (items: unknown[], points: number) => unknown;
}

/**
 * createBuffer of @posthog/plugin-contrib. There are no timers: what is left when a delivery of events is over goes then, and
 * what has waited too long goes with the next `add`.
 */
export const create = ({ bridge, leftOver }: LazyDeps): unknown => ({
  createBuffer: ({ limit, timeoutSeconds = 60, onFlush }: BufferOptions) => {
    let items: unknown[] = [];
    let points = 0;
    let since = 0;
    let flushing: Promise<void> = Promise.resolve();
    const flush = (): Promise<void> => {
      if (items.length === 0) return flushing;
      const batch = items;
      const size = points;
      [items, points] = [[], 0];
      const before = flushing;
      flushing = (async () => {
        // One after the other; what went wrong before has rejected whoever waited for it.
        await before.catch(() => undefined);
        await onFlush?.(batch, size);
      })();
      return flushing;
    };
    const isDue = (): boolean => items.length > 0 && bridge.now() - since >= timeoutSeconds * 1000;
    /** Resolves when nothing had to be flushed for it, or when that is done. */
    const add = async (item: unknown, size: unknown = 1): Promise<void> => {
      const weight = Number(size) || 0;
      const first = isDue() || (items.length > 0 && points + weight > limit) ? flush() : undefined;
      if (items.length === 0) since = bridge.now();
      items.push(item);
      points += weight;
      await first;
      if (points >= limit) await flush();
    };
    leftOver.add(flush);
    return {
      add,
      flush,
      get _buffer() {
        return items;
      },
    };
  },
});
