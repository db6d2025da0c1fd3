import type { SocketAddress } from 'node:net';
import { isInRange, isMetadataAddress, isOneAddress, parseRange, refusedAs, type IpRange } from './addresses.ts';

/** Addresses that may be reached in addition to public ones: MILLRACE_OUTBOUND_ALLOW. */
export type AllowList = readonly AllowEntry[];

type AllowEntry = {
  /** `undefined` means every port. */
  readonly port: number | undefined;
} & ({ readonly kind: 'name'; readonly name: string } | { readonly kind: 'range'; readonly range: IpRange });

const form =
  'MILLRACE_OUTBOUND_ALLOW: expected hosts, host:port or CIDR ranges, comma-separated (IPv6 with a port as [::1]:80)';

/** @throws Error with a sentence that names the invalid entry */
export function parseAllowList(text: string): AllowList {
  const entries: AllowEntry[] = [];
  for (const part of text.split(',')) {
    const trimmed = part.trim();
    if (trimmed === '') continue;
    const entry = parseEntry(trimmed);
    if (entry === undefined) throw new Error(`${form}, got: ${trimmed}`);
    entries.push(entry);
  }
  return entries;
}

function parseEntry(text: string): AllowEntry | undefined {
  const bare = parseRange(text);
  if (bare !== undefined) return { kind: 'range', range: bare, port: undefined };
  const [, host = '', portText] = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const range = parseRange(host.startsWith('[') ? host.slice(1, -1) : host);
  if (range !== undefined) return { kind: 'range', range, port };
  const name = plainName(host);
  // The last label of a name is never a number: that would be an unusual spelling of an address.
  const isName = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/.test(name);
  return isName && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name) ? { kind: 'name', name, port } : undefined;
}

/** Lower case, without the trailing dot, which has no meaning. */
function plainName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** Names under which clouds provide credentials. */
const metadataNames = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Returns why a name must not be resolved, or `undefined` if it may. */
export function refusedName(allow: AllowList, name: string, port: number): string | undefined {
  if (!metadataNames.has(plainName(name)) || isNamed(allow, name, port)) return undefined;
  return 'the name of a cloud metadata service';
}

/**
 * Returns why a resolved address must not be reached, e.g. `a loopback address`, or `undefined` if it may. An address of a
 * cloud metadata service must be listed itself: neither a name nor a wider range covers it.
 */
export function refusedAddress(
  allow: AllowList,
  host: string,
  port: number,
  address: SocketAddress,
): string | undefined {
  const reason = refusedAs(address);
  if (reason === undefined) return undefined;
  const exactOnly = isMetadataAddress(address);
  if (!exactOnly && isNamed(allow, host, port)) return undefined;
  const isListed = allow.some(
    (entry) =>
      entry.kind === 'range' &&
      isPort(entry, port) &&
      isInRange(address, entry.range) &&
      (!exactOnly || isOneAddress(entry.range)),
  );
  return isListed ? undefined : reason;
}

function isNamed(allow: AllowList, host: string, port: number): boolean {
  const name = plainName(host);
  return allow.some((entry) => entry.kind === 'name' && entry.name === name && isPort(entry, port));
}

function isPort(entry: AllowEntry, port: number): boolean {
  return entry.port === undefined || entry.port === port;
}
