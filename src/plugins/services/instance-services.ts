import type { PluginStorage } from '../host.ts';
import type { OutboundResponse } from '../outbound/outbound.ts';
import type { ApiCall, InstanceServices } from '../sandbox/sandbox.ts';
import type { CacheStore } from './cache-store.ts';
import type { PluginCapture } from './plugin-capture.ts';
import type { PluginLogs } from './plugin-logs.ts';
import type { OwnMetricsWriter } from './own-metrics.ts';

/** The config that the services belong to. */
interface ServicesConfig {
  readonly configId: number;
  readonly projectId: number;
  /** Identifies the plugin: its configs in a project share a cache. */
  readonly pluginKey: string;
  /** Removes the config's secrets from a text; see plugins/mask-secrets.ts. */
  readonly mask: (text: string) => string;
}

type EnqueuePluginJob = (config: ServicesConfig, job: Parameters<InstanceServices['enqueueJob']>[0]) => Promise<void>;

interface InstanceServicesDeps {
  /** Storage that writes immediately (storage.ts), or with the window (window-storage.ts). */
  readonly storage: (configId: number, projectId: number) => PluginStorage;
  readonly cache: CacheStore;
  readonly capture: PluginCapture;
  readonly enqueueJob: EnqueuePluginJob;
  readonly api: (config: ServicesConfig, call: ApiCall) => Promise<OutboundResponse>;
  readonly logs: Pick<PluginLogs, 'add'>;
  readonly metrics: Pick<OwnMetricsWriter, 'add'>;
}

/** Creates the services of sandbox instances, bound to one config. */
export function createInstanceServices(deps: InstanceServicesDeps): (config: ServicesConfig) => InstanceServices {
  return (config) => {
    const { configId, projectId, pluginKey, mask } = config;
    return {
      storage: deps.storage(configId, projectId),
      cache: deps.cache.of(pluginKey, projectId),
      capture: (event) => deps.capture(config, event),
      enqueueJob: (job) => deps.enqueueJob(config, job),
      api: (call) => deps.api(config, call),
      log: (line) => deps.logs.add(configId, projectId, line, mask),
      metric: (name, kind, value) => deps.metrics.add(configId, projectId, { name, kind, value }),
    };
  };
}
