import type * as Avsc from 'avsc';
import { createRequire } from 'node:module';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../base/json.ts';
import { readBack, cutAt } from './record-files.fixture.ts';

const avsc = createRequire(import.meta.url)('avsc') as typeof Avsc;

const schema = {
  type: 'record',
  name: 'Root',
  fields: [
    { name: 'event_name', type: ['null', 'string'] },
    { name: 'count', type: ['null', 'long'] },
    { name: 'at', type: ['null', { type: 'long', logicalType: 'timestamp-micros' }] },
    { name: 'day', type: ['null', { type: 'int', logicalType: 'date' }] },
    { name: 'clock', type: ['null', { type: 'long', logicalType: 'time-micros' }] },
    { name: 'local', type: ['null', { type: 'long', logicalType: 'local-timestamp-micros' }] },
    { name: 'price', type: ['null', { type: 'bytes', logicalType: 'decimal', precision: 38, scale: 9 }] },
    { name: 'bytes', type: ['null', 'bytes'] },
    { name: 'either', type: ['null', 'long', 'double', 'string'] },
    {
      name: 'event_params',
      type: {
        type: 'array',
        items: {
          type: 'record',
          name: 'Parameter',
          fields: [
            { name: 'key', type: ['null', 'string'] },
            {
              name: 'value',
              type: [
                'null',
                { type: 'record', name: 'Value', fields: [{ name: 'int_value', type: ['null', 'long'] }] },
              ],
            },
          ],
        },
      },
    },
  ],
} as const;

/** Two's complement, as BigQuery writes NUMERIC. */
function numeric(unscaled: bigint): Buffer {
  const hex = BigInt.asUintN(128, unscaled).toString(16).padStart(32, '0');
  return Buffer.from(hex, 'hex');
}

const empty = { count: null, at: null, day: null, clock: null, local: null, price: null, bytes: null, either: null };
const rows = [
  {
    event_name: { string: 'a"\n\u2028ü😀' },
    count: { long: 9_007_199_254_740_993n },
    at: { long: 1_714_558_830_123_456n },
    day: { int: 19_844 },
    clock: { long: 37_230_000_001n },
    local: { long: 1_714_558_830_000_000n },
    price: { bytes: numeric(-12_345_678_901_234_567_890_123_456_789n) },
    bytes: { bytes: Buffer.from([0, 255]) },
    either: { long: -(2n ** 63n) },
    event_params: [
      { key: { string: 'k' }, value: { Value: { int_value: { long: 7n } } } },
      { key: null, value: null },
    ],
  },
  { ...empty, event_name: null, price: { bytes: numeric(1_500_000_000n) }, either: { double: 0.5 }, event_params: [] },
  { ...empty, event_name: { string: 'b' }, either: { string: 'text' }, event_params: [] },
];
const expected = [
  {
    event_name: 'a"\n\u2028ü😀',
    count: '9007199254740993',
    at: '2024-05-01T10:20:30.123456Z',
    day: '2024-05-01',
    clock: '10:20:30.000001',
    local: '2024-05-01T10:20:30.000',
    price: '-12345678901234567890.123456789',
    bytes: 'AP8=',
    either: '-9223372036854775808',
    event_params: [
      { key: 'k', value: { int_value: 7 } },
      { key: null, value: null },
    ],
  },
  { ...empty, event_name: null, price: 1.5, either: 0.5, event_params: [] },
  { ...empty, event_name: 'b', either: 'text', event_params: [] },
];

const long = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: () => 0,
});
const type = avsc.Type.forSchema(schema as unknown as Avsc.Schema, {
  registry: { long },
  typeHook: (part) => (isObject(part) && part['type'] === 'long' ? long : undefined),
  wrapUnions: true,
});
const sync = Buffer.alloc(16, 7);

function whole(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value < 0 ? -value * 2 - 1 : value * 2; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest < 128 ? rest : (rest % 128) + 128);
    if (rest < 128) return Buffer.from(bytes);
  }
}

const sized = (bytes: Buffer): Buffer => Buffer.concat([whole(bytes.length), bytes]);

/** Snappy with literals only: a length, then chunks of at most 60 bytes. */
function snappy(bytes: Buffer): Buffer {
  const length = whole(bytes.length / 2);
  const parts: Buffer[] = [length];
  for (let at = 0; at < bytes.length; at += 60) {
    const piece = bytes.subarray(at, at + 60);
    parts.push(Buffer.from([(piece.length - 1) << 2]), piece);
  }
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(bytes));
  return Buffer.concat([...parts, checksum]);
}

const packers: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  null: (bytes) => bytes,
  deflate: (bytes) => deflateRawSync(bytes),
  snappy,
  zstandard: (bytes) => zstdCompressSync(bytes),
};

/** An object container file, two records a block. */
function avroFile(codec: string, records: readonly unknown[] = rows): Buffer {
  const blocks = Array.from({ length: Math.ceil(records.length / 2) }, (_, index) => {
    const block = records.slice(index * 2, index * 2 + 2);
    const packed = packers[codec]?.(Buffer.concat(block.map((each) => type.toBuffer(each)))) ?? Buffer.alloc(0);
    return { count: block.length, packed };
  });
  return containerOf(schema, blocks, codec);
}

