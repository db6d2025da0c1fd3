import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Networks of trusted proxies, whose addresses are skipped. */
const ownNetworks = new BlockList();
for (const [address, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  ownNetworks.addSubnet(address, bits, 'ipv4');
}
ownNetworks.addAddress('::1', 'ipv6');
ownNetworks.addSubnet('fc00::', 7, 'ipv6');
ownNetworks.addSubnet('fe80::', 10, 'ipv6');

/** No deployment has more proxies than that: a longer list is forged. */
const hopsMax = 32;

/**
 * Reduces `X-Forwarded-For` to the trustworthy address, or removes the header. Each proxy appends the address that it received the
 * request from, so the list is read from its end: after our own proxies, the first address is the client's, and the client may
 * have forged everything before it. For requests through a trusted proxy.
 */
export function keepTrustedAddress({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const given = headers['x-forwarded-for'];
  if (given === undefined) return;
  const address = clientAddress(String(given));
  if (address === undefined) delete headers['x-forwarded-for'];
  else headers['x-forwarded-for'] = address;
}

/** Returns `undefined` if the proxy names no address. */
export function clientAddress(forwardedFor: string): string | undefined {
  let client: string | undefined;
  for (const hop of forwardedFor.split(',').slice(-hopsMax).reverse()) {
    const address = plainAddress(hop);
    // Nothing before an invalid entry is reliable.
    if (address === undefined) return client;
    client = address;
    if (!ownNetworks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return client;
  }
  return client;
}

/** Returns an address without port, brackets, quotes and zone, unwrapping IPv4 in IPv6, or `undefined` if it is not an address. */
function plainAddress(text: string): string | undefined {
  const bare = text.trim().replaceAll('"', '');
  const address = (/^\[([^\]]*)\](?::\d+)?$/.exec(bare)?.[1] ?? bare.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1'))
    .replace(/%.*$/s, '')
    .replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}
