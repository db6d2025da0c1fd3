/** Requests to the world outside, made for plugins and for people who name an address: see safe-fetch.ts. */
export type { OutboundFetch, OutboundRequest, OutboundResponse } from '../plugins/host.ts';

/**
 * - address: the address is none that may be reached (private, loopback, metadata service, not http)
 * - limit: too many requests, too long a wait, too much data
 * - network: no connection, reset, name not found
 * - request: the request itself cannot be sent (method, header, body)
 */
export type OutboundErrorKind = 'address' | 'limit' | 'network' | 'request';

export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly kind: OutboundErrorKind;

  constructor(kind: OutboundErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  /** Whether the same request may go well later. */
  get retry(): boolean {
    return this.kind === 'limit' || this.kind === 'network';
  }
}
