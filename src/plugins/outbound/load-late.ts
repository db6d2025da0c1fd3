import type { ClosableFetch, OutboundOptions } from './safe-fetch.ts';
import type { ClosableStream, OutboundStreamOptions } from './stream.ts';

/**
 * The clients of safe-fetch.ts and stream.ts, loaded with the first request: their library takes 20 to 60 ms of processor
 * time in each thread and process, and most of these never send a request.
 */
export function fetchLoadedLate(options: OutboundOptions): ClosableFetch {
  const late = loadLate(async () => (await import('./safe-fetch.ts')).createOutboundFetch(options));
  return Object.assign(async (...[request]: Parameters<ClosableFetch>) => await (await late.client())(request), late);
}

export function streamLoadedLate(options: OutboundStreamOptions): ClosableStream {
  const late = loadLate(async () => (await import('./stream.ts')).createOutboundStream(options));
  return Object.assign(async (...[request]: Parameters<ClosableStream>) => await (await late.client())(request), late);
}

function loadLate<Client extends { close(): Promise<void> }>(load: () => Promise<Client>) {
  let loading: Promise<Client> | undefined;
  return {
    client: () => (loading ??= load()),
    close: async () => (await loading)?.close(),
  };
}
