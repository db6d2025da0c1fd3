import type { GeoIp } from '../../host.ts';
import type { OutboundFetch } from '../../outbound/outbound.ts';
import { textArgument } from './arguments.ts';
import { cryptoOps } from './crypto-ops.ts';
import { createFetchOps } from './fetch-ops.ts';
import { jwtOps } from './jwt-ops.ts';
import type { AsyncOps, SyncOps } from './ops.ts';
import { createPostgresOps } from './postgres-ops.ts';
import { createServiceOps } from './service-ops.ts';
import { urlOps } from './url-ops.ts';
import { zlibOps } from './zlib-ops.ts';

/** What the ops of one instance are made of. */
export interface OpsDeps {
  /** Reaches what plugins may reach. */
  readonly outbound: OutboundFetch;
  /** For protocols other than HTTP: the address to connect to, checked. Throws OutboundError. */
  readonly resolveAllowed: (
    host: string,
    port: number,
  ) => Promise<{ readonly address: string; readonly family: 4 | 6 }>;
  readonly geoip: GeoIp | undefined;
  /** Why there is no geoip. */
  readonly geoipProblem: string;
  /** Of createModuleOps, shared by all isolates of the process. */
  readonly modules: SyncOps;
  /** Asks the service; see Bridge in ../guest/lib/bridge.ts for what it answers. */
  readonly toHost: (op: string, args: readonly unknown[]) => Promise<unknown>;
  readonly instance: {
    readonly pluginName: string;
    readonly label: string;
    readonly configId: number;
    readonly projectId: number;
  };
}

/**
 * What an isolate may ask of its own process. Arguments come from the plugin and are checked by each op. Results are JSON
 * values and Uint8Arrays, copied. Nothing of this process is ever handed in.
 */
export interface Ops {
  readonly sync: SyncOps;
  readonly async: AsyncOps;
  /** The instance is gone: ends connections that are still open. */
  close(): void;
}

export function createOps(deps: OpsDeps): Ops {
  const postgres = createPostgresOps(deps.resolveAllowed);
  return {
    sync: { ...urlOps, ...cryptoOps, ...jwtOps, ...zlibOps, ...deps.modules, ...createGeoIpOps(deps) },
    async: { ...createFetchOps(deps.outbound), ...postgres.ops, ...createServiceOps(deps.toHost) },
    close: postgres.close,
  };
}

function createGeoIpOps({ geoip, geoipProblem }: Pick<OpsDeps, 'geoip' | 'geoipProblem'>): SyncOps {
  return {
    geoip: ([ip]) => {
      if (geoip === undefined) throw new Error(geoipProblem);
      return geoip.locate(textArgument(ip, 'the address', 100));
    },
  };
}
