import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isSignedOut, isTransient } from './api-error.ts';

const retriesMax = 3;
const delayMaxMs = 10_000;

/** Where every failed request is told, whoever made it. */
export interface FailureHandlers {
  /** The session is gone. */
  readonly onSignedOut: () => void;
  /** Nobody answered, or the service says that it cannot. */
  readonly onTrouble: () => void;
}

export function createQueryClient({ onSignedOut, onTrouble }: FailureHandlers): QueryClient {
  const onError = (error: unknown): void => {
    if (isSignedOut(error)) onSignedOut();
    if (isTransient(error)) onTrouble();
  };
  const mayRetry = (failures: number, error: unknown): boolean => {
    // The first try that fails is enough to look what is wrong; the page says it while the others are made.
    if (failures === 0 && isTransient(error)) onTrouble();
    return failures < retriesMax && isTransient(error);
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: 5_000, retry: mayRetry, retryDelay: delayOf, throwOnError: false },
      // A change is never sent twice by itself.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

function delayOf(failures: number, error: unknown): number {
  const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
  return Math.min(asked ?? 500 * 2 ** failures, delayMaxMs);
}
