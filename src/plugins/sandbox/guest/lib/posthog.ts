import type { Bridge } from './bridge.ts';
import { HeldBody } from './fetch-body.ts';
import type { GuestFetch } from './fetch.ts';
import { Response } from './response.ts';
import { bytesOfView } from './text-coding.ts';
import { toPayload } from './wire.ts';

const library = 'posthog-plugin-server';
/** Version of the plugin server whose behaviour this is; some users filter by it. */
const libraryVersion = '1.10.7';

interface ApiOptions {
  readonly data?: Record<string, unknown>;
  readonly host?: string;
  readonly projectApiKey?: string;
  readonly personalApiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type ApiMethod = (path: string, options?: ApiOptions) => Promise<Response>;

export interface PostHog {
  readonly capture: (event: unknown, properties?: Record<string, unknown>) => Promise<void>;
  readonly api: Readonly<Record<'get' | 'post' | 'put' | 'delete', ApiMethod>>;
}

/** `posthog`: sends events and requests to this service. */
export function createPostHog(bridge: Bridge, fetch: GuestFetch): PostHog {
  return {
    capture: async (event, properties) => {
      await bridge.call('capture', [capturedEvent(bridge, event, properties ?? {})]);
    },
    api: {
      get: (path, options) => request(bridge, fetch, 'GET', path, options),
      post: (path, options) => request(bridge, fetch, 'POST', path, options),
      put: (path, options) => request(bridge, fetch, 'PUT', path, options),
      delete: (path, options) => request(bridge, fetch, 'DELETE', path, options),
    },
  };
}

function capturedEvent(bridge: Bridge, event: unknown, given: Record<string, unknown>): Record<string, unknown> {
  if (typeof event !== 'string' || event === '') {
    throw new TypeError(`posthog.capture: expected the name of an event, got ${describe(event)}`);
  }
  const { timestamp, distinct_id, ...properties } = given;
  const distinctId = distinct_id ? String(distinct_id) : bridge.pluginName;
  return {
    event,
    distinctId,
    timestamp: isoTime(timestamp, bridge.now()),
    properties: { ...properties, distinct_id: distinctId, $lib: library, $lib_version: libraryVersion },
  };
}

function describe(value: unknown): string {
  return value === '' ? 'an empty text' : `a value of type ${typeof value}`;
}

function isoTime(timestamp: unknown, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === '') return new Date(now).toISOString();
  const time = new Date(timestamp instanceof Date || typeof timestamp === 'number' ? timestamp : String(timestamp));
  if (Number.isNaN(time.getTime())) {
    throw new TypeError(`posthog.capture: expected a timestamp that can be read as a time, got ${String(timestamp)}`);
  }
  return time.toISOString();
}

async function request(
  bridge: Bridge,
  fetch: GuestFetch,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  options: ApiOptions = {},
): Promise<Response> {
  if (Boolean(options.projectApiKey) !== Boolean(options.personalApiKey)) {
    throw new Error('posthog.api: give both projectApiKey and personalApiKey, or neither to use those of the project');
  }
  const query = method === 'GET' ? (options.data ?? {}) : {};
  const body = method === 'GET' || options.data === undefined ? null : JSON.stringify(options.data);
  const headers = { ...(body !== null && { 'content-type': 'application/json' }), ...options.headers };
  // A host without keys is this service's public address: the required keys would be the project's, and those stay here.
  if (!options.host || !options.projectApiKey) {
    return callService(bridge, { method, path: withQuery(path, query), headers: withKey(headers, options), body });
  }
  const url = `${options.host.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  const init = { method, headers: withKey(headers, options), body };
  return fetch(withQuery(url, { ...query, token: options.projectApiKey }), init);
}

/** Sends another project's keys to this service too, for which they are valid. */
function withKey(headers: Record<string, string>, { personalApiKey }: ApiOptions): Record<string, string> {
  return personalApiKey ? { ...headers, authorization: `Bearer ${personalApiKey}` } : headers;
}

function withQuery(path: string, values: Readonly<Record<string, unknown>>): string {
  const query = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
  if (query === '') return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

interface ServiceAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  readonly body: Uint8Array;
}

async function callService(
  bridge: Bridge,
  call: { method: string; path: string; headers: Record<string, string>; body: string | null },
): Promise<Response> {
  const path = `/${call.path.replace(/^\/+/, '')}`;
  const answer = (await bridge.call('api', [{ ...call, path }])) as ServiceAnswer;
  return new Response(new HeldBody(toPayload(bytesOfView(answer.body))), answer);
}
