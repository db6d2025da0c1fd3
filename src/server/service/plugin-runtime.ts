/** Runtime of plugins, one per thread that runs them: the pipeline's and the main thread. */
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import { enqueuePluginJob } from '../../queue/jobs/enqueue-plugin-job.ts';
import { readDatabaseTime } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createProgramLoader } from '../../plugins/packages/program-loader.ts';
import { createPluginCapture } from '../../plugins/services/plugin-capture.ts';
import { createInstanceServices } from '../../plugins/services/instance-services.ts';
import { createPluginLogs } from '../../plugins/services/plugin-logs.ts';
import { createOwnMetrics } from '../../plugins/services/own-metrics.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import type { PluginStorage, TransformationHost } from '../../plugins/host.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import type { InstanceServices, SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { loadFiles } from '../../plugins/configs/load-files.ts';
import type { StepDeps } from '../../pipeline/transform/make-step.ts';
import type { MainThread } from './main-thread.ts';
import { openPluginEnvironment, type PluginEnvironment } from './plugin-environment.ts';

const gaugeEveryMs = 5000;
/** Shorter than the time in which this thread must answer. */
const answerMsMax = 2000;

export interface PluginRuntimeDeps {
  readonly db: Metadata;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Thread that uses the plugin process, for metrics. */
  readonly thread: 'main' | 'pipeline';
  /** The main thread, or its proxy in another thread. */
  readonly main: MainThread;
  /** Storage of the configs that run here. */
  readonly storageOf: (configId: number, projectId: number) => PluginStorage;
}

/** The part of a config that its plugin's services depend on. */
export interface ServedConfig {
  readonly id: number;
  readonly projectId: number;
  readonly pluginId: number;
  readonly pluginName: string;
  readonly fields: readonly PluginField[];
  readonly settings: SettingValues;
}

export interface PluginRuntime extends Pick<PluginEnvironment, 'sandbox' | 'fetch' | 'packageFetch'> {
  readonly geoip: Pick<TransformationHost, 'geoip' | 'geoipProblem'>;
  readonly loadProgram: (versionId: number) => Promise<SandboxProgram | undefined>;
  readonly servicesOf: (config: ServedConfig) => InstanceServices;
  /** Dependencies of converting configs to steps of a chain. */
  readonly steps: StepDeps;
  /** `message` must not contain secrets. */
  readonly logFailure: (config: Pick<ServedConfig, 'id' | 'projectId'>, message: string) => void;
  /** Whether the plugin process answers. */
  readonly health: () => Promise<HealthResult>;
  /** Removes expired logs. */
  readonly prune: () => Promise<void>;
  close(): Promise<void>;
}

export function createPluginRuntime(deps: PluginRuntimeDeps): PluginRuntime {
  const { db, settings, clock, log, main } = deps;
  const environment = openPluginEnvironment(settings, { log, clock });
  const { sandbox, fetch, packageFetch, geoip } = environment;
  const logs = createPluginLogs(db, { days: settings.pluginLogDays, clock, log });
  const ownMetrics = createOwnMetrics(db, { clock, log });
  const gauging = setInterval(() => gauge(deps, sandbox), gaugeEveryMs).unref();
  const services = createInstanceServices({
    storage: deps.storageOf,
    cache: { of: main.cacheOf },
    capture: createPluginCapture({ accept: main.accept, clock, eventBytesMax: settings.captureEventBytesMax }),
    enqueueJob: async (config, job) => {
      const now = await readDatabaseTime(db);
      // The plugin uses this process's clock, the job queue the database's.
      const runAt = job.runAt + (now - clock.now());
      await enqueuePluginJob(db, config, { ...job, runAt }, now);
    },
    api: (config, request) => main.api(config.projectId, request),
    logs,
    metrics: ownMetrics,
  });
  const loadProgram = createProgramLoader(db);
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
    // Own properties, so that a copy has their current values.
    geoip: {
      get geoip() {
        return geoip.geoip;
      },
      get geoipProblem() {
        return geoip.geoipProblem;
      },
    },
    loadProgram,
    servicesOf,
    steps: stepDeps(deps, { sandbox, loadProgram, fetch, geoip, servicesOf }),
    logFailure: ({ id, projectId }, message) => {
      const line = { time: clock.now(), level: 'ERROR', source: 'PLUGIN', message, instanceId: '' } as const;
      logs.add(id, projectId, line);
    },
    health: () => sandboxHealth(sandbox),
    prune: () => logs.prune(),
    close: async () => {
      clearInterval(gauging);
      await environment.close();
      await Promise.all([logs.close(), ownMetrics.close()]);
    },
  };
}

function gauge({ metrics, thread }: PluginRuntimeDeps, sandbox: PluginEnvironment['sandbox']): void {
  const { instances, rssBytes, restarts } = sandbox.stats();
  metrics.set('millrace_sandbox_instances', { thread }, instances);
  metrics.set('millrace_sandbox_memory_bytes', { thread }, rssBytes);
  metrics.set('millrace_sandbox_restarts', { thread }, restarts);
}

async function sandboxHealth(sandbox: PluginEnvironment['sandbox']): Promise<HealthResult> {
  if (await sandbox.answers(answerMsMax)) return { ok: true };
  const seconds = answerMsMax / 1000;
  const detail = `The plugin process (${sandbox.pid}) has not answered for ${seconds} s; check whether it is stopped. Work is waiting for it.`;
  return { ok: false, detail };
}

function stepDeps(
  { db, clock, main, storageOf }: PluginRuntimeDeps,
  own: Pick<PluginEnvironment, 'sandbox' | 'fetch' | 'geoip'> & Pick<PluginRuntime, 'loadProgram' | 'servicesOf'>,
): StepDeps {
  const { sandbox, loadProgram, fetch, geoip, servicesOf } = own;
  return {
    findPlugin: (slug) => builtInRegistry.get(slug),
    sandbox,
    loadProgram,
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
