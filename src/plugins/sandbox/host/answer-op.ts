import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type { PluginStorage } from '../../host.ts';
import { hopsMax, hopsProperty, type ApiCall, type InstanceServices, type SandboxEvent } from '../sandbox.ts';

interface OpContext {
  readonly services: InstanceServices;
  /** The event during whose processing the call was made. */
  readonly cause: { readonly event: SandboxEvent; readonly nth: number } | undefined;
}

type Handler = (args: readonly unknown[], context: OpContext) => Promise<unknown>;

/**
 * The calls that an isolate may make to the service, by name. The plugin process has already checked the forms
 * (src/plugins/sandbox/ops); here everything that could harm the service is checked.
 */
const handlers: Readonly<Record<string, Handler>> = {
  'storage.get': async ([key], context) => {
    const value = await storageOf(context).get(text(key));
    return value === undefined ? null : { value };
  },
  'storage.getMany': async ([keys], context) => [...(await storageOf(context).getMany(texts(keys)))],
  'storage.set': ([key, value], context) => storageOf(context).set(text(key), value as JsonValue),
  'storage.delete': ([key], context) => storageOf(context).delete(text(key)),
  'storage.increment': ([key, by], context) => storageOf(context).increment(text(key), number(by)),
  'cache.get': async ([key], { services }) => (await services.cache.get(text(key))) ?? null,
  'cache.set': ([key, value, ttl], { services }) =>
    services.cache.set(text(key), text(value), ttl === null ? undefined : number(ttl)),
  'cache.delete': ([key], { services }) => services.cache.delete(text(key)),
  'cache.increment': ([key], { services }) => services.cache.increment(text(key)),
  'cache.expire': ([key, ttl], { services }) => services.cache.expire(text(key), number(ttl)),
  'cache.listPush': ([key, values], { services }) => services.cache.listPush(text(key), texts(values)),
  'cache.listRange': ([key, start, end], { services }) =>
    services.cache.listRange(text(key), number(start), number(end)),
  'cache.listLength': ([key], { services }) => services.cache.listLength(text(key)),
  'cache.listRemove': ([key, count, value], { services }) =>
    services.cache.listRemove(text(key), number(count), text(value)),
  'cache.listPop': ([key, count], { services }) => services.cache.listPop(text(key), number(count)),
  capture,
  job: ([given], { services }) => {
    const { name, payload, runAt } = object(given);
    return services.enqueueJob({ name: text(name), payload: object(payload) as JsonObject, runAt: number(runAt) });
  },
  // Checked in the plugin process.
  api: ([given], { services }) => services.api(object(given) as unknown as ApiCall),
};

/** @throws errors of the service, and TypeError for an invalid call */
export async function answerOp(op: string, args: readonly unknown[], context: OpContext): Promise<unknown> {
  const handler = Object.hasOwn(handlers, op) ? handlers[op] : undefined;
  if (!handler) throw new TypeError('expected a known call');
  return await handler(args, context);
}

function storageOf({ services: { storage }, cause }: OpContext): PluginStorage {
  return cause === undefined ? storage : (storage.forEvent?.(cause.event) ?? storage);
}

async function capture([given]: readonly unknown[], { services, cause }: OpContext): Promise<void> {
  const { event, distinctId, timestamp, properties } = object(given);
  const hops = cause ? hopsOf(cause.event) + 1 : 0;
  if (hops > hopsMax) {
    throw new Error(
      `expected an event to be captured because of another captured one at most ${hopsMax} times, got one more: ` +
        `do not capture "${text(event)}" while processing a captured event`,
    );
  }
  await services.capture({
    event: text(event),
    distinctId: text(distinctId),
    timestamp: text(timestamp),
    properties: object(properties) as JsonObject,
    cause: cause ? { uuid: cause.event.uuid, index: cause.nth } : null,
    hops,
  });
}

function hopsOf(event: SandboxEvent): number {
  if (!event.propertiesText.includes(hopsProperty)) return 0;
  const hops = (JSON.parse(event.propertiesText) as JsonObject)[hopsProperty];
  return typeof hops === 'number' && hops > 0 ? hops : 0;
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('expected a text');
}

function texts(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(text);
  throw new TypeError('expected a list of texts');
}

function number(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TypeError('expected a number');
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError('expected an object');
}
