import type { IncomingHttpHeaders } from 'node:http';

/** What checks and handlers of a route need of a request. Fastify's has all of it; direct-reads.ts makes one of Node's. */
export interface RouteRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Of the sender. */
  readonly ip: string;
  /** As the client named it; behind a trusted proxy as the proxy says. So is the protocol. */
  readonly host: string;
  readonly protocol: string;
  readonly headers: IncomingHttpHeaders;
  /** Values by name. A key in the query is taken out. */
  readonly params: unknown;
  readonly query: unknown;
}

/** Without the query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
