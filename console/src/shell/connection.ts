import { queryOptions, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { unreachable } from '../api/api-error.ts';

interface Readiness {
  readonly status: 'ok' | 'unavailable';
  readonly checks: Readonly<
    Record<string, { readonly ok: boolean; readonly detail?: string; readonly optional?: true }>
  >;
}

export type Connection =
  | { readonly state: 'ok' }
  | { readonly state: 'offline' }
  | { readonly state: 'unreachable' }
  | { readonly state: 'impaired'; readonly parts: readonly string[] };

const pollMs = 10_000;
const failingPollMs = 1_500;

/** The readiness of the service and its parts. A 503 response with the list of checks is a valid result. */
export const readinessQuery = queryOptions({
  queryKey: ['/readyz'],
  queryFn: async ({ signal }): Promise<Readiness> => {
    const response = await fetch('/readyz?verbose', { signal }).catch((error: unknown) => {
      throw unreachable(error);
    });
    if (response.status !== 200 && response.status !== 503) throw unreachable(undefined);
    return (await response.json()) as Readiness;
  },
  retry: false,
  refetchInterval: (query) =>
    query.state.status === 'error' || query.state.data?.status === 'unavailable' ? failingPollMs : pollMs,
});

/** Checks the connection now, after a request has failed. Does nothing when the last check failed: the next poll is soon enough. */
export function checkConnection(client: QueryClient): void {
  if (client.getQueryState(readinessQuery.queryKey)?.status === 'error') return;
  void client.invalidateQueries({ queryKey: readinessQuery.queryKey }, { cancelRefetch: false });
}

/** Returns the state of the connection. Refetches every query on the page when the connection recovers. */
export function useConnection(): Connection {
  const client = useQueryClient();
  const online = useSyncExternalStore(subscribeOnline, () => navigator.onLine);
  const { data, isError } = useQuery(readinessQuery);
  const connection = connectionOf(online, isError, data);
  const isOk = connection.state === 'ok';
  const wasOk = useRef(isOk);
  useEffect(() => {
    if (isOk && !wasOk.current) {
      void client.invalidateQueries({ predicate: ({ queryKey: [key] }) => key !== readinessQuery.queryKey[0] });
    }
    wasOk.current = isOk;
  }, [isOk, client]);
  return connection;
}

export function connectionOf(online: boolean, isError: boolean, readiness: Readiness | undefined): Connection {
  if (!online) return { state: 'offline' };
  if (isError) return { state: 'unreachable' };
  if (readiness === undefined || readiness.status === 'ok') return { state: 'ok' };
  const parts = Object.entries(readiness.checks).filter(([, check]) => !check.ok && check.optional !== true);
  return {
    state: 'impaired',
    parts: parts.map(([name, { detail }]) => (detail === undefined ? name : `${name}: ${detail}`)),
  };
}

function subscribeOnline(onChange: () => void): () => void {
  for (const type of ['online', 'offline']) window.addEventListener(type, onChange);
  return () => {
    for (const type of ['online', 'offline']) window.removeEventListener(type, onChange);
  };
}
