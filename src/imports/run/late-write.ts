/** Writes that may wait a little: many changes become one write, and one follows the other. */
export interface LateWrite {
  /** Soon; what goes wrong is told to `onTrouble`. */
  soon(): void;
  /** At once, if there is anything to write; rejects when it cannot be written, which the next write tries again. */
  now(): Promise<void>;
}

export function createLateWrite(
  everyMs: number,
  write: () => Promise<void>,
  onTrouble: (error: unknown) => void,
): LateWrite {
  let dirty = false;
  let writtenAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const attempt = async (): Promise<void> => {
    if (!dirty) return;
    dirty = false;
    writtenAt = performance.now();
    try {
      await write();
    } catch (error) {
      dirty = true;
      throw error;
    }
  };
  const now = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const next = writing.then(attempt);
    writing = next.catch(() => undefined);
    return next;
  };
  return {
    now,
    soon: () => {
      dirty = true;
      if (timer !== undefined) return;
      timer = setTimeout(() => void now().catch(onTrouble), Math.max(0, writtenAt + everyMs - performance.now()));
      timer.unref();
    },
  };
}
