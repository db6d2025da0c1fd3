import { setTimeout as sleep } from 'node:timers/promises';
import { lanes, type Lane } from '../eventlog.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import { LogMisconfiguredError, type PerLane } from '../shared-log.ts';
import { createLink, readerId, topicName, type KafkaLogOptions, type Link } from './cluster.ts';
import { fetchOffsets, findCoordinator, listOffsets, readBrokerSetting, readMetadata } from './requests.ts';
import { describeLogTopics, topicFaults, type DescribedTopic, type TopicFault } from './topics.ts';

const coordinatorMs = 5000;
const coordinatorPollMs = 200;

/** Offsets of a partition: its first record and the one after its last. */
export interface PartitionRange {
  readonly first: number;
  readonly end: number;
}

/** What brokers say about the log, read without changing anything. */
export interface KafkaInspection extends AsyncDisposable {
  readonly brokers: number;
  /** Zones of the brokers that have one (`broker.rack`). */
  readonly racks: readonly string[];
  /** Returns the value of `replica.selector.class` on a broker; Kafka's error code if it must not be read. */
  replicaSelector(): Promise<string | number>;
  readonly topics: readonly DescribedTopic[];
  readonly faults: readonly TopicFault[];
  /** Returns the id of a slot's log, as its worker stores it; `undefined` while a topic is missing. */
  logId(slot: number): string | undefined;
  /** Ranges of the partitions that have a leader. */
  ranges(): Promise<PerLane<ReadonlyMap<number, PartitionRange>>>;
  /** Offsets that the consumer group has committed, by topic and partition. */
  offsets(group: string): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;
  /** The consumer group of the settings, if any. */
  readonly group: string | undefined;
}

/** Connects and reads the topics. Rejects with LogMisconfiguredError or LogUnavailableError. */
export async function inspectKafkaLog(options: KafkaLogOptions): Promise<KafkaInspection> {
  const link = createLink(options);
  try {
    const names = lanes.map((lane) => topicName(options.topicPrefix, lane));
    const metadata = await link.askAny((connection) => readMetadata(connection, names));
    const topics = await describeLogTopics(link, names);
    const leaders = new Map(metadata.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    return {
      brokers: metadata.brokers.length,
      racks: [...new Set(metadata.brokers.flatMap(({ rack }) => rack ?? []))].toSorted(),
      replicaSelector: async () => {
        const [first] = metadata.brokers;
        if (first === undefined) throw new Error('expected a broker in the metadata, got none');
        const connection = await link.connections('inspection').to(first);
        return await readBrokerSetting(connection, first.nodeId, 'replica.selector.class');
      },
      topics,
      faults: topicFaults(topics, options),
      logId: (slot) => {
        const [live, historical] = topics.map(({ name, topic }) => topic && { name, id: topic.topicId });
        return live && historical && readerId({ live, historical }, slot);
      },
      ranges: async () => {
        const [live, historical] = await Promise.all(topics.map((topic) => rangesOf(link, topic, leaders)));
        return { live: live ?? new Map(), historical: historical ?? new Map() } satisfies Record<Lane, unknown>;
      },
      group: options.group,
      offsets: async (group) => {
        const coordinator = await coordinatorOf(link, group);
        const partitionIndexes = Array.from({ length: options.slots }, (_, slot) => slot);
        const asked = names.map((name) => ({ name, partitionIndexes }));
        return await fetchOffsets(await link.connections('group').to(coordinator), group, asked);
      },
      [Symbol.asyncDispose]: () => link.close(),
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}

/** Brokers need some seconds for the first group of a cluster. */
async function coordinatorOf(link: Link, group: string): Promise<KafkaBroker> {
  for (const until = performance.now() + coordinatorMs; ; await sleep(coordinatorPollMs)) {
    try {
      return await link.askAny((connection) => findCoordinator(connection, group));
    } catch (error) {
      if (error instanceof LogMisconfiguredError || performance.now() > until) throw error;
    }
  }
}

async function rangesOf(
  link: Link,
  { name, topic }: DescribedTopic,
  brokers: ReadonlyMap<number, KafkaBroker>,
): Promise<ReadonlyMap<number, PartitionRange>> {
  const ranges = new Map<number, PartitionRange>();
  const byLeader = Map.groupBy(topic?.partitions ?? [], ({ leaderId }) => leaderId);
  const connections = link.connections('inspection');
  for (const [leader, partitions] of byLeader) {
    const broker = brokers.get(leader);
    if (broker === undefined) continue;
    const connection = await connections.to(broker);
    const asked = [{ name, partitions: partitions.map(({ partitionIndex }) => partitionIndex) }];
    const [firsts, ends] = [
      await listOffsets(connection, 'earliest', asked),
      await listOffsets(connection, 'end', asked),
    ].map(({ topics }) => topics.flatMap((each) => each.partitions));
    for (const { partitionIndex, offset } of firsts ?? []) {
      const end = ends?.find((each) => each.partitionIndex === partitionIndex);
      if (end !== undefined) ranges.set(partitionIndex, { first: Number(offset), end: Number(end.offset) });
    }
  }
  return ranges;
}
