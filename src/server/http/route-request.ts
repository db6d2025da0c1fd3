import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a request that checks and handlers of a route need. Fastify's requests have them; direct-reads.ts creates one from Node's. */
export interface RouteRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Address of the sender. */
  readonly ip: string;
  /** As named by the client, or by a trusted proxy; the same applies to the protocol. */
  readonly host: string;
  readonly protocol: string;
  readonly headers: IncomingHttpHeaders;
  /** Values by name. A key in the query is removed. */
  readonly params: unknown;
  readonly query: unknown;
}

/** Without the query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
