import type { GeoIp, OutboundFetch } from '../../plugins/host.ts';

/** What the ops of one instance are made of. */
export interface OpsParts {
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
  /** Asks the service; see Bridge in ../guest/lib/index.ts for what it answers. */
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
  readonly sync: Readonly<Record<string, (args: readonly unknown[]) => unknown>>;
  readonly async: Readonly<Record<string, (args: readonly unknown[]) => Promise<unknown>>>;
  /** The instance is gone: ends connections that are still open. */
  close(): void;
}

export function createOps(_parts: OpsParts): Ops {
  return { sync: {}, async: {}, close: () => undefined };
}
