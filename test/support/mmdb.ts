import { writeFile } from 'node:fs/promises';
import { isIPv4, isIPv6 } from 'node:net';
import type { CityRecord } from '../../src/plugins/host.ts';

export interface CityNetwork {
  /** CIDR, IPv4 or IPv6. */
  readonly network: string;
  readonly record: CityRecord;
}

export interface CityDatabaseOptions {
  /** Bits of a pointer in the search tree. Default 28. */
  readonly recordSize?: 24 | 28 | 32;
  /** Default `GeoLite2-City`. */
  readonly databaseType?: string;
}

/** Writes a database in MaxMind's format (https://maxmind.github.io/MaxMind-DB/): a few networks with City records. */
export async function writeCityDatabase(
  path: string,
  networks: readonly CityNetwork[],
  options: CityDatabaseOptions = {},
): Promise<void> {
  await writeFile(path, cityDatabase(networks, options));
}

/** Index of a node, offset of data, or nothing known. */
type Branch = { node: number } | { data: number } | undefined;

export function cityDatabase(
  networks: readonly CityNetwork[],
  { recordSize = 28, databaseType = 'GeoLite2-City' }: CityDatabaseOptions = {},
): Buffer {
  const nodes: [Branch, Branch][] = [[undefined, undefined]];
  const sections: Buffer[] = [];
  let dataBytes = 0;
  // Wider networks first, so that narrower ones lie within them.
  const sorted = networks.map(({ network, record }) => ({ path: bitsOf(network), record }));
  for (const { path, record } of sorted.sort((a, b) => a.path.length - b.path.length)) {
    insert(nodes, path, dataBytes);
    const data = encode(record);
    sections.push(data);
    dataBytes += data.length;
  }
  const numbers = nodes.flatMap((branches) => branches.map((branch) => numberOf(branch, nodes.length)));
  const metadata = {
    node_count: nodes.length,
    record_size: recordSize,
    ip_version: 6,
    database_type: databaseType,
    languages: ['en'],
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    description: { en: 'for tests' },
  };
  const marker = Buffer.from('\u00ab\u00cd\u00efMaxMind.com', 'latin1');
  return Buffer.concat([tree(numbers, recordSize), Buffer.alloc(16), ...sections, marker, encode(metadata)]);
}

function insert(nodes: [Branch, Branch][], path: readonly (0 | 1)[], data: number): void {
  let at = 0;
  for (const [depth, bit] of path.entries()) {
    const node = nodes[at];
    if (node === undefined) throw new Error('expected a node');
    if (depth === path.length - 1) {
      node[bit] = { data };
      return;
    }
    const branch = node[bit];
    if (branch !== undefined && 'node' in branch) {
      at = branch.node;
      continue;
    }
    // What was known of the wider network holds for both halves.
    at = nodes.push([branch, branch]) - 1;
    node[bit] = { node: at };
  }
}

function numberOf(branch: Branch, nodeCount: number): number {
  if (branch === undefined) return nodeCount;
  return 'node' in branch ? branch.node : nodeCount + 16 + branch.data;
}

function tree(numbers: readonly number[], recordSize: 24 | 28 | 32): Buffer {
  const hexDigits = recordSize / 4;
  const hex = numbers.map((number) => number.toString(16).padStart(hexDigits, '0'));
  if (recordSize !== 28) return Buffer.from(hex.join(''), 'hex');
  // The first digits of both share the byte in the middle.
  const nodes: string[] = [];
  for (let index = 0; index < hex.length; index += 2) {
    const [left = '', right = ''] = hex.slice(index, index + 2);
    nodes.push(`${left.slice(1)}${left[0]}${right[0]}${right.slice(1)}`);
  }
  return Buffer.from(nodes.join(''), 'hex');
}

/** The bits of a network in a tree of IPv6, where IPv4 lies in ::/96. */
function bitsOf(network: string): (0 | 1)[] {
  const [address = '', length = ''] = network.split('/');
  const groups = isIPv4(address) ? [0, 0, 0, 0, 0, 0, ...pairs(address)] : groupsOf(address);
  const bits = groups.map((group) => group.toString(2).padStart(16, '0')).join('');
  const count = Number(length) + (isIPv4(address) ? 96 : 0);
  return Array.from(bits.slice(0, count), (bit) => (bit === '1' ? 1 : 0));
}

function pairs(address: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function groupsOf(address: string): number[] {
  if (!isIPv6(address)) throw new Error(`expected an address, got: ${address}`);
  const [head = '', tail = ''] = address.split('::');
  const numbers = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((each) => Number.parseInt(each, 16));
  const [before, after] = [numbers(head), numbers(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const types = { string: 2, double: 3, uint32: 6, map: 7, array: 11 } as const;

function encode(value: unknown, key = ''): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(types.string, bytes.length), bytes]);
  }
  if (typeof value === 'number') return encodeNumber(value, key);
  if (Array.isArray(value)) {
    return Buffer.concat([control(types.array, value.length), ...value.map((each) => encode(each))]);
  }
  if (typeof value !== 'object' || value === null) throw new Error(`expected a value to encode, got: ${String(value)}`);
  const entries = Object.entries(value);
  const fields = entries.flatMap(([name, each]) => [encode(name), encode(each, name)]);
  return Buffer.concat([control(types.map, entries.length), ...fields]);
}

function encodeNumber(value: number, key: string): Buffer {
  if (Number.isInteger(value) && value >= 0 && key !== 'latitude' && key !== 'longitude') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(types.uint32, 4), bytes]);
  }
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return Buffer.concat([control(types.double, 8), bytes]);
}

/** Type and size; types above 7 are extended ones. */
function control(type: number, size: number): Buffer {
  const [short, more] =
    size < 29 ? [size, []] : size < 285 ? [29, [size - 29]] : [30, [(size - 285) >> 8, (size - 285) & 255]];
  return Buffer.from(type > 7 ? [short, type - 7, ...more] : [(type << 5) | short, ...more]);
}
