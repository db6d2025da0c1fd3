import type { GeoIp } from '../../host.ts';
import { OutboundError, type OutboundFetch, type OutboundRequest } from '../../outbound/outbound.ts';
import {
  textArgument,
  dataArgument,
  recordArgument,
  wholeNumberArgument,
  listArgument,
  numberArgument,
} from './arguments.ts';
import { cryptoOps } from './crypto-ops.ts';
import { jwtOps } from './jwt-ops.ts';
import type { AsyncOps, SyncOps } from './ops.ts';
import { createPostgresOps } from './postgres-ops.ts';
import { urlOps } from './url-ops.ts';
import { zlibOps } from './zlib-ops.ts';
import { isUtf8 } from 'node:buffer';
import { limitRequests, type RequestLimits } from '../../outbound/limit-requests.ts';
import type { FetchAnswer } from '../guest/lib/fetch.ts';
import type { Payload } from '../guest/lib/wire.ts';

/** The dependencies of one instance's ops. */
export interface OpsDeps {
  /** Reaches only addresses that plugins may reach. */
  readonly outbound: OutboundFetch;
  /** For protocols other than HTTP: returns the checked address to connect to. Throws OutboundError. */
  readonly resolveAllowed: (
    host: string,
    port: number,
  ) => Promise<{ readonly address: string; readonly family: 4 | 6 }>;
  readonly geoip: GeoIp | undefined;
  /** Why geoip is undefined. */
  readonly geoipProblem: string;
  /** The result of createModuleOps, shared by all isolates of the process. */
  readonly modules: SyncOps;
  /** Calls the service; see Bridge in ../guest/lib/bridge.ts for its ops. */
  readonly toHost: (op: string, args: readonly unknown[]) => Promise<unknown>;
  readonly instance: {
    readonly pluginName: string;
    readonly label: string;
    readonly configId: number;
    readonly projectId: number;
  };
}

/**
 * The calls that an isolate may make to its process. Arguments come from the plugin, and each op checks them. Results are copies:
 * JSON values and Uint8Arrays. No object of this process ever enters an isolate.
 */
export interface Ops {
  readonly sync: SyncOps;
  readonly async: AsyncOps;
  /** Closes open connections of an ended instance. */
  close(): void;
}

export function createOps(deps: OpsDeps): Ops {
  const postgres = createPostgresOps(deps.resolveAllowed);
  return {
    sync: { ...urlOps, ...cryptoOps, ...jwtOps, ...zlibOps, ...deps.modules, ...createGeoIpOps(deps) },
    async: { ...createFetchOps(deps.outbound), ...postgres.ops, ...createServiceOps(deps.toHost) },
    close: postgres.close,
  };
}

function createGeoIpOps({ geoip, geoipProblem }: Pick<OpsDeps, 'geoip' | 'geoipProblem'>): SyncOps {
  return {
    geoip: ([ip]) => {
      if (geoip === undefined) throw new Error(geoipProblem);
      return geoip.locate(textArgument(ip, 'the address', 100));
    },
  };
}

/** Limits per config: further concurrent requests are queued, further requests per minute are refused. */
const requestLimits: RequestLimits = { atOnce: 20, perMinute: 600 };

const headersMax = 100;
const bodyBytesMax = 16_777_216;

function createFetchOps(outbound: OutboundFetch, limits: RequestLimits = requestLimits): AsyncOps {
  const limited = limitRequests(outbound, limits);
  return {
    fetch: async ([call]): Promise<FetchAnswer> => {
      const request = requestOf(call);
      try {
        const response = await limited(request);
        return { ok: true, ...response, body: payloadOf(response.body) };
      } catch (error) {
        if (error instanceof OutboundError) return failureOf(error);
        throw error;
      }
    },
  };
}

function requestOf(call: unknown): OutboundRequest {
  const { url, method, headers, body, timeoutMs } = recordArgument(call, 'the request');
  return {
    url: textArgument(url, 'the URL', 65_536),
    method: textArgument(method, 'the method', 32),
    headers: headersOf(headers),
    ...(body !== null && { body: dataArgument(body, 'the body', bodyBytesMax) }),
    ...(timeoutMs !== null && { timeoutMs: Math.ceil(numberOfMs(timeoutMs)) }),
  };
}

function numberOfMs(value: unknown): number {
  return wholeNumberArgument(typeof value === 'number' ? Math.ceil(value) : value, 'timeout', 1, 2 ** 31 - 1);
}

function headersOf(given: unknown): Record<string, string> {
  const entries = Object.entries(recordArgument(given, 'the headers'));
  if (entries.length > headersMax) {
    throw new RangeError(`expected at most ${headersMax} headers, got ${entries.length}`);
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, textArgument(value, `the header ${name}`, 16_384)]));
}

