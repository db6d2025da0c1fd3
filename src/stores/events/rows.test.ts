import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RowBatch } from './eventstore.ts';
import { runOfProperties } from './run-marker.ts';
import { EventRowWriter, RowMemory, type EventRow, type SplicedRow } from './rows.ts';

interface Decoded {
  projectId: number;
  day: number;
  uuid: string;
  timestamp: bigint;
  receivedAt: bigint;
  historical: number;
  texts: Buffer[];
}

const columnHeads = [
  ['project_id', 'Int32'],
  ['day', 'Date32'],
  ['uuid', 'UUID'],
  ['timestamp', "DateTime64(6, 'UTC')"],
  ['received_at', "DateTime64(6, 'UTC')"],
  ['historical_migration', 'Bool'],
  ['event', 'String'],
  ['distinct_id', 'String'],
  ['properties', 'String'],
  ['import_run', 'String'],
];

/** Decodes a block of the Native format as documented by ClickHouse, independently of the encoder. */
function decode(batch: RowBatch): Decoded[] {
  const buffer = Buffer.concat(batch.chunks);
  let at = 0;
  const length = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = buffer.readUInt8(at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (count: number): Buffer => {
    at += count;
    return buffer.subarray(at - count, at);
  };
  const text = (): Buffer => bytes(length());
  const half = (): string => bytes(8).readBigUInt64LE().toString(16).padStart(16, '0');
  const column = <Value>(read: () => Value): Value[] => {
    expect([String(text()), String(text())]).toEqual(columnHeads[columns++]);
    return Array.from({ length: batch.rows }, read);
  };
  let columns = 0;
  expect([length(), length()]).toEqual([columnHeads.length, batch.rows]);
  const numbers = [column(() => bytes(4).readInt32LE()), column(() => bytes(4).readInt32LE())];
  const uuids = column(() => (half() + half()).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  const times = [column(() => bytes(8).readBigInt64LE()), column(() => bytes(8).readBigInt64LE())];
  const flags = column(() => bytes(1).readUInt8());
  const texts = [column(text), column(text), column(text), column(text)];
  expect(at).toBe(buffer.length);
  return uuids.map((uuid, row) => ({
    projectId: Number(numbers[0]?.[row]),
    day: Number(numbers[1]?.[row]),
    uuid,
    timestamp: BigInt(times[0]?.[row] ?? NaN),
    receivedAt: BigInt(times[1]?.[row] ?? NaN),
    historical: Number(flags[row]),
    texts: texts.map((values) => values[row] ?? Buffer.from('none')),
  }));
}

const anyRow = fc.record({
  projectId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  historical: fc.boolean(),
  receivedAtMicros: fc.maxSafeInteger(),
  timestampMicros: fc.maxSafeInteger(),
  keyDay: fc.integer({ min: -25_567, max: 120_529 }),
  uuid: fc.uuid(),
  event: fc.string({ unit: 'binary', maxLength: 300 }),
  distinctId: fc.string({ unit: 'binary', maxLength: 300 }),
  properties: fc.json(),
}) satisfies fc.Arbitrary<EventRow>;

/** Returns what `decode` returns for a row. */
function decoded(row: EventRow): Decoded {
  return {
    projectId: row.projectId,
    day: row.keyDay,
    uuid: row.uuid.toLowerCase(),
    timestamp: BigInt(row.timestampMicros),
    receivedAt: BigInt(row.receivedAtMicros),
    historical: row.historical ? 1 : 0,
    texts: [row.event, row.distinctId, row.properties, runOfProperties(row.properties, row.historical)].map((text) =>
      Buffer.from(text),
    ),
  };
}

/** Returns the row as part of a body. */
function spliced(row: EventRow, prefix = ''): SplicedRow {
  const parts = ['x"', row.uuid, '","', row.event, '","', row.distinctId, '",', row.properties, '}'].map((part) =>
    Buffer.from(part),
  );
  const ends: number[] = [];
  for (const part of parts) ends.push((ends.at(-1) ?? 0) + part.length);
  const end = (i: number): number => ends[i] ?? 0;
  return {
    ...row,
    json: Buffer.concat(parts),
    uuidFrom: end(0),
    eventFrom: end(2),
    eventTo: end(3),
    idFrom: end(4),
    idTo: end(5),
    propsFrom: end(6),
    propsTo: end(7),
    propsPrefix: Buffer.from(prefix),
  };
}

describe('EventRowWriter', () => {
  it('writes any row so that it decodes to itself', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 5 }), (rows) => {
        const writer = new EventRowWriter();
        for (const row of rows) writer.write(row);
        const batch = writer.take();
        expect(batch.rows).toBe(rows.length);
        expect(decode(batch)).toEqual(rows.map(decoded));
      }),
      { numRuns: 300 },
    );
  });

  it('splices bytes into the same row that `write` creates from their texts', () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        const written = new EventRowWriter();
        const splicing = new EventRowWriter();
        written.write(row);
        splicing.splice(spliced(row));
        expect(splicing.take().chunks).toEqual(written.take().chunks);
      }),
      { numRuns: 300 },
    );
  });

  it.each([true, false])('keeps the run of an imported event (history: %s) in a separate column', (historical) => {
    const writer = new EventRowWriter();
    const row = { ...sample, historical, properties: '{"a":1,"$import_run_id":"run-1"}' };
    writer.write(row);
    writer.splice(spliced(row));
    expect(decode(writer.take()).map(({ texts }) => String(texts[3]))).toEqual(['run-1', 'run-1']);
  });

  it('puts a prefix after the opening brace', () => {
    const row: EventRow = {
      projectId: 1,
      historical: false,
      receivedAtMicros: 1,
      timestampMicros: 1,
      keyDay: 0,
      uuid: randomUUID().toUpperCase(),
      event: 'e',
      distinctId: 'd',
      properties: '{ "a": 1}',
    };
    const writer = new EventRowWriter();
    writer.splice(spliced(row, '"$ip":"1.2.3.4",'));
    const expected = decoded({ ...row, properties: '{"$ip":"1.2.3.4", "a": 1}' });
    expect(decode(writer.take())).toEqual([expected]);
  });

  it.each([
    [-9e9, -25_567],
    [-25_568, -25_567],
    [120_530, 120_529],
    [9e9, 120_529],
    [1.5, 1],
    [-0.5, -1],
  ])('keeps day %d within the range of the engine', (keyDay, day) => {
    const writer = new EventRowWriter();
    writer.write({ ...sample, keyDay });
    expect(decode(writer.take())[0]?.day).toBe(day);
  });

  it.each([-62_135_596_800_000_000, -1, 0, 4_294_967_296, 10_413_792_000_000_000, 253_402_300_799_999_000])(
    'writes the time %d exactly',
    (timestampMicros) => {
      const writer = new EventRowWriter();
      writer.write({ ...sample, timestampMicros });
      expect(decode(writer.take())[0]?.timestamp).toBe(BigInt(timestampMicros));
    },
  );

  it('grows for rows of every size, and continues after take and recycle without changing taken rows', () => {
    const writer = new EventRowWriter();
    const sizes = [0, 1, 127, 128, 16_383, 16_384, 1 << 20, 3 << 20];
    const rows = sizes.map((size) => ({ ...sample, properties: 'x'.repeat(size) }));
    for (const row of rows) writer.write(row);
    const first = writer.take();
    writer.write(sample);
    const second = writer.take();
    decode(first).forEach((found, i) => expect(found.texts[2]?.length).toBe(sizes[i]));
    expect(decode(second)).toEqual([decoded(sample)]);
    writer.recycle(first);
    writer.recycle(second);
    writer.take();
    for (const row of rows.toReversed()) writer.splice(spliced(row));
    expect(decode(writer.take()).map((found) => found.texts[2]?.length)).toEqual(sizes.toReversed());
    expect(writer.rows).toBe(0);
    expect(writer.size).toBe(0);
  });

  it('writers that share memory reuse returned memory, and never memory still in use', () => {
    const memory = new RowMemory(1);
    const [one, other] = [new EventRowWriter(memory), new EventRowWriter(memory)];
    const batchOf = (writer: EventRowWriter, mark: string, rows: number): RowBatch => {
      writer.begin();
      for (let n = 0; n < rows; n++) writer.write({ ...sample, distinctId: `${mark}${n}` });
      return writer.take();
    };
    const first = batchOf(one, 'a', 3000);
    const memoryOf = ({ chunks }: RowBatch): unknown => chunks[2]?.buffer;
    const second = batchOf(other, 'b', 10);
    expect(memoryOf(second)).not.toBe(memoryOf(first));
    expect(decode(first)).toHaveLength(3000);
    one.recycle(first);
    const third = batchOf(other, 'c', 10);
    expect(memoryOf(third)).toBe(memoryOf(first));
    expect(decode(third)).toEqual(Array.from({ length: 10 }, (_, n) => decoded({ ...sample, distinctId: `c${n}` })));
    expect(decode(second)).toHaveLength(10);
  });
});

const sample: EventRow = {
  projectId: 7,
  historical: true,
  receivedAtMicros: 1_750_000_000_000_000,
  timestampMicros: 1_750_000_000_000_001,
  keyDay: 20_000,
  uuid: '0190a5d0-1111-7222-8333-444455556666',
  event: '$pageview',
  distinctId: 'user-1',
  properties: '{}',
};
