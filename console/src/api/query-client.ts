import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isSignedOut, isTransient } from './api-error.ts';

const retriesMax = 3;
const delayMaxMs = 10_000;

/** Called for every failed query and mutation. */
interface FailureHandlers {
  /** The session has ended. */
  readonly onSignedOut: () => void;
  /** No response, or the service reports that it is unavailable. */
  readonly onUnavailable: () => void;
}

export function createQueryClient({ onSignedOut, onUnavailable }: FailureHandlers): QueryClient {
  const onError = (error: unknown): void => {
    if (isSignedOut(error)) onSignedOut();
    if (isTransient(error)) onUnavailable();
  };
  const mayRetry = (failures: number, error: unknown): boolean => {
    // The first failure triggers a connection check, so the banner appears while the retries run.
    if (failures === 0 && isTransient(error)) onUnavailable();
    return failures < retriesMax && isTransient(error);
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: 5_000, retry: mayRetry, retryDelay: delayOf, throwOnError: false },
      // A mutation is never retried automatically: its first attempt may have taken effect.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

function delayOf(failures: number, error: unknown): number {
  const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined;
  return Math.min(retryAfterMs ?? 500 * 2 ** failures, delayMaxMs);
}
