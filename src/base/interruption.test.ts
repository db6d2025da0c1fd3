import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createInterruption } from './interruption.ts';

/** Collects unreachable objects. The flag is unset again, since tests of other files create contexts in this process. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  try {
    // Sound: the flag provides it.
    return runInNewContext('gc') as () => void;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}

describe('an interruption', () => {
  it('does not affect work that ends before it', async () => {
    const interruption = createInterruption();
    expect(await interruption.race(Promise.resolve(1))).toBe(1);
    await expect(interruption.race(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('ends current and later work with the first reason', async () => {
    const interruption = createInterruption();
    const never = new Promise<void>(() => {});
    const underWay = [interruption.race(never), interruption.race(never)];
    interruption.interrupt(new Error('first'));
    interruption.interrupt(new Error('second'));
    for (const work of [...underWay, interruption.race(never), interruption.race(Promise.resolve())]) {
      await expect(work).rejects.toThrow('first');
    }
  });

  it('ignores failures after it', async () => {
    const interruption = createInterruption();
    const late = Promise.withResolvers<void>();
    const work = interruption.race(late.promise);
    interruption.interrupt(new Error('first'));
    late.reject(new Error('late'));
    await expect(work).rejects.toThrow('first');
  });

  it('keeps no result of ended work', async () => {
    const interruption = createInterruption();
    const collect = collector();
    const results: WeakRef<object>[] = [];
    for (let round = 0; round < 3; round++) {
      const result = { bytes: new Uint8Array(1000) };
      results.push(new WeakRef(result));
      await interruption.race(Promise.resolve(result));
    }
    await nextTurn();
    collect();
    expect(results.slice(0, 2).map((result) => result.deref())).toEqual([undefined, undefined]);
    interruption.interrupt(new Error('over'));
  });
});
