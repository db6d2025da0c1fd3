import { QueryObserver } from '@tanstack/react-query';
import { afterEach, expect, it, vi } from 'vitest';
import { unreachable } from '../api/api-error.ts';
import { createQueryClient } from '../api/query-client.ts';
import { checkConnection, connectionOf, readinessQuery } from './connection.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const down = {
  status: 'unavailable',
  checks: {
    event_store: { ok: false, detail: 'does not answer' },
    metadata: { ok: true },
    mirror: { ok: false, optional: true, detail: 'behind' },
  },
} as const;

it.each([
  ['offline', false, true, down, { state: 'offline' }],
  ['no response', true, true, undefined, { state: 'unreachable' }],
  ['a part is down', true, false, down, { state: 'impaired', parts: ['event_store: does not answer'] }],
  ['everything works', true, false, { status: 'ok', checks: down.checks } as const, { state: 'ok' }],
  ['not checked yet', true, false, undefined, { state: 'ok' }],
])('%s', (_case, online, isError, readiness, connection) => {
  expect(connectionOf(online, isError, readiness)).toEqual(connection);
});

/** Watches the connection to a service that does not respond. */
function watchUnreachable() {
  vi.useFakeTimers();
  const fetch = vi.fn<() => Promise<never>>(() => Promise.reject(new TypeError('refused')));
  vi.stubGlobal('fetch', fetch);
  const client = createQueryClient({ onSignedOut: () => undefined, onUnavailable: () => checkConnection(client) });
  const stop = new QueryObserver(client, { ...readinessQuery, refetchInterval: false }).subscribe(() => undefined);
  return { client, fetch, stop };
}

it('a failed check does not trigger another check immediately', async () => {
  const { fetch, stop } = watchUnreachable();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fetch).toHaveBeenCalledTimes(1);
  stop();
});

it('failures of several queries trigger one connection check', async () => {
  const { client, fetch, stop } = watchUnreachable();
  await vi.advanceTimersByTimeAsync(1_000);
  client.setQueryData(readinessQuery.queryKey, { status: 'ok', checks: {} });
  fetch.mockClear();
  const queryFn = (): Promise<never> => Promise.reject(unreachable(new TypeError('refused')));
  for (const name of ['a', 'b', 'c']) void client.prefetchQuery({ queryKey: [name], queryFn });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fetch).toHaveBeenCalledTimes(1);
  stop();
});
