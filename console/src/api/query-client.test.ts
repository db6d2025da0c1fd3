import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, unreachable } from './api-error.ts';
import { createQueryClient } from './query-client.ts';

const refused = (status: number, code: 'not_found' | 'not_authenticated' | 'unavailable') =>
  new ApiError(status, { code, detail: 'No.' });

describe('the query client', () => {
  afterEach(() => vi.useRealTimers());

  it.each([
    ['the service is unreachable', unreachable(new TypeError('refused')), 4, 0, 2],
    ['the service asks clients to wait', refused(503, 'unavailable'), 4, 0, 2],
    ['the record is gone', refused(404, 'not_found'), 1, 0, 0],
    ['the session has ended', refused(401, 'not_authenticated'), 1, 1, 0],
  ])(
    'when %s, retries as often as it may help and calls the right handler',
    async (_case, error, calls, signedOut, unavailable) => {
      vi.useFakeTimers();
      const onSignedOut = vi.fn<() => void>();
      const onUnavailable = vi.fn<() => void>();
      const client = createQueryClient({ onSignedOut, onUnavailable });
      const queryFn = vi.fn<() => Promise<never>>(() => Promise.reject(error));
      const retry = client.getDefaultOptions().queries?.retry;
      const answer = client
        .fetchQuery({ queryKey: ['x'], queryFn, ...(retry === undefined ? {} : { retry }) })
        .catch((thrown: unknown) => thrown);
      await vi.runAllTimersAsync();
      expect(await answer).toBe(error);
      expect([queryFn.mock.calls.length, onSignedOut.mock.calls.length, onUnavailable.mock.calls.length]).toEqual([
        calls,
        signedOut,
        unavailable,
      ]);
    },
  );

  it('a mutation is never retried automatically', async () => {
    const client = createQueryClient({ onSignedOut: () => undefined, onUnavailable: () => undefined });
    const mutationFn = vi.fn<() => Promise<never>>(() => Promise.reject(refused(503, 'unavailable')));
    const mutation = client.getMutationCache().build(client, { mutationFn });
    await expect(mutation.execute(undefined)).rejects.toThrow('No.');
    expect(mutationFn).toHaveBeenCalledTimes(1);
  });
});
