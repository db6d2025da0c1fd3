import { listArgument, numberArgument, recordArgument, textArgument, wholeNumberArgument } from './arguments.ts';
import type { AsyncOps } from './ops.ts';

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

/** What the service answers; the arguments are checked on the way. */
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

export function createServiceOps(toHost: ToHost): AsyncOps {
  return Object.fromEntries(
    Object.entries(checks).map(([op, check]) => [op, async (args: readonly unknown[]) => toHost(op, check(args))]),
  );
}
