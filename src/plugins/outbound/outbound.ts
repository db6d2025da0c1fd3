/** Requests to external services, made for plugins and for users who enter an address: see safe-fetch.ts. */

/** An HTTP request. Reaches public addresses only. */
export interface OutboundRequest {
  readonly url: string;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Default and maximum: the service's setting. */
  readonly timeoutMs?: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly statusText: string;
  /** Lower-case names; several values are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The URL after redirects. */
  readonly url: string;
}

/** @throws OutboundError naming the address and the rule, and whether a retry can help */
export type OutboundFetch = (request: OutboundRequest) => Promise<OutboundResponse>;

export interface OutboundStreamRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
  /** The request fails after this long without a byte. */
  readonly idleMs?: number;
}

export interface OutboundStreamResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body after undoing content-encoding. A broken connection ends it with an error. */
  readonly body: AsyncIterable<Buffer>;
}

export type OutboundStream = (request: OutboundStreamRequest) => Promise<OutboundStreamResponse>;

/**
 * - address: the address may not be reached (private, loopback, metadata service, not http)
 * - limit: too many requests, too long a wait, too much data
 * - network: no connection, reset, name not found
 * - request: the request itself cannot be sent (method, header, body)
 */
type OutboundErrorKind = 'address' | 'limit' | 'network' | 'request';

export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly kind: OutboundErrorKind;

  constructor(kind: OutboundErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  /** Whether the same request may succeed later. */
  get retry(): boolean {
    return this.kind === 'limit' || this.kind === 'network';
  }
}
