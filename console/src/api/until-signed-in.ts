import type { QueryClient } from '@tanstack/react-query';
import { meQuery } from './users.ts';

/** Tells the gate that the session has ended, which asks to sign in, and resolves when somebody has. Ends with the signal. */
export function untilSignedIn(client: QueryClient, signal: AbortSignal): Promise<void> {
  const { queryKey } = meQuery;
  const answeredAt = (): number => client.getQueryState(queryKey)?.dataUpdatedAt ?? 0;
  const lastAnswer = answeredAt();
  return new Promise((resolve) => {
    const done = (): void => {
      stopWatching();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stopWatching = client.getQueryCache().subscribe(() => {
      if (answeredAt() > lastAnswer) done();
    });
    signal.addEventListener('abort', done);
    void client.invalidateQueries({ queryKey });
  });
}
