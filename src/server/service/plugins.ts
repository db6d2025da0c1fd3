/** Plugins outside of the pipeline: runtime, jobs, schedules, deliveries, and calls of plugins in the pipeline. */
import { startJobRunner } from '../../queue/jobs/runner.ts';
import type { MainThread } from './main-thread.ts';
import type { ServiceDeps } from './service-deps.ts';
import { createPluginApi, type Inject } from './plugin-api.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { createPluginRuntime, type PluginRuntime } from './plugin-runtime.ts';
import { createCacheStore } from '../../plugins/services/cache-store.ts';
import { createStorage } from '../../plugins/services/storage.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';

/** For all plugins together. */
const pluginCacheBytes = 64 * 1024 * 1024;
const pruneEveryMs = 600_000;

export interface StartedPlugins {
  readonly runtime: PluginRuntime;
  readonly mainThread: MainThread;
  /** Provides this service's API to plugins. */
  readonly serveApi: (inject: Inject) => void;
}

/** `parts` receives what must be stopped. */
export function startPlugins(deps: ServiceDeps, parts: AsyncDisposableStack): StartedPlugins {
  const { db, clock, ingest } = deps;
  const cache = createCacheStore({ bytesMax: pluginCacheBytes, now: () => clock.now() });
  const notYet: Inject = async () => {
    throw new Error('the API is starting; retry');
  };
  let inject = notYet;
  const api = createPluginApi({ db, clock, inject: (request) => inject(request) });
  parts.defer(() => api.close());
  const mainThread: MainThread = {
    accept: (batch) => ingest.accept(batch),
    cacheOf: (pluginKey, projectId) => cache.of(pluginKey, projectId),
    api: (projectId, request) => api.call(projectId, request),
  };
  const storageOf = (configId: number, projectId: number) => createStorage(db, { configId, projectId });
  const runtime = createPluginRuntime({ ...deps, thread: 'main', main: mainThread, storageOf });
  parts.defer(() => runtime.close());
  const pruning = setInterval(() => void runtime.prune(), pruneEveryMs);
  parts.defer(() => clearInterval(pruning));
  return { runtime, mainThread, serveApi: (given) => void (inject = given) };
}

export function startJobs(
  { db, clock, ingest, log }: ServiceDeps,
  plugins: PluginRuntime,
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const { signal } = stop;
  const runner = startJobRunner({
    db,
    clock,
    registry: builtInRegistry,
    accept: ingest.accept,
    log,
    signal,
    installed: {
      sandbox: plugins.sandbox,
      services: (config) => plugins.servicesOf(servedConfig(config)),
      loadProgram: plugins.loadProgram,
    },
  });
  parts.defer(() => {
    stop.abort();
    return runner.done;
  });
}

function servedConfig({ id, projectId, plugin, settings }: StoredConfig) {
  const { id: pluginId, name: pluginName, fields } = plugin;
  return { id, projectId, pluginId, pluginName, fields, settings };
}
