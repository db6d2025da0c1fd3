/** What plugins run with, put together once for each thread that runs some: the pipeline's and the main thread. */
import type { Clock } from '../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import { enqueuePluginJob } from '../jobs/enqueue-plugin-job.ts';
import type { Metadata } from '../metadata/database.ts';
import { parseAllowList } from '../outbound/allow-list.ts';
import { readExtraCa } from '../outbound/extra-ca.ts';
import { createOutboundFetch } from '../outbound/safe-fetch.ts';
import type { MainThread } from './pipeline-calls.ts';
import { archiveBytesMax } from '../plugins/packages/package-files.ts';
import { loadProgram } from '../plugins/packages/programs.ts';
import { createPluginCapture } from '../plugins/services/capture.ts';
import { openGeoIp } from '../plugins/geoip.ts';
import { createInstanceServices } from '../plugins/services/instance-services.ts';
import { createPluginLogs } from '../plugins/services/logs.ts';
import { createOwnMetrics } from '../plugins/services/own-metrics.ts';
import { withoutSecrets } from '../plugins/mask-secrets.ts';
import type { PluginField, SettingValues } from '../plugins/fields.ts';
import type { PluginStorage, TransformationHost } from '../plugins/host.ts';
import type { OutboundFetch } from '../outbound/outbound.ts';
import { builtInRegistry } from '../plugins/built-in/registry.ts';
import { createSandbox, type IsolatedSandbox } from '../sandbox/isolated.ts';
import type { InstanceServices, SandboxProgram } from '../sandbox/sandbox.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { loadFiles } from '../transform/configs.ts';
import type { StepDeps } from '../transform/make-step.ts';

const packageTimeoutMs = 120_000;
const gaugeEveryMs = 5000;

export interface PluginRuntimeParts {
  readonly db: Metadata;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** For the metrics: whose process of plugins this is. */
  readonly thread: 'main' | 'pipeline';
  /** Or what stands for it in another thread. */
  readonly main: MainThread;
  /** Of the configs that run here. */
  readonly storageOf: (configId: number, projectId: number) => PluginStorage;
}

/** A config as far as its plugin's services depend on it. */
export interface ServedConfig {
  readonly id: number;
  readonly projectId: number;
  readonly pluginId: number;
  readonly pluginName: string;
  readonly fields: readonly PluginField[];
  readonly settings: SettingValues;
}

export interface PluginRuntime {
  readonly sandbox: IsolatedSandbox;
  readonly fetch: OutboundFetch;
  /** For installing plugins: larger, and with more time. */
  readonly packageFetch: OutboundFetch;
  readonly geoip: Pick<TransformationHost, 'geoip' | 'geoipProblem'>;
  readonly loadProgram: (versionId: number) => Promise<SandboxProgram | undefined>;
  readonly servicesOf: (config: ServedConfig) => InstanceServices;
  /** What turns configs into steps of a chain. */
  readonly steps: StepDeps;
  /** `message` without secrets. */
  readonly logFailure: (config: Pick<ServedConfig, 'id' | 'projectId'>, message: string) => void;
  /** Removes logs that are too old. */
  readonly prune: () => Promise<void>;
  close(): Promise<void>;
}

