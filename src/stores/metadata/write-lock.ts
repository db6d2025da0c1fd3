/** Releases the lock; calling it again does nothing. */
export type Release = () => void;

export interface WriteLock {
  /** Queues for the lock. Rejects after `waitMsMax`. */
  acquire(waitMsMax: number): Promise<Release>;
}

interface Waiter {
  readonly grant: (release: Release) => void;
  readonly timer: NodeJS.Timeout;
}

/** Creates a lock within this thread: first come, first served. */
export function createWriteLock(): WriteLock {
  let held = false;
  const waiters: Waiter[] = [];

  const createRelease = (): Release => {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = waiters.shift();
      if (next === undefined) {
        held = false;
        return;
      }
      clearTimeout(next.timer);
      next.grant(createRelease());
    };
  };

  const wait = (waitMsMax: number): Promise<Release> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.splice(waiters.indexOf(waiter), 1);
        reject(
          new Error(
            `expected the write lock of the metadata store within ${waitMsMax} ms, got none: a transaction runs too ` +
              'long, or code inside a transaction writes past it; inside a transaction, use the transaction only',
          ),
        );
      }, waitMsMax);
      const waiter: Waiter = { grant: resolve, timer };
      waiters.push(waiter);
    });

  return {
    async acquire(waitMsMax) {
      if (held) return wait(waitMsMax);
      held = true;
      return createRelease();
    },
  };
}
