import { Body, bodyOf } from './fetch-body.ts';
import { Headers } from './headers.ts';

export interface RequestInit {
  readonly method?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  /** In ms; 0 or unset means the service's timeout. */
  readonly timeout?: unknown;
  readonly redirect?: unknown;
}

/** As in node-fetch 2. */
export class Request extends Body {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly timeout: number;
  readonly redirect: string;

  constructor(input: unknown, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined;
    const method = String(init.method ?? from?.method ?? 'GET').toUpperCase();
    const given = bodyOf(init.body ?? (from === undefined ? undefined : Body.held(from)));
    if (given.payload !== null && (method === 'GET' || method === 'HEAD')) {
      throw new TypeError('Request with GET/HEAD method cannot have body');
    }
    const url = from?.url ?? urlOf(input);
    super(given.payload, () => url);
    this.url = url;
    this.method = method;
    this.headers = new Headers(init.headers ?? from?.headers);
    this.timeout = Number(init.timeout ?? from?.timeout ?? 0);
    this.redirect = String(init.redirect ?? from?.redirect ?? 'follow');
    if (given.contentType !== null && !this.headers.has('content-type')) {
      this.headers.set('content-type', given.contentType);
    }
  }

  clone(): Request {
    return new Request(this);
  }

  get [Symbol.toStringTag](): string {
    return 'Request';
  }
}

/** Accepts text, a URL, and any other object with an href. */
function urlOf(input: unknown): string {
  const href: unknown = typeof input === 'object' && input !== null ? Reflect.get(input, 'href') : undefined;
  return typeof href === 'string' ? href : String(input);
}