export function createPluginRuntime(parts: PluginRuntimeParts): PluginRuntime {
  const { db, settings, clock, log, main } = parts;
  const fetch = createOutboundFetch(outboundOptions(settings));
  const packageFetch = createOutboundFetch({
    ...outboundOptions(settings),
    timeoutMs: packageTimeoutMs,
    bytesMax: archiveBytesMax,
  });
  const geoip = openGeoIp(settings.geoipDatabase, log);
  const logs = createPluginLogs(db, { days: settings.pluginLogDays, clock, log });
  const ownMetrics = createOwnMetrics(db, { clock, log });
  const sandbox = createSandbox(sandboxOptions(settings, log, clock));
  const gauging = setInterval(() => gauge(parts, sandbox), gaugeEveryMs).unref();
  const services = createInstanceServices({
    storage: parts.storageOf,
    cache: { of: main.cacheOf },
    capture: createPluginCapture({ accept: main.accept, clock, eventBytesMax: settings.captureEventBytesMax }),
    enqueueJob: async (config, job) => void (await enqueuePluginJob(db, config, job, clock.now())),
    api: (config, request) => main.api(config.projectId, request),
    logs,
    metrics: ownMetrics,
  });
  const servicesOf = (config: ServedConfig): InstanceServices =>
    services({
      configId: config.id,
      projectId: config.projectId,
      pluginKey: String(config.pluginId),
      mask: (text) => withoutSecrets(text, config.fields, config.settings),
    });
  return {
    sandbox,
    fetch,
    packageFetch,
    // Properties of its own, so that a copy takes their values of that moment along.
    geoip: {
      get geoip() {
        return geoip.geoip;
      },
      get geoipProblem() {
        return geoip.geoipProblem;
      },
    },
    loadProgram: (versionId) => loadProgram(db, versionId),
    servicesOf,
    steps: stepDeps(parts, { sandbox, fetch, geoip, servicesOf }),
    logFailure: ({ id, projectId }, message) => {
      const line = { time: clock.now(), level: 'ERROR', source: 'PLUGIN', message, instanceId: '' } as const;
      logs.add(id, projectId, line);
    },
    prune: () => logs.prune(),
    close: async () => {
      clearInterval(gauging);
      await sandbox.close();
      geoip.close();
      await Promise.all([logs.close(), ownMetrics.close(), fetch.close(), packageFetch.close()]);
    },
  };
}

function gauge({ metrics, thread }: PluginRuntimeParts, sandbox: IsolatedSandbox): void {
  const { instances, rssBytes, restarts } = sandbox.stats();
  metrics.set('millrace_sandbox_instances', { thread }, instances);
  metrics.set('millrace_sandbox_memory_bytes', { thread }, rssBytes);
  metrics.set('millrace_sandbox_restarts', { thread }, restarts);
}

function stepDeps(
  { db, clock, main, storageOf }: PluginRuntimeParts,
  own: Pick<PluginRuntime, 'sandbox' | 'fetch' | 'geoip' | 'servicesOf'>,
): StepDeps {
  const { sandbox, fetch, geoip, servicesOf } = own;
  return {
    findPlugin: (slug) => builtInRegistry.get(slug),
    sandbox,
    loadProgram: (versionId) => loadProgram(db, versionId),
    loadFiles: (configId) => loadFiles(db, configId),
    servicesOf,
    hostOf: ({ id: configId, projectId, pluginId }, attachments) => ({
      projectId,
      configId,
      attachments,
      storage: storageOf(configId, projectId),
      cache: main.cacheOf(String(pluginId), projectId),
      fetch,
      geoip: geoip.geoip,
      geoipProblem: geoip.geoipProblem,
      now: () => clock.now(),
    }),
  };
}

function outboundOptions(settings: Settings) {
  const { outboundAllow, outboundTimeoutMs: timeoutMs, outboundBytesMax: bytesMax } = settings;
  return { allow: parseAllowList(outboundAllow), timeoutMs, bytesMax, ca: readExtraCa(settings.outboundCa) };
}

function sandboxOptions(settings: Settings, log: Log, clock: Clock) {
  return {
    memoryBytesMax: settings.sandboxMemoryBytesMax,
    processBytesMax: settings.sandboxProcessBytesMax,
    cpuMs: settings.sandboxCpuMs,
    waitMs: settings.sandboxWaitMs,
    taskMs: settings.sandboxTaskMs,
    instancesMax: settings.sandboxInstancesMax,
    idleMs: settings.sandboxIdleMs,
    outbound: {
      allow: settings.outboundAllow,
      timeoutMs: settings.outboundTimeoutMs,
      bytesMax: settings.outboundBytesMax,
      ca: readExtraCa(settings.outboundCa),
    },
    geoipDatabase: settings.geoipDatabase,
    log,
    clock,
  };
}
