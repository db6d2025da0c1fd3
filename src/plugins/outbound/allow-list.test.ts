import { describe, expect, it } from 'vitest';
import { parseAddress, refusedAs } from './addresses.ts';
import { parseAllowList, refusedAddress } from './allow-list.ts';
import { resolveAllowed } from './resolve-allowed.ts';

describe('classification of addresses', () => {
  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'CGNAT'],
    ['100.127.255.255', 'CGNAT'],
    ['100.100.100.200', 'metadata'],
    ['127.255.255.254', 'loopback'],
    ['168.63.129.16', 'metadata'],
    ['169.254.0.1', 'link-local'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'protocols'],
    ['192.0.0.192', 'metadata'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4'],
    ['192.168.255.255', 'private'],
    ['198.19.255.255', 'benchmarks'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.255', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::2', 'IPv4'],
    ['::127.0.0.1', 'IPv4'],
    ['::ffff:127.0.0.1', 'IPv4'],
    ['::ffff:8.8.8.8', 'IPv4'],
    ['0:0:0:0:0:ffff:0808:0808', 'IPv4'],
    ['::ffff:0:127.0.0.1', 'translated'],
    ['64:ff9b::8.8.8.8', 'NAT64'],
    ['64:ff9b:1::1', 'NAT64'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:10::1', 'protocols'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::', '6to4'],
    ['3fff::1', 'documentation'],
    ['4000::1', 'reserved'],
    ['fc00::1', 'private'],
    ['fd12:3456::1', 'private'],
    ['fd00:ec2::254', 'metadata'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'private'],
    ['ff02::1', 'multicast'],
  ])('%s is refused: %s', (text, reason) => {
    const address = parseAddress(text);
    expect(address && refusedAs(address)).toContain(reason);
  });

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2003::1',
    '2606:4700::1111',
    '2a00:1450:4001::8a',
    '3ffe:ffff::1',
  ])('%s is public', (text) => {
    const address = parseAddress(text);
    expect(address && refusedAs(address)).toBeUndefined();
    expect(address).toBeDefined();
  });

  it.each([
    '',
    'localhost',
    '1.2.3',
    '01.2.3.4',
    '0x7f.0.0.1',
    '1.2.3.4.5',
    '256.0.0.1',
    'fe80::1%lo',
    '[::1]',
    '1::2::3',
  ])('%j is invalid', (text) => expect(parseAddress(text)).toBeUndefined());
});

describe('the allow list', () => {
  const permits = (list: string, host: string, port: number, address: string): boolean => {
    const parsed = parseAddress(address);
    if (parsed === undefined) throw new Error(`expected an address, got: ${address}`);
    return refusedAddress(parseAllowList(list), host, port, parsed) === undefined;
  };

  it.each([
    ['', 'x.example', 80, '8.8.8.8', true],
    ['', 'x.example', 80, '10.0.0.1', false],
    ['10.0.0.0/8', 'x.example', 80, '10.9.9.9', true],
    ['10.0.0.0/8', 'x.example', 80, '11.0.0.1', true],
    ['10.0.0.0/8', 'x.example', 80, '192.168.0.1', false],
    ['10.0.0.0/31', 'x.example', 80, '10.0.0.1', true],
    ['10.0.0.0/31', 'x.example', 80, '10.0.0.2', false],
    ['10.0.0.5:8080', 'x.example', 8080, '10.0.0.5', true],
    ['10.0.0.5:8080', 'x.example', 80, '10.0.0.5', false],
    ['127.0.0.1', 'localhost', 80, '127.0.0.1', true],
    ['127.0.0.1', 'localhost', 80, '::1', false],
    ['[::1]:80', 'localhost', 80, '::1', true],
    ['[::1]:80', 'localhost', 81, '::1', false],
    ['::1', 'localhost', 81, '::1', true],
    ['fd00::/8', 'x.example', 80, 'fd12::1', true],
    ['127.0.0.0/8', 'x.example', 80, '::ffff:127.0.0.1', false],
    [' Db.Internal , x', 'db.internal', 5432, '10.0.0.1', true],
    ['db.internal', 'DB.internal.', 5432, '10.0.0.1', true],
    ['db.internal', 'x.db.internal', 5432, '10.0.0.1', false],
    ['db.internal:5432', 'db.internal', 5432, '10.0.0.1', true],
    ['db.internal:5432', 'db.internal', 80, '10.0.0.1', false],
    ['0.0.0.0/0', 'x.example', 80, '127.0.0.1', true],
    ['0.0.0.0/0', 'x.example', 80, '169.254.169.254', false],
    ['169.254.0.0/16', 'x.example', 80, '169.254.169.254', false],
    ['x.example', 'x.example', 80, '169.254.169.254', false],
    ['169.254.169.254', 'x.example', 80, '169.254.169.254', true],
    ['169.254.169.254:80', 'x.example', 80, '169.254.169.254', true],
  ])('%j: %s:%i at %s: %s', (list, host, port, address, permitted) => {
    expect(permits(list, host, port, address)).toBe(permitted);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0/8',
    'a b',
    'host:0',
    'host:65536',
    'host:x',
    'http://host',
    '*',
    '[::1',
    '1234',
    '0x7f.1',
    'a/8',
    'a..b',
    '-a',
  ])('%j is refused with a sentence that names it', (entry) => {
    expect(() => parseAllowList(`localhost, ${entry}`)).toThrow(
      `MILLRACE_OUTBOUND_ALLOW: expected hosts, host:port or CIDR ranges, comma-separated (IPv6 with a port as [::1]:80), got: ${entry}`,
    );
  });

  it('spaces and empty entries do not matter', () => {
    expect(parseAllowList(' , ')).toEqual([]);
    expect(parseAllowList('a , b:1,')).toHaveLength(2);
  });
});

describe('an address for other protocols', () => {
  const resolver = async (name: string) => [{ address: name === 'in.example' ? '10.0.0.1' : '8.8.8.8', family: 4 }];

  it('is checked and pinned', async () => {
    const allow = parseAllowList('10.0.0.1:5432');
    expect(await resolveAllowed('in.example', 5432, allow, resolver)).toEqual({ address: '10.0.0.1', family: 4 });
    expect(await resolveAllowed('out.example', 1, [], resolver)).toEqual({ address: '8.8.8.8', family: 4 });
    expect(await resolveAllowed('[2606:4700::1]', 1, [], resolver)).toEqual({ address: '2606:4700::1', family: 6 });
    await expect(resolveAllowed('in.example', 5433, allow, resolver)).rejects.toThrow('which is a private address');
  });

  // Real look-ups: the system accepts these spellings of 127.0.0.1.
  it.each(['2130706433', '0x7f000001', '127.1', '0177.0.0.1', 'localhost'])('%s is the loopback', async (host) => {
    await expect(resolveAllowed(host, 5432, [])).rejects.toThrow(/loopback|not found/);
  });

  it.each(['/var/run/postgresql', '', 'a b', 'fe80::1%lo', 'a\u0000b', 'x'.repeat(254)])(
    '%j is not a host',
    async (host) => {
      await expect(resolveAllowed(host, 5432, [])).rejects.toThrow('expected a host name or an address');
    },
  );
});
