/** Plugins outside the pipeline: what they run with, their jobs, schedules and deliveries, and what those in the pipeline ask for. */
import { systemClock } from '../base/clock.ts';
import type { Door } from '../batch/door.ts';
import type { Settings } from '../config/settings.ts';
import { startJobRunner } from '../jobs/runner.ts';
import type { Metadata } from '../metadata/database.ts';
import type { MainThread } from './pipeline-calls.ts';
import { createPluginApi, type Inject } from './plugin-api.ts';
import type { StoredConfig } from '../plugins/configs/stored-config.ts';
import { createPluginRuntime, type PluginRuntime } from './plugin-runtime.ts';
import { createCacheStore } from '../plugins/services/cache.ts';
import { createStorage } from '../plugins/services/storage.ts';
import { builtInRegistry } from '../plugins/built-in/registry.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Of all plugins together. */
const pluginCacheBytes = 64 * 1024 * 1024;
const pruneEveryMs = 600_000;

interface PluginParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Metadata;
  readonly door: Door;
}

export interface StartedPlugins {
  readonly plugins: PluginRuntime;
  readonly mainThread: MainThread;
  /** Tells how plugins reach this service's own API. */
  readonly serveApi: (inject: Inject) => void;
}

/** `parts` takes what has to be stopped. */
export function startPlugins(
  { settings, log, metrics, db, door }: PluginParts,
  parts: AsyncDisposableStack,
): StartedPlugins {
  const clock = systemClock;
  const cache = createCacheStore({ bytesMax: pluginCacheBytes, now: () => clock.now() });
  const notYet: Inject = async () => {
    throw new Error('the API is being started; try again');
  };
  let inject = notYet;
  const api = createPluginApi({ db, clock, inject: (request) => inject(request) });
  parts.defer(() => api.close());
  const mainThread: MainThread = {
    accept: (batch) => door.accept(batch),
    cacheOf: (pluginKey, projectId) => cache.of(pluginKey, projectId),
    api: (projectId, request) => api.call(projectId, request),
  };
  const storageOf = (configId: number, projectId: number) => createStorage(db, { configId, projectId });
  const plugins = createPluginRuntime({
    db,
    settings,
    clock,
    log,
    metrics,
    thread: 'main',
    main: mainThread,
    storageOf,
  });
  parts.defer(() => plugins.close());
  const pruning = setInterval(() => void plugins.prune(), pruneEveryMs);
  parts.defer(() => clearInterval(pruning));
  return { plugins, mainThread, serveApi: (given) => void (inject = given) };
}

export function startJobs(
  { db, door, log, plugins }: { db: Metadata; door: Door; log: Log; plugins: PluginRuntime },
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const { signal } = stop;
  const runner = startJobRunner({
    db,
    clock: systemClock,
    registry: builtInRegistry,
    accept: door.accept,
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
