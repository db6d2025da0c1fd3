/**
 * Something that may end all work under way, or never come. Whoever waits for a piece of work hears of it; Promise.race with a
 * promise that stays open would keep the result of every piece in memory for as long as that.
 */
export interface Interruption {
  /** The first one stands. */
  interrupt(reason: unknown): void;
  /** As the work ends, or with the reason. What the work gives after that is nobody's. */
  race<Result>(work: Promise<Result>): Promise<Result>;
}

export function createInterruption(): Interruption {
  const waiting = new Set<(reason: unknown) => void>();
  let interrupted: { readonly reason: unknown } | undefined;
  return {
    interrupt: (reason) => {
      interrupted ??= { reason };
      for (const reject of waiting) reject(interrupted.reason);
      waiting.clear();
    },
    race: async <Result>(work: Promise<Result>) => {
      const first = Promise.withResolvers<Result>();
      waiting.add(first.reject);
      if (interrupted !== undefined) first.reject(interrupted.reason);
      work.then(first.resolve, first.reject);
      try {
        return await first.promise;
      } finally {
        waiting.delete(first.reject);
      }
    },
  };
}
