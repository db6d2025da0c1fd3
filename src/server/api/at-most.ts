import { ApiError } from '../../wire/contract/errors.ts';

/** Lets so many calls run at once; refuses more. */
export function atMost(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  return async (work) => {
    if (running >= max) {
      const detail = `At most ${max} tests run at once. Try again when one has ended.`;
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
