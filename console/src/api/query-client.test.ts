import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, unreachable } from './api-error.ts';
import { createQueryClient } from './query-client.ts';

const refused = (status: number, code: 'not_found' | 'not_authenticated' | 'unavailable') =>
  new ApiError(status, { code, detail: 'No.' });

describe('the query client', () => {
  afterEach(() => vi.useRealTimers());

  it.each([
    ['nobody answers', unreachable(new TypeError('refused')), 4, 0, 2],
    ['the service asks to wait', refused(503, 'unavailable'), 4, 0, 2],
    ['the record is gone', refused(404, 'not_found'), 1, 0, 0],
    ['the session has ended', refused(401, 'not_authenticated'), 1, 1, 0],
  ])(
    'when %s, asks as often as it may help and tells who looks after it',
    async (_case, error, calls, signedOut, trouble) => {
      vi.useFakeTimers();
      const onSignedOut = vi.fn<() => void>();
      const onTrouble = vi.fn<() => void>();
      const client = createQueryClient({ onSignedOut, onTrouble });
      const queryFn = vi.fn<() => Promise<never>>(() => Promise.reject(error));
      const retry = client.getDefaultOptions().queries?.retry;
      const answer = client
        .fetchQuery({ queryKey: ['x'], queryFn, ...(retry === undefined ? {} : { retry }) })
        .catch((thrown: unknown) => thrown);
      await vi.runAllTimersAsync();
      expect(await answer).toBe(error);
      expect([queryFn.mock.calls.length, onSignedOut.mock.calls.length, onTrouble.mock.calls.length]).toEqual([
        calls,
        signedOut,
        trouble,
      ]);
    },
  );

  it('a change is never sent twice by itself', async () => {
    const client = createQueryClient({ onSignedOut: () => undefined, onTrouble: () => undefined });
    const mutationFn = vi.fn<() => Promise<never>>(() => Promise.reject(refused(503, 'unavailable')));
    const mutation = client.getMutationCache().build(client, { mutationFn });
    await expect(mutation.execute(undefined)).rejects.toThrow('No.');
    expect(mutationFn).toHaveBeenCalledTimes(1);
  });
});
