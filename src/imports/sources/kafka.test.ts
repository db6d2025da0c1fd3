import type { RecordsBatch } from '@platformatic/kafka';
import { describe, expect, it } from 'vitest';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { committedRecords } from './kafka-records.ts';
import { cutIntoParts, describeRanges, rangeOfPart, rangesOf, type PartitionRange } from './kafka-ranges.ts';
import { kafka } from './kafka.ts';
import { testSourceHost } from './source-host.fixture.ts';

// With a broker: kafka.services.test.ts.

describe('the parts of a topic', () => {
  const cut = (...ranges: readonly PartitionRange[]) => cutIntoParts({ topic: 'c/t', ranges });

  it('are split at multiples, so that a part stays the same when messages arrive or are deleted', () => {
    const before = cut({ partition: 0, from: 0, to: 250_000 }).map(({ identity }) => identity);
    const after = cut({ partition: 0, from: 130_000, to: 320_000 }).map(({ identity }) => identity);
    expect(before).toHaveLength(3);
    expect(after[0]).toBe('c/t partition 0, offsets 130000 to 199999');
    expect(cut({ partition: 0, from: 0, to: 320_000 })[1]?.identity).toBe(before[1]);
  });

  it('cover every offset once, and stay within the ranges that they were split from', () => {
    const ranges = [
      { partition: 0, from: 7, to: 7 },
      { partition: 1, from: 99_999, to: 300_001 },
      { partition: 2, from: 0, to: 1 },
    ];
    const parts = cut(...ranges);
    const covered = parts.map(({ key, detail }) => rangeOfPart(key, detail));
    expect(covered.map(({ from, to }) => to - from)).toEqual([1, 100_000, 100_000, 1, 1]);
    expect(covered.every((each, at) => at === 0 || each.partition === 2 || each.from === covered[at - 1]?.to)).toBe(
      true,
    );
    expect(rangesOf(parts)).toEqual(ranges);
    expect(rangesOf(parts.slice(1))).toBe(undefined);
  });

  it('of a topic with billions of messages stay few enough to store', () => {
    const parts = cut(...Array.from({ length: 50 }, (_, partition) => ({ partition, from: 0, to: 1e9 })));
    expect(parts.length).toBeLessThanOrEqual(20_050);
    expect(parts.every(({ key }) => key.length < 100)).toBe(true);
  });

  it('many partitions are shown as a few and the number of others', () => {
    const ranges = Array.from({ length: 30 }, (_, partition) => ({ partition, from: 0, to: 5 }));
    expect(describeRanges(ranges)).toMatch(/^partition 0: offsets 0 to 4, .* and 10 more partitions$/);
  });
});

describe('transactions', () => {
  const batch = (firstOffset: number, producerId: number, count: number, attributes = 1 << 4): RecordsBatch => ({
    firstOffset: BigInt(firstOffset),
    producerId: BigInt(producerId),
    lastOffsetDelta: count - 1,
    attributes,
    length: 0,
    partitionLeaderEpoch: 0,
    magic: 2,
    crc: 0,
    firstTimestamp: 1000n,
    maxTimestamp: 2000n,
    producerEpoch: 0,
    firstSequence: 0,
    records: Array.from({ length: count }, (_, offsetDelta) => ({
      length: 0,
      attributes: 0,
      timestampDelta: 5n,
      offsetDelta,
      key: null,
      value: Buffer.from('{}'),
      headers: [],
    })),
  });
  const mark = (offset: number, producerId: number, type: 'abort' | 'commit'): RecordsBatch => {
    const control = batch(offset, producerId, 1, (1 << 4) | (1 << 5));
    const key = Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]);
    return { ...control, records: control.records.map((record) => Object.assign(record, { key })) };
  };
  const offsets = (batches: readonly RecordsBatch[], aborted: Parameters<typeof committedRecords>[1]): number[] =>
    [...committedRecords(batches, aborted)].map(({ offset }) => offset);

  it('of several interleaved producers: only aborted records are skipped', () => {
    const batches = [
      batch(0, 1, 2),
      batch(2, 2, 2),
      batch(4, 9, 1, 0),
      mark(5, 1, 'abort'),
      batch(6, 1, 1),
      mark(7, 2, 'commit'),
      mark(8, 1, 'commit'),
      batch(9, 2, 1),
      mark(10, 2, 'abort'),
    ];
    const aborted = [
      { producerId: 2n, firstOffset: 9n },
      { producerId: 1n, firstOffset: 0n },
    ];
    expect(offsets(batches, aborted)).toEqual([2, 3, 4, 6]);
  });

  it('that begin before the fetched range or end after it', () => {
    expect(offsets([batch(20, 1, 2), batch(22, 2, 1)], [{ producerId: 1n, firstOffset: 3n }])).toEqual([22]);
  });

  it('the time of a message is its own, or that of the log where the topic says so', () => {
    const times = [batch(0, -1, 1, 0), batch(1, -1, 1, 1 << 3)];
    expect([...committedRecords(times, [])].map(({ timestamp }) => timestamp)).toEqual([1005, 2000]);
  });
});

describe('settings of a topic', () => {
  it.each<[SettingValues, string]>([
    [{ brokers: '' }, 'at least one host:port'],
    [{ brokers: 'kafka:port' }, 'expected host:port'],
    [{ brokers: 'kafka:99999' }, 'expected host:port'],
    [{ brokers: 'user:secret@kafka:9092' }, 'expected host:port'],
    [{ topic: ' ' }, 'expected text'],
    [{ from_offsets: '5' }, 'expected partition:offset'],
    [{ client_key: 'secret' }, 'got one of them'],
  ])('%j is rejected by name', (settings, message) => {
    const given = withDefaults(kafka.fields, { brokers: 'kafka', topic: 'events', ...settings });
    expect(() => kafka.createSource(given, testSourceHost())).toThrow(message);
  });
});
