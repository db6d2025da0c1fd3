/**
 * A signal that may end all current work, or never fire. Promise.race with a promise that stays open would keep every result in
 * memory as long as that promise; this notifies each waiting race instead.
 */
export interface Interruption {
  /** Only the first call counts. */
  interrupt(reason: unknown): void;
  /** Settles like the work, or rejects with the reason. Later results of the work are ignored. */
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
