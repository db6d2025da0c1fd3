import { Body, bodyOf } from './fetch-body.ts';
import { Headers } from './headers.ts';

interface ResponseInit {
  readonly status?: unknown;
  readonly statusText?: unknown;
  readonly headers?: unknown;
  readonly url?: unknown;
  readonly redirected?: boolean;
}

/** As in node-fetch 2. The body is complete when the response arrives; it is not a stream. */
export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string;
  readonly redirected: boolean;

  constructor(body?: unknown, init: ResponseInit = {}) {
    const { payload, contentType } = bodyOf(body);
    const url = String(init.url ?? '');
    super(payload, () => url);
    this.url = url;
    this.status = init.status === undefined ? 200 : Number(init.status);
    this.statusText = String(init.statusText ?? '');
    this.redirected = init.redirected === true;
    this.headers = new Headers(init.headers);
    if (contentType !== null && !this.headers.has('content-type')) this.headers.set('content-type', contentType);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    return new Response(Body.held(this), this);
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }
}