function payloadOf(body: Uint8Array): Payload {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

const codes = { address: 'EADDRNOTALLOWED', limit: 'ELIMIT', network: 'ENETWORK', request: 'EINVAL' } as const;

function failureOf(error: OutboundError): FetchAnswer {
  return {
    ok: false,
    type: error.kind === 'limit' ? 'request-timeout' : 'system',
    code: causeCode(error.cause) ?? codes[error.kind],
    message: error.message,
  };
}

/** Returns `ECONNREFUSED` and similar codes. */
function causeCode(cause: unknown): string | undefined {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

type ToHost = (op: string, args: readonly unknown[]) => Promise<unknown>;
type Check = (args: readonly unknown[]) => readonly unknown[];

const keyMax = 512;
const valueMax = 1_048_576;
const pathMax = 65_536;
const jsonMax = 8_388_608;
const ttlMax = 2 ** 31;

const key = (value: unknown): string => textArgument(value, 'the key', keyMax);
const text = (value: unknown): string => textArgument(value, 'the value', valueMax);
const index = (value: unknown): number => wholeNumberArgument(value, 'the index', -(2 ** 31), 2 ** 31);

function json(value: unknown, name: string, charactersMax: number): unknown {
  const size = (JSON.stringify(value) ?? '').length;
  if (size > charactersMax)
    throw new RangeError(`expected ${name} of at most ${charactersMax} characters as JSON, got ${size}`);
  return value;
}

/** Checks the arguments of calls that the service answers. */
const checks: Readonly<Record<string, Check>> = {
  'storage.get': ([name]) => [key(name)],
  'storage.getMany': ([names]) => [listArgument(names, 'the keys', 10_000).map(key)],
  'storage.set': ([name, value]) => [key(name), json(value, 'the value', valueMax)],
  'storage.delete': ([name]) => [key(name)],
  'storage.increment': ([name, by]) => [key(name), numberArgument(by, 'the increment')],
  'cache.get': ([name]) => [key(name)],
  'cache.set': ([name, value, ttl]) => [key(name), text(value), ttl === null ? null : seconds(ttl)],
  'cache.delete': ([name]) => [key(name)],
  'cache.increment': ([name]) => [key(name)],
  'cache.expire': ([name, ttl]) => [key(name), seconds(ttl)],
  'cache.listPush': ([name, values]) => [key(name), listArgument(values, 'the elements', 1000).map(text)],
  'cache.listRange': ([name, start, end]) => [key(name), index(start), index(end)],
  'cache.listLength': ([name]) => [key(name)],
  'cache.listRemove': ([name, count, value]) => [key(name), index(count), text(value)],
  'cache.listPop': ([name, count]) => [key(name), wholeNumberArgument(count, 'the count', 0, 2 ** 31)],
  capture: ([event]) => [capturedEvent(event)],
  job: ([job]) => [jobOf(job)],
  api: ([call]) => [apiCall(call)],
};

function seconds(value: unknown): number {
  return Math.min(ttlMax, numberArgument(value, 'the time to live'));
}

function capturedEvent(given: unknown): object {
  const { event, distinctId, timestamp, properties } = recordArgument(given, 'the event');
  return {
    event: textArgument(event, 'the name of the event', 1000),
    distinctId: textArgument(distinctId, 'the distinct_id', 1000),
    timestamp: textArgument(timestamp, 'the timestamp', 64),
    properties: json(recordArgument(properties, 'the properties'), 'the properties', jsonMax),
  };
}

function jobOf(given: unknown): object {
  const { name, payload, runAt } = recordArgument(given, 'the job');
  return {
    name: textArgument(name, 'the name of the job', 200),
    payload: json(recordArgument(payload, 'the payload of the job'), 'the payload of the job', jsonMax),
    runAt: numberArgument(runAt, 'the time of the job'),
  };
}

const methods = ['GET', 'POST', 'PUT', 'DELETE'];

function apiCall(given: unknown): object {
  const { method, path, headers, body } = recordArgument(given, 'the request');
  if (typeof method !== 'string' || !methods.includes(method)) {
    throw new TypeError(`expected one of the methods ${methods.join(', ')}`);
  }
  const named = Object.entries(recordArgument(headers, 'the headers')).slice(0, 100);
  return {
    method,
    path: textArgument(path, 'the path', pathMax),
    headers: Object.fromEntries(named.map(([name, value]) => [name, textArgument(value, 'the header', 16_384)])),
    body: body === null ? null : textArgument(body, 'the body', jsonMax),
  };
}

function createServiceOps(toHost: ToHost): AsyncOps {
  return Object.fromEntries(
    Object.entries(checks).map(([op, check]) => [op, async (args: readonly unknown[]) => toHost(op, check(args))]),
  );
}
