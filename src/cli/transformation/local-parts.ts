import type { CommandProcess } from '../command-process.ts';
import type { Settings } from '../../config/settings.ts';
import { parseAllowList } from '../../outbound/allow-list.ts';
import { readExtraCa } from '../../outbound/extra-ca.ts';
import { createOutboundFetch } from '../../outbound/safe-fetch.ts';
import type { PrepareDeps } from '../../plugins/packages/prepare.ts';
import { openGeoIp } from '../../plugins/geoip.ts';
import type { Attachment, PluginStorage } from '../../plugins/host.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { createSandbox, type IsolatedSandbox } from '../../sandbox/isolated.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { emptyCaches } from '../../transform/trial-parts.ts';
import type { TrialParts } from '../../transform/trial-run.ts';

/** What runs plugins without a service. */
export interface LocalParts {
  /** To read plugins with. */
  readonly packages: PrepareDeps;
  readonly partsFor: (subjects: {
    readonly programOf: (versionId: number) => SandboxProgram;
    readonly filesOf: (configId: number) => ReadonlyMap<string, Attachment>;
  }) => TrialParts;
  close(): Promise<void>;
}

/** The same parts as in a service with these settings, but nothing is stored yet. */
export function openLocalParts(settings: Settings, { stderr }: CommandProcess): LocalParts {
  const log = createLog('error', stderr);
  const { outboundAllow: allow, outboundTimeoutMs: timeoutMs, outboundBytesMax: bytesMax } = settings;
  const fetch = createOutboundFetch({
    allow: parseAllowList(allow),
    timeoutMs,
    bytesMax,
    ca: readExtraCa(settings.outboundCa),
  });
  const geoip = openGeoIp(settings.geoipDatabase, log);
  const sandbox = sandboxOf(settings, log);
  const now = (): number => Date.now();
  return {
    packages: { fetch, npmRegistry: settings.npmRegistry, sandbox },
    partsFor: ({ programOf, filesOf }) => ({
      findPlugin: (slug) => builtInRegistry.get(slug),
      sandbox,
      loadProgram: async (versionId) => programOf(versionId),
      loadFiles: async (configId) => filesOf(configId),
      storageOf: () => nothingStored,
      openCache: emptyCaches(now),
      fetch,
      geoip,
      taskMs: settings.sandboxTaskMs,
      now,
    }),
    close: async () => {
      await sandbox.close();
      await fetch.close();
      geoip.close();
    },
  };
}

function sandboxOf(settings: Settings, log: Log): IsolatedSandbox {
  return createSandbox({
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
  });
}

const writesElsewhere = async (): Promise<never> => {
  throw new Error('expected a trial to keep what it writes');
};
const nothingStored: PluginStorage = {
  get: async () => undefined,
  getMany: async () => new Map(),
  set: writesElsewhere,
  delete: writesElsewhere,
  increment: writesElsewhere,
};
