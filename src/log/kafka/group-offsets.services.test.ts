/** The consumer group that tools for Kafka read, on a real broker: its offsets are read by another client. */
import { randomUUID } from 'node:crypto';
import { Admin, Consumer } from '@platformatic/kafka';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { record } from '../../../test/conformance/event-log/event-log.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import type { EventLogWriter, Lane } from '../eventlog.ts';
import type { SharedLogReaders, SharedReaderDeps } from '../shared-log.ts';
import { topicName } from './cluster.ts';
import { createKafkaLog, type TestKafkaLog } from './kafka-log.fixture.ts';
import { openKafkaLogReaders } from './reader.ts';

describe.skipIf(kafkaBrokers === '')('the consumer group of the event log', () => {
  let admin: Admin;
  let log: TestKafkaLog;
  let writer: EventLogWriter;
  let group: string;
  const opened: SharedLogReaders[] = [];
  beforeAll(() => {
    admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
  });
  afterAll(() => admin.close());
  beforeEach(async () => {
    group = `"group"-of-ünïcode-${randomUUID()}`;
    log = createKafkaLog({ slots: 2, group });
    writer = await log.openWriter();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((readers) => readers.close()));
    await writer.close();
    await log.dispose();
  });

  const openReaders = async (deps: SharedReaderDeps = {}, more = {}): Promise<SharedLogReaders> => {
    const readers = await openKafkaLogReaders({ ...log.options, deleteEveryMs: 50, offsetsEveryMs: 50, ...more }, deps);
    opened.push(readers);
    return readers;
  };
  const append = async (lane: Lane, slot: number, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await writer.append(lane, record(String(n)), slot);
  };
  /** Committed offsets by partition, such as `live/0`. */
  const offsets = async (): Promise<Record<string, number>> => {
    const [found] = await admin.listConsumerGroupOffsets({ groups: [group] });
    const entries = (found?.topics ?? []).flatMap(({ name, partitions }) =>
      partitions.map(
        (each) => [`${name.split('.').at(-1)}/${each.partitionIndex}`, Number(each.committedOffset)] as const,
      ),
    );
    return Object.fromEntries(entries);
  };

  it('has what is stored of every partition as its offset, without a member, from the first record on', async () => {
    await append('live', 0, 3);
    await append('historical', 1, 2);
    const readers = await openReaders();
    const [first, second] = [readers.reader(0), readers.reader(1)];
    for (const reader of [first, second]) for (const lane of ['live', 'historical'] as const) reader.commit(lane, 0);
    await expect.poll(offsets).toEqual({ 'live/0': 0, 'live/1': 0, 'historical/0': 0, 'historical/1': 0 });
    first.commit('live', 2);
    second.commit('historical', 2);
    await expect.poll(offsets).toEqual({ 'live/0': 2, 'live/1': 0, 'historical/0': 0, 'historical/1': 2 });
    first.commit('live', 3);
    await expect.poll(async () => (await offsets())['live/0']).toBe(3);
    const described = (await admin.describeGroups({ groups: [group] })).get(group);
    expect(described).toMatchObject({ state: 'Empty' });
    expect(described?.members.size).toBe(0);
  });

  it('of a slot that another process holds now only that process changes the offset', async () => {
    await append('live', 0, 3);
    const before = (await openReaders()).reader(0);
    before.commit('live', 1);
    await expect.poll(offsets).toEqual({ 'live/0': 1 });
    before.commit('live', 2);
    await before.close();
    const next = (await openReaders()).reader(0);
    next.commit('live', 3);
    await expect.poll(offsets).toEqual({ 'live/0': 3 });
    // Waits for a later round of the first process, which would have committed 2.
    const other = opened[0]?.reader(1);
    other?.commit('live', 0);
    await expect.poll(offsets).toEqual({ 'live/0': 3, 'live/1': 0 });
  });

  it('that another program has joined is reported once, delays nothing, and is followed once that program has left', async () => {
    await append('live', 0, 3);
    const member = new Consumer({ clientId: 'another', bootstrapBrokers: [kafkaBrokers], groupId: group });
    await member.joinGroup({});
    const problems: string[] = [];
    const failures: string[] = [];
    const readers = await openReaders({
      onProblem: (sentence) => problems.push(sentence),
      onFailure: (operation) => failures.push(operation),
    });
    const reader = readers.reader(0);
    reader.commit('live', 2);
    await expect.poll(() => failures.length).toBeGreaterThan(5);
    expect(new Set(failures)).toEqual(new Set(['offsets']));
    expect(problems).toEqual([
      expect.stringMatching(
        /^offsets of the consumer group ""group".* another program is a member .* MILLRACE_KAFKA_GROUP/,
      ),
    ]);
    // Stored records are deleted nevertheless.
    const firstOffset = async (): Promise<bigint | undefined> => {
      const name = topicName(log.options.topicPrefix, 'live');
      const partitions = [{ partitionIndex: 0, timestamp: -2n }];
      return (await admin.listOffsets({ topics: [{ name, partitions }] }))[0]?.partitions[0]?.offset;
    };
    await expect.poll(firstOffset).toBe(2n);
    await member.leaveGroup(true);
    await member.close(true);
    await expect.poll(offsets).toEqual({ 'live/0': 2 });
  });

  it('does not exist if the log has none', async () => {
    await append('live', 0, 1);
    const readers = await openReaders({}, { group: undefined });
    const named = await openReaders();
    readers.reader(0).commit('live', 1);
    named.reader(1).commit('live', 0);
    await expect.poll(offsets).toEqual({ 'live/1': 0 });
  });
});
