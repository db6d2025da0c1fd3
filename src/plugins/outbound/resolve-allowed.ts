import { lookup } from 'node:dns/promises';
import { isMetadataAddress, parseAddress } from './addresses.ts';
import { refusedAddress, refusedName, type AllowList } from './allow-list.ts';
import { OutboundError } from './outbound.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Returns every address of a name; rejects if it has none. */
export type Resolver = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export const systemResolver: Resolver = (name) => lookup(name, { all: true, verbatim: true });

/**
 * Returns the permitted addresses of a host; at least one. Connect to one of them and not to the name: a second look-up could
 * return another address.
 * @param host name or address; an IPv6 address with or without brackets
 * @throws OutboundError `address` when all are refused, `network` if it has none
 */
export async function resolveAllAllowed(
  host: string,
  port: number,
  allow: AllowList,
  resolver: Resolver = systemResolver,
): Promise<readonly [ResolvedAddress, ...ResolvedAddress[]]> {
  const name = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const literal = parseAddress(name);
  if (literal === undefined && !/^[a-z0-9_.-]{1,253}$/i.test(name)) {
    throw new OutboundError(
      'address',
      `expected a host name or an address, got: ${JSON.stringify(name.slice(0, 100))}`,
    );
  }
  const badName = refusedName(allow, name, port);
  if (badName !== undefined) throw refused(name, port, badName);
  const found = literal === undefined ? await look(name, resolver) : [{ address: name }];
  let refusal = refused(name, port, 'no IP address');
  const allowed: ResolvedAddress[] = [];
  for (const { address } of found) {
    const parsed = parseAddress(address);
    if (parsed === undefined) continue;
    const bad = refusedAddress(allow, name, port, parsed);
    if (bad === undefined) allowed.push({ address, family: parsed.family === 'ipv4' ? 4 : 6 });
    else refusal = refused(name, port, bad, isMetadataAddress(parsed) ? address : name);
  }
  const [first, ...others] = allowed;
  if (first === undefined) throw refusal;
  return [first, ...others];
}

/** Returns the first of them, for clients that take one address (databases). Throws as `resolveAllAllowed`. */
export async function resolveAllowed(
  host: string,
  port: number,
  allow: AllowList,
  resolver: Resolver = systemResolver,
): Promise<ResolvedAddress> {
  const [first] = await resolveAllAllowed(host, port, allow, resolver);
  return first;
}

async function look(name: string, resolver: Resolver) {
  try {
    const found = await resolver(name);
    if (found.length > 0) return found;
  } catch (cause) {
    throw new OutboundError('network', `the host ${name} was not found${codeOf(cause)}`, { cause });
  }
  throw new OutboundError('network', `the host ${name} was not found: it has no address`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
}

/** `permit` is the entry that an operator would list. */
function refused(host: string, port: number, reason: string, permit = host): OutboundError {
  const message =
    `expected a public address, got: ${host}, which is ${reason}; ` +
    `to permit it, an operator adds ${permit.includes(':') ? `[${permit}]` : permit}:${port} to MILLRACE_OUTBOUND_ALLOW`;
  return new OutboundError('address', message);
}
