import { describe, expect, it } from 'vitest';
import { backoffMs, createRetry, sleep, type RetryDeps } from './retry.ts';

/** A clock that only waiting advances. */
function timeline() {
  let now = 0;
  const waited: number[] = [];
  return {
    waited,
    clock: { now: () => now },
    sleep: async (ms: number): Promise<void> => {
      waited.push(ms);
      await Promise.resolve();
      now += ms;
    },
  };
}

function retryWith(deps: Partial<RetryDeps> = {}) {
  const time = timeline();
  const retry = createRetry({
    firstWaitMs: 100,
    waitMsMax: 500,
    signal: new AbortController().signal,
    judge: (_error, { backoffMs: waitMs }) => ({ reason: 'busy', waitMs }),
    random: () => 1,
    ...time,
    ...deps,
  });
  return { ...time, retry };
}

function failing(times: number): () => Promise<string> {
  let left = times;
  return async () => {
    if (left-- > 0) throw new Error('busy');
    return 'done';
  };
}

describe('back-off', () => {
  it('doubles up to its limit, between half and all of it', () => {
    expect([0, 1, 2, 3].map((attempt) => backoffMs(attempt, 100, 500, () => 1))).toEqual([100, 200, 400, 500]);
    expect(backoffMs(1, 100, 500, () => 0)).toBe(100);
  });
});

describe('retry', () => {
  it('repeats the work until it succeeds, with growing waits', async () => {
    const { retry, waited } = retryWith();
    expect(await retry(failing(4))).toBe('done');
    expect(waited).toEqual([100, 200, 400, 500]);
  });

  it('waits as long as `judge` returns', async () => {
    const { retry, waited } = retryWith({ judge: () => ({ reason: 'busy', waitMs: 7 }) });
    await retry(failing(2));
    expect(waited).toEqual([7, 7]);
  });

  it('throws permanent errors, or what `judge` throws instead', async () => {
    await expect(retryWith({ judge: () => undefined }).retry(failing(1))).rejects.toThrow('busy');
    const givesUp = retryWith({
      judge: (_error, { failures }) => {
        if (failures === 2) throw new Error('three times');
        return { reason: '', waitMs: 1 };
      },
    });
    await expect(givesUp.retry(failing(9))).rejects.toThrow('three times');
    expect(givesUp.waited).toEqual([1, 1]);
  });

  it('resets the count when the work made progress', async () => {
    const { retry, waited } = retryWith({ grew: () => true });
    await retry(failing(3));
    expect(waited).toEqual([100, 100, 100]);
  });

  it('works that fail together count as one failure and wait together', async () => {
    const shown: unknown[] = [];
    const { retry, waited } = retryWith({ onWait: (wait) => shown.push(wait) });
    await Promise.all([retry(failing(1)), retry(failing(1)), retry(failing(1))]);
    expect(shown).toEqual([{ reason: 'busy', waitMs: 100, until: 100 }, null]);
    expect(Math.max(...waited)).toBe(100);
  });

  it('ends with the reason of the signal, also while it waits', async () => {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const { retry } = retryWith({ signal: stop.signal, sleep, onWait: () => stop.abort(reason) });
    await expect(retry(failing(1))).rejects.toBe(reason);
    await expect(retry(failing(0))).rejects.toBe(reason);
  });
});
