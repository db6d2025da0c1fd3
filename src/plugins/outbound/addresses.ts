import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net';

export interface IpRange {
  readonly family: 'ipv4' | 'ipv6';
  readonly prefixBits: number;
  readonly list: BlockList;
}

/** Returns `undefined` for an invalid address. Zone ids (`fe80::1%eth0`) are refused: they name an interface of this machine. */
export function parseAddress(text: string): SocketAddress | undefined {
  if (isIPv4(text)) return new SocketAddress({ address: text, family: 'ipv4' });
  return isIPv6(text) && !text.includes('%') ? new SocketAddress({ address: text, family: 'ipv6' }) : undefined;
}

/** Parses `10.0.0.0/8`; without a length the range is one address. Returns `undefined` for an invalid range. */
export function parseRange(text: string): IpRange | undefined {
  const [base = '', length, more] = text.split('/');
  const address = parseAddress(base);
  if (address === undefined || more !== undefined) return undefined;
  const { family } = address;
  const width = widthOf(family);
  if (length !== undefined && (!/^\d{1,3}$/.test(length) || Number(length) > width)) return undefined;
  const prefixBits = length === undefined ? width : Number(length);
  const list = new BlockList();
  list.addSubnet(address, prefixBits);
  return { family, prefixBits, list };
}

/** An IPv4 address written as IPv6 is in no IPv4 range, nor the other way round, although a BlockList treats them as the same. */
export function isInRange(address: SocketAddress, { family, list }: IpRange): boolean {
  return address.family === family && list.check(address);
}

export function isOneAddress({ family, prefixBits }: IpRange): boolean {
  return prefixBits === widthOf(family);
}

function widthOf(family: IpRange['family']): number {
  return family === 'ipv4' ? 32 : 128;
}

/** Addresses where clouds provide credentials, also those outside the refused ranges. */
const metadataAddresses = ranges([
  ['169.254.169.254', 'a cloud metadata address'],
  ['169.254.170.2', 'a cloud metadata address'],
  ['169.254.170.23', 'a cloud metadata address'],
  ['100.100.100.200', 'a cloud metadata address'],
  ['192.0.0.192', 'a cloud metadata address'],
  ['168.63.129.16', 'a cloud metadata address'],
  ['fd00:ec2::254', 'a cloud metadata address'],
  ['fd00:ec2::23', 'a cloud metadata address'],
  ['fd20:ce::254', 'a cloud metadata address'],
]);

/** Non-public ranges from the IANA registries of special-purpose addresses; the first match names the rule. */
const special = ranges([
  ['0.0.0.0/8', 'an unspecified address'],
  ['10.0.0.0/8', 'a private address'],
  ['100.64.0.0/10', 'an address shared behind a carrier (CGNAT)'],
  ['127.0.0.0/8', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['172.16.0.0/12', 'a private address'],
  ['192.0.0.0/24', 'an address reserved for protocols'],
  ['192.0.2.0/24', 'an address reserved for documentation'],
  ['192.88.99.0/24', 'an address of a 6to4 relay'],
  ['192.168.0.0/16', 'a private address'],
  ['198.18.0.0/15', 'an address reserved for benchmarks'],
  ['198.51.100.0/24', 'an address reserved for documentation'],
  ['203.0.113.0/24', 'an address reserved for documentation'],
  ['224.0.0.0/4', 'a multicast address'],
  ['255.255.255.255', 'the broadcast address'],
  ['240.0.0.0/4', 'a reserved address'],
  ['::', 'an unspecified address'],
  ['::1', 'a loopback address'],
  ['::ffff:0:0/96', 'an IPv4 address written as IPv6'],
  ['::ffff:0:0:0/96', 'an IPv4 address translated to IPv6'],
  ['::/96', 'an IPv4 address written as IPv6'],
  ['64:ff9b::/96', 'an IPv4 address translated to IPv6 (NAT64)'],
  ['64:ff9b:1::/48', 'an IPv4 address translated to IPv6 (NAT64)'],
  ['100::/64', 'a discard address'],
  ['2001::/32', 'an IPv4 address inside IPv6 (Teredo)'],
  ['2001::/23', 'an address reserved for protocols'],
  ['2001:db8::/32', 'an address reserved for documentation'],
  ['2002::/16', 'an IPv4 address inside IPv6 (6to4)'],
  ['3fff::/20', 'an address reserved for documentation'],
  ['fc00::/7', 'a private address'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a private address'],
  ['ff00::/8', 'a multicast address'],
]);
const globalUnicast = ranges([['2000::/3', 'an assigned address']]);

export function isMetadataAddress(address: SocketAddress): boolean {
  return metadataAddresses.some(({ range }) => isInRange(address, range));
}

/** Describes an address that plugins may not reach by default: `a loopback address`. Returns `undefined` for a public one. */
export function refusedAs(address: SocketAddress): string | undefined {
  for (const { range, name } of [...metadataAddresses, ...special]) if (isInRange(address, range)) return name;
  const isPublic = address.family === 'ipv4' || globalUnicast.some(({ range }) => isInRange(address, range));
  return isPublic ? undefined : 'a reserved address';
}

function ranges(table: readonly (readonly [string, string])[]) {
  return table.map(([text, name]) => {
    const range = parseRange(text);
    if (range === undefined) throw new Error(`expected a range, got: ${text}`);
    return { range, name };
  });
}