interface Block {
  readonly count: number;
  readonly packed: Buffer;
}

function containerOf(of: unknown, blocks: readonly Block[], codec = 'null'): Buffer {
  const meta = { 'avro.schema': JSON.stringify(of), 'avro.codec': codec };
  const entries = Object.entries(meta).map(([key, value]) =>
    Buffer.concat([sized(Buffer.from(key)), sized(Buffer.from(value))]),
  );
  const written = blocks.flatMap(({ count, packed }) => [whole(count), sized(packed), sync]);
  return Buffer.concat([Buffer.from('Obj\u0001'), whole(2), ...entries, whole(0), sync, ...written]);
}

const hints = { name: 'events.avro', tempDir: 'none', signal: new AbortController().signal };
const read = async (bytes: Buffer, cuts: readonly number[] = []) => readBack(cutAt(bytes, cuts), hints);
const parsed = async (bytes: Buffer, cuts: readonly number[] = []) =>
  (await read(bytes, cuts)).lines.map((line) => JSON.parse(line) as unknown);

describe('Avro files', () => {
  it.each(Object.keys(packers))(
    'packed with %s: every digit, time and letter, unions as what they hold',
    async (codec) => {
      expect(await parsed(avroFile(codec))).toEqual(expected);
    },
  );

  it('gives the same lines however the bytes are split', async () => {
    const bytes = avroFile('deflate');
    const every = Array.from({ length: bytes.length }, (_, at) => at);
    expect(await parsed(bytes, every)).toEqual(expected);
  });

  it('a file truncated anywhere but between two blocks is rejected, never read as a shorter one', async () => {
    const bytes = avroFile('deflate');
    const header = avroFile('deflate', []).length;
    const firstBlock = avroFile('deflate', rows.slice(0, 2)).length;
    for (let end = 5; end < bytes.length; end += 1) {
      if (end === header || end === firstBlock) continue;
      await expect(parsed(bytes.subarray(0, end)), `cut at ${end}`).rejects.toThrow(
        /damaged or truncated|cannot be read/,
      );
    }
  });

  it('a changed byte in a block is detected by its checksum, its compression or its end', async () => {
    const bytes = avroFile('snappy');
    const header = avroFile('snappy', []).length;
    for (const at of [header + 20, header + 60, bytes.length - 3]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      await expect(parsed(changed), `byte ${at}`).rejects.toThrow(/damaged or truncated/);
    }
  });

  it('an unknown codec is rejected by name', async () => {
    const bytes = Buffer.from(avroFile('null').toString('latin1').replace('\u0008null', '\u0008lz99'), 'latin1');
    await expect(parsed(bytes)).rejects.toThrow('expected an Avro file packed with null, deflate, snappy, zstandard');
  });
});

describe('counts of records and items that an Avro file claims', () => {
  const texts = Buffer.concat([sized(Buffer.from('a')), sized(Buffer.from('b')), sized(Buffer.from('c'))]);

  it.each([
    ['two of three', 2, /block 1 is damaged or truncated: 2 bytes follow the 2 records/],
    ['none of three', 0, /6 bytes follow the 0 records/],
    ['less than none', -3, /expected a number of records, got -3/],
    ['four of three', 4, /continues beyond its block/],
    ['4e9 of three', 4e9, /should contain 4000000000 records, but has 6 bytes/],
  ])('%s: the file is rejected, and no record is dropped', async (_name, count, message) => {
    await expect(read(containerOf('string', [{ count, packed: texts }]))).rejects.toThrow(message);
    expect(await parsed(containerOf('string', [{ count: 3, packed: texts }]))).toEqual(['a', 'b', 'c']);
  });

  it('records without content may be many, but not 4e9', async () => {
    const nulls = (count: number): Buffer => containerOf('null', [{ count, packed: Buffer.alloc(0) }]);
    expect(await parsed(nulls(1000))).toHaveLength(1000);
    await expect(read(nulls(4e9))).rejects.toThrow(/should contain 4000000000 records/);
  });

  it.each([
    ['an array of texts', { type: 'array', items: 'string' }],
    ['an array of nothing', { type: 'array', items: 'null' }],
    ['a map of texts', { type: 'map', values: 'string' }],
    [
      'an array in a record',
      { type: 'record', name: 'R', fields: [{ name: 'a', type: { type: 'array', items: 'long' } }] },
    ],
  ])('%s that claims 4e9 items is rejected without reading them', async (_name, of) => {
    for (const count of [4e9, -4e9]) {
      const packed = Buffer.concat([whole(count), whole(1), sized(Buffer.from('a'))]);
      await expect(read(containerOf(of, [{ count: 1, packed }]))).rejects.toThrow(/does not fit the schema/);
    }
  });

  it('arrays and maps are read in blocks, with and without their length', async () => {
    const of = { type: 'map', values: { type: 'array', items: 'string' } };
    const list = Buffer.concat([
      whole(-1),
      whole(2),
      sized(Buffer.from('x')),
      whole(1),
      sized(Buffer.from('y')),
      whole(0),
    ]);
    const packed = Buffer.concat([whole(1), sized(Buffer.from('__proto__')), list, whole(0)]);
    expect((await read(containerOf(of, [{ count: 1, packed }]))).lines).toEqual(['{"__proto__":["x","y"]}']);
  });
});
