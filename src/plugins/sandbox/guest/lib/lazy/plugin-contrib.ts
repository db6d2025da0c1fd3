import type { LazyDeps } from '../modules.ts';

interface BufferOptions {
  /** Maximum sum of the sizes. */
  readonly limit: number;
  readonly timeoutSeconds?: number;
  readonly onFlush?: (items: unknown[], points: number) => unknown;
}

/**
 * createBuffer of @posthog/plugin-contrib. There are no timers: items left at the end of a delivery are flushed then, and items
 * that have waited too long with the next `add`.
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
        // One after the other; an earlier failure has rejected its own callers.
        await before.catch(() => undefined);
        await onFlush?.(batch, size);
      })();
      return flushing;
    };
    const isDue = (): boolean => items.length > 0 && bridge.now() - since >= timeoutSeconds * 1000;
    /** Resolves when no flush was needed, or when it is done. */
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
