import { ApiError } from '../../wire/contract/errors.ts';

/** Limits concurrent calls and refuses more. */
export function atMost(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  return async (work) => {
    if (running >= max) {
      const detail = `At most ${max} of these requests run concurrently. Retry when one has ended.`;
      throw new ApiError('throttled', detail, { headers: { 'Retry-After': '2' } });
    }
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}
