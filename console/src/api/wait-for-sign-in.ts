import type { QueryClient } from '@tanstack/react-query';
import { meQuery } from './users.ts';

/** Makes the session gate ask the user to sign in. Resolves once they have, or when the signal aborts. */
export function waitForSignIn(client: QueryClient, signal: AbortSignal): Promise<void> {
  const { queryKey } = meQuery;
  const updatedAt = (): number => client.getQueryState(queryKey)?.dataUpdatedAt ?? 0;
  const lastUpdate = updatedAt();
  return new Promise((resolve) => {
    const done = (): void => {
      stopWatching();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stopWatching = client.getQueryCache().subscribe(() => {
      if (updatedAt() > lastUpdate) done();
    });
    signal.addEventListener('abort', done);
    void client.invalidateQueries({ queryKey });
  });
}
