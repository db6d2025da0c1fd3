import type { Answers, Call } from '../../base/calls.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import type { PluginCache } from '../../plugins/host.ts';
import type { OutboundResponse } from '../../plugins/outbound/outbound.ts';
import type { ApiCall } from '../../plugins/sandbox/sandbox.ts';

/** Functions of the main thread for plugins in the pipeline's thread: ingest, cache, API. */
export interface MainThread {
  readonly accept: (batch: AcceptedBatch) => Promise<void>;
  readonly cacheOf: (pluginKey: string, projectId: number) => PluginCache;
  readonly api: (projectId: number, request: ApiCall) => Promise<OutboundResponse>;
}

/** Calls the main thread from another thread. */
export function mainThreadOver(call: Call): MainThread {
  return {
    accept: async (batch) => void (await call('accept', batch)),
    cacheOf: (pluginKey, projectId) => cacheOver(call, pluginKey, projectId),
    api: async (projectId, request) => (await call('api', projectId, request)) as OutboundResponse,
  };
}

/** Answers the calls of `mainThreadOver`. */
export function answersOf({ accept, cacheOf, api }: MainThread): Answers {
  return {
    accept: (batch: AcceptedBatch) => accept(batch),
    api: (projectId: number, request: ApiCall) => api(projectId, request),
    cache: async (pluginKey: string, projectId: number, method: keyof PluginCache, ...args: unknown[]) => {
      const cache = cacheOf(pluginKey, projectId);
      // The arguments were typed in cacheOver.
      const run = cache[method] as (...args: readonly unknown[]) => Promise<unknown>;
      return run(...args);
    },
  };
}

function cacheOver(call: Call, pluginKey: string, projectId: number): PluginCache {
  const ask = async <T>(method: keyof PluginCache, ...args: readonly unknown[]): Promise<T> =>
    (await call('cache', pluginKey, projectId, method, ...args)) as T;
  return {
    get: (key) => ask('get', key),
    set: (key, value, ttlSeconds) => ask('set', key, value, ttlSeconds),
    delete: (key) => ask('delete', key),
    increment: (key) => ask('increment', key),
    expire: (key, ttlSeconds) => ask('expire', key, ttlSeconds),
    listPush: (key, values) => ask('listPush', key, values),
    listRange: (key, start, end) => ask('listRange', key, start, end),
    listLength: (key) => ask('listLength', key),
    listRemove: (key, count, value) => ask('listRemove', key, count, value),
    listPop: (key, count) => ask('listPop', key, count),
  };
}
