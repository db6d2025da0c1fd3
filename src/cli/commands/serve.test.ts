import { describe, expect, it } from 'vitest';
import { closeInTime } from './serve.ts';

type Closing = Parameters<typeof closeInTime>[0];

/** What is said and done until it has closed, or the process would have ended. */
async function closed(close: Closing, msMax: number): Promise<string[]> {
  const seen: string[] = [];
  const ended = Promise.withResolvers<void>();
  const process = {
    exit: (code: number) => {
      seen.push(`exit ${code}`);
      ended.resolve();
    },
  } as Parameters<typeof closeInTime>[2]['process'];
  await Promise.race([
    closeInTime(close, msMax, { process, problem: (message) => void seen.push(message) }),
    ended.promise,
  ]);
  return seen;
}

describe('a service that stops on request', () => {
  it('ends with 1 and a message when it does not stop in time', async () => {
    expect(await closed(() => new Promise(() => undefined), 20)).toEqual([
      'did not stop within 0.02 s, so it ends as after a crash; the next start recovers',
      'exit 1',
    ]);
  });

  it('ends normally otherwise', async () => {
    expect(await closed(() => Promise.resolve(), 60_000)).toEqual([]);
  });

  it('passes on its error', async () => {
    const failing = closed(() => Promise.reject(new Error('a disk is full')), 60_000);
    await expect(failing).rejects.toThrow('a disk is full');
  });
});
