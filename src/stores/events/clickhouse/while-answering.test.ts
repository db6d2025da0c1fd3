import { describe, expect, it } from 'vitest';
import { ServerAwayError } from '../eventstore.ts';
import { whileAnswering } from './while-answering.ts';

const hangs = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

describe('work on a server', () => {
  it('returns its result or throws its error', async () => {
    const silent = async (): Promise<boolean> => false;
    expect(await whileAnswering(silent, async () => 5)).toBe(5);
    await expect(whileAnswering(silent, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });

  it('fails once the server has been silent twice in a row, and its request is aborted', async () => {
    const pings = [false, true, false, false];
    let aborted = false;
    const work = (signal: AbortSignal): Promise<never> => {
      signal.addEventListener('abort', () => (aborted = true));
      return hangs(signal);
    };
    await expect(whileAnswering(async () => pings.shift() ?? true, work, 1)).rejects.toBeInstanceOf(ServerAwayError);
    expect({ pings, aborted }).toEqual({ pings: [], aborted: true });
  });

  it('may take as long as it needs while the server answers', async () => {
    let pings = 0;
    const { promise, resolve } = Promise.withResolvers<string>();
    const answers = async (): Promise<boolean> => {
      pings += 1;
      if (pings === 20) resolve('done');
      return true;
    };
    expect(await whileAnswering(answers, () => promise, 1)).toBe('done');
  });
});
