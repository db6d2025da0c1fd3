import type { CommandProcess } from '../terminal.ts';
import { systemClock } from '../../base/clock.ts';
import type { Settings } from '../../server/config/settings.ts';
import type { PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import type { Attachment, PluginStorage } from '../../plugins/host.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import type { SandboxProgram } from '../../plugins/sandbox/sandbox.ts';
import { openPluginEnvironment, type PluginEnvironment } from '../../server/service/plugin-environment.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { emptyCaches } from '../../pipeline/transform/trial-deps.ts';
import type { TrialDeps } from '../../pipeline/transform/trial-run.ts';

/** Runs plugins without a service. */
export interface TrialHost extends Pick<PluginEnvironment, 'sandbox' | 'fetch' | 'geoip'> {
  /** Dependencies for reading plugins. */
  readonly packages: PrepareDeps;
  readonly depsFor: (subjects: {
    readonly programOf: (versionId: number) => SandboxProgram;
    readonly filesOf: (configId: number) => ReadonlyMap<string, Attachment>;
  }) => TrialDeps;
  close(): Promise<void>;
}

/** Opens an environment like that of a service with these settings, with empty storage. */
export function openTrialHost(settings: Settings, { stderr }: CommandProcess): TrialHost {
  const environment = openPluginEnvironment(settings, { log: createLog('error', stderr), clock: systemClock });
  const { sandbox, fetch, packageFetch, geoip } = environment;
  const now = (): number => systemClock.now();
  return {
    sandbox,
    fetch,
    geoip,
    packages: { fetch: packageFetch, npmRegistry: settings.npmRegistry, sandbox },
    depsFor: ({ programOf, filesOf }) => ({
      findPlugin: (slug) => builtInRegistry.get(slug),
      sandbox,
      loadProgram: async (versionId) => programOf(versionId),
      loadFiles: async (configId) => filesOf(configId),
      storageOf: () => emptyStorage,
      openCache: emptyCaches(now),
      fetch,
      geoip,
      taskMs: settings.sandboxTaskMs,
      now,
    }),
    close: () => environment.close(),
  };
}

const refuseWrite = async (): Promise<never> => {
  throw new Error('expected a trial to write to its own storage');
};
const emptyStorage: PluginStorage = {
  get: async () => undefined,
  getMany: async () => new Map(),
  set: refuseWrite,
  delete: refuseWrite,
  increment: refuseWrite,
};
