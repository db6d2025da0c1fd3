/** Environment of plugins in the service and the command line: isolates, outbound requests, GeoIP. */
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import { parseAllowList, type AllowList } from '../../plugins/outbound/allow-list.ts';
import { readExtraCa } from '../../plugins/outbound/extra-ca.ts';
import { fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { openGeoIp, type GeoIpSource } from '../../plugins/geoip.ts';
import { archiveBytesMax } from '../../plugins/packages/package-files.ts';
import { createSandbox, type IsolatedSandbox } from '../../plugins/sandbox/create-sandbox.ts';
import type { Log } from '../telemetry/log.ts';

const packageTimeoutMs = 120_000;

export interface PluginEnvironment {
  readonly sandbox: IsolatedSandbox;
  readonly fetch: OutboundFetch;
  /** For installing plugins: larger responses and more time. */
  readonly packageFetch: OutboundFetch;
  readonly geoip: GeoIpSource;
  close(): Promise<void>;
}

/** Private addresses that may be reached, and additional certificates to trust. */
export function outboundTrust({ outboundAllow, outboundCa }: Settings): {
  readonly allow: AllowList;
  readonly ca: string | undefined;
} {
  return { allow: parseAllowList(outboundAllow), ca: readExtraCa(outboundCa) };
}

export function openPluginEnvironment(
  settings: Settings,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): PluginEnvironment {
  const { outboundTimeoutMs: timeoutMs, outboundBytesMax: bytesMax, geoipDatabase } = settings;
  const trust = outboundTrust(settings);
  const fetch = fetchLoadedLate({ ...trust, timeoutMs, bytesMax });
  const packageFetch = fetchLoadedLate({ ...trust, timeoutMs: packageTimeoutMs, bytesMax: archiveBytesMax });
  const geoip = openGeoIp(geoipDatabase, log);
  const sandbox = createSandbox({
    memoryBytesMax: settings.sandboxMemoryBytesMax,
    processBytesMax: settings.sandboxProcessBytesMax,
    cpuMs: settings.sandboxCpuMs,
    waitMs: settings.sandboxWaitMs,
    taskMs: settings.sandboxTaskMs,
    instancesMax: settings.sandboxInstancesMax,
    idleMs: settings.sandboxIdleMs,
    outbound: { allow: settings.outboundAllow, ca: trust.ca, timeoutMs, bytesMax },
    geoipDatabase,
    log,
    clock,
  });
  return {
    sandbox,
    fetch,
    packageFetch,
    geoip,
    close: async () => {
      await sandbox.close();
      geoip.close();
      await Promise.all([fetch.close(), packageFetch.close()]);
    },
  };
}

/** Opened on first use, since most processes never run plugin code. */
export function openPluginEnvironmentLate(...how: Parameters<typeof openPluginEnvironment>): {
  readonly open: () => PluginEnvironment;
  readonly close: () => Promise<void>;
} {
  let opened: PluginEnvironment | undefined;
  return {
    open: () => (opened ??= openPluginEnvironment(...how)),
    close: async () => opened?.close(),
  };
}
