import type { Bridge } from './bridge.ts';
import { Buffer } from './buffer.ts';
import { createConsole } from './console.ts';
import { createFetch, type GuestFetch } from './fetch.ts';
import { Headers } from './headers.ts';
import { createPostHog } from './posthog.ts';
import { Request } from './request.ts';
import { Response } from './response.ts';
import { RetryError } from './retry-error.ts';
import { structuredClone } from './structured-clone.ts';
import { atob, btoa, TextDecoder, TextEncoder } from './text-coding.ts';
import { URLSearchParams } from './url-search-params.ts';
import { createUrlClass, type GuestUrlConstructor } from './url.ts';

/** Dependencies that globals and modules share. */
export interface GuestDeps {
  readonly bridge: Bridge;
  readonly fetch: GuestFetch;
  readonly URL: GuestUrlConstructor;
  /** Work to do after the calls of a delivery, because there are no timers. */
  readonly leftOver: Set<() => Promise<void>>;
}

export function createDeps(bridge: Bridge): GuestDeps {
  return { bridge, fetch: createFetch(bridge), URL: createUrlClass(bridge), leftOver: new Set() };
}

/** Timers, process and files are absent on purpose, as on the published server. */
export function defineGlobals(target: object, { bridge, fetch, URL }: GuestDeps): void {
  const values = {
    console: createConsole(bridge),
    fetch,
    Headers,
    Request,
    Response,
    posthog: createPostHog(bridge, fetch),
    RetryError,
    URL,
    URLSearchParams,
    Buffer,
    TextEncoder,
    TextDecoder,
    atob,
    btoa,
    structuredClone,
    global: target,
  };
  for (const [name, value] of Object.entries(values)) {
    // Not enumerable: a plugin without exports exports only the functions it declares.
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }
}
