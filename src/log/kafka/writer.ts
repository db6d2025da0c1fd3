import { setTimeout as sleep } from 'node:timers/promises';
import type { BacklogPoller } from '../backlog-poller.ts';
import { lanes, type Lane } from '../eventlog.ts';
import {
  LogMisconfiguredError,
  type SharedLogWriter,
  type SharedWriterDeps,
  type SharedWriterOptions,
} from '../shared-log.ts';
import { openSharedWriter, type LogBackend } from '../shared-writer.ts';
import { kafkaBacklog } from './backlog-source.ts';
import { createLink, openCluster, topicName, type KafkaCluster, type KafkaLogOptions, type Link } from './cluster.ts';
import { createPartitionFetch } from './partition-fetch.ts';
import { LaneProducer } from './producer.ts';
import { createTopics, describeTopics, readMetadata, type ClusterMetadata } from './requests.ts';

const appendTimeoutMsDefault = 15_000;

/**
 * Opens the accepting side of the log on Kafka. Creates missing topics. Rejects with LogMisconfiguredError if an operator has to change
 * something, with LogUnavailableError while Kafka is unavailable.
 */
export async function openKafkaLogWriter(
  options: KafkaLogOptions & SharedWriterOptions,
  deps: SharedWriterDeps,
): Promise<SharedLogWriter> {
  const link = createLink(options);
  try {
    await prepareTopics(link, options);
  } finally {
    await link.close();
  }
  const cluster = await openCluster(options);
  return await openSharedWriter(options, deps, (stored) => kafkaBackend(cluster, options, deps, stored));
}

function kafkaBackend(
  cluster: KafkaCluster,
  { bodyBytesMax, appendTimeoutMs: timeoutMs = appendTimeoutMsDefault }: KafkaLogOptions & SharedWriterOptions,
  deps: SharedWriterDeps,
  stored: BacklogPoller['appended'],
): LogBackend {
  const producerOf = (lane: Lane): LaneProducer =>
    new LaneProducer({
      cluster,
      lane,
      timeoutMs,
      stored: (slot, size) => stored(lane, slot, size),
      answered: (seconds) => deps.onAnswer?.(lane, seconds),
      failed: (error) => deps.onFailure?.('append', error),
    });
  const producers = { live: producerOf('live'), historical: producerOf('historical') };
  const fetch = createPartitionFetch(cluster, (error) => deps.onFailure?.('backlog', error));
  return {
    ...kafkaBacklog(cluster),
    name: 'Kafka',
    bodyBytesMax,
    append: (lane, record, slot) => producers[lane].append(slot, record),
    // Since seq = offset + 1, the last seq is the offset of the next record.
    end: (lane, slot, signal) => fetch.end({ lane, slot }, signal),
    refresh: () => cluster.refresh(),
    lostRecords: (lane, slot, end, cursor) =>
      `partition ${slot} of "${cluster.topics[lane].name}" ends at ${end}, but ${cursor} records of it are processed: Kafka has lost ` +
      'records, or these are other topics than before; it accepts nothing. Restore the topics, or set MILLRACE_KAFKA_TOPIC_PREFIX to ' +
      'the right ones',
    drained: async () => {
      await Promise.all(lanes.map((lane) => producers[lane].drained()));
    },
    close: () => cluster.close(),
  };
}

type Topic = ClusterMetadata['topics'][number];

const createMs = 30_000;
const pollMs = 100;
const alreadyExists = 36;
const invalidReplication = 38;
const none = 0;
/** Size of Kafka's record header, our headers and the batch header. */
const recordHeadBytes = 65_536;
/** Kafka only deletes whole files of a partition, so this is the unit in which space is freed. */
const segmentBytes = 268_435_456;

/** Returns the size of the largest batch that the topics must accept: one record with the largest body. */
function batchBytesMax({ bodyBytesMax }: Pick<KafkaLogOptions, 'bodyBytesMax'>): number {
  return bodyBytesMax + recordHeadBytes;
}

/**
 * Creates missing topics and checks all. Several processes may do so concurrently. Rejects with LogMisconfiguredError, which states what
 * to change, or with LogUnavailableError.
 */
async function prepareTopics(link: Link, options: KafkaLogOptions): Promise<void> {
  const names = lanes.map((lane) => topicName(options.topicPrefix, lane));
  const found = await topicsNamed(link, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) {
    await createMissingTopics(link, missing, options);
    await waitForTopics(link, names, options);
  }
  const topics = await topicsNamed(link, names);
  const described = await link.askAny((connection) => describeTopics(connection, names));
  const problems = names.flatMap((name) => {
    const topic = topics.get(name);
    const own = described.results.find(({ resourceName }) => resourceName === name);
    if (topic === undefined || own === undefined) return [`the topic "${name}" was deleted`];
    if (own.errorCode !== none) {
      return [
        `the settings of "${name}" cannot be read (Kafka's error ${own.errorCode}): give the user DescribeConfigs`,
      ];
    }
    const settings = new Map(own.configs.map((config) => [config.name, config.value ?? '']));
    return topicProblems(topic, settings, options);
  });
  if (problems.length > 0)
    throw new LogMisconfiguredError(`expected other topics for the event log: ${problems.join('; ')}`);
}

async function topicsNamed(link: Link, names: readonly string[]): Promise<ReadonlyMap<string, Topic>> {
  const { topics } = await link.askAny((connection) => readMetadata(connection, names));
  const there = topics.filter(({ errorCode, partitions }) => errorCode === none || partitions.length > 0);
  return new Map(there.map((topic) => [topic.name ?? '', topic]));
}

async function createMissingTopics(link: Link, names: readonly string[], options: KafkaLogOptions): Promise<void> {
  const configs = Object.entries(wantedSettings(options)).map(([name, value]) => ({ name, value }));
  const topics = names.map((name) => ({
    name,
    numPartitions: options.slots,
    replicationFactor: options.replication,
    assignments: [],
    configs,
  }));
  const answer = await link.askAny((connection) => createTopics(connection, topics, createMs));
  for (const { name, errorCode, errorMessage } of answer.topics) {
    // Another process has created it.
    if (errorCode === none || errorCode === alreadyExists) continue;
    const advice =
      errorCode === invalidReplication
        ? `: the cluster has fewer than MILLRACE_KAFKA_REPLICATION=${options.replication} brokers`
        : '; create it by hand, or allow the user to create topics';
    throw new LogMisconfiguredError(
      `expected to create the topic "${name}", got from Kafka: ${errorMessage ?? ''} (its error ${errorCode})${advice}`,
    );
  }
}

/** Waits until new topics are known to all brokers and their partitions have leaders. */
async function waitForTopics(link: Link, names: readonly string[], { slots }: KafkaLogOptions): Promise<void> {
  const isReady = (topic: Topic | undefined): boolean =>
    topic !== undefined && topic.partitions.length >= slots && topic.partitions.every(({ leaderId }) => leaderId >= 0);
  for (const end = performance.now() + createMs; performance.now() < end; await sleep(pollMs)) {
    const topics = await topicsNamed(link, names);
    if (names.every((name) => isReady(topics.get(name)))) return;
  }
  throw new LogMisconfiguredError(
    `expected the topics ${names.join(' and ')} to have leaders within ${createMs / 1000} s`,
  );
}

/** Returns the settings of new topics. Nothing is deleted by age or size: the log deletes records before its cursors itself. */
function wantedSettings(options: KafkaLogOptions): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': 'delete',
    'retention.ms': '-1',
    'retention.bytes': '-1',
    'min.insync.replicas': String(options.minInsync),
    'max.message.bytes': String(batchBytesMax(options)),
    'segment.bytes': String(segmentBytes),
    'unclean.leader.election.enable': 'false',
  };
}

/** Returns problems, each with its remedy. */
function topicProblems(
  { name, partitions }: Pick<Topic, 'name' | 'partitions'>,
  settings: ReadonlyMap<string, string>,
  options: KafkaLogOptions,
): string[] {
  const problems: string[] = [];
  const change = (setting: string, to: string, why: string): void => {
    problems.push(`"${name}" has ${setting}=${settings.get(setting)}, ${why}: set ${setting}=${to}`);
  };
  const { slots, replication, minInsync } = options;
  if (partitions.length !== slots) {
    problems.push(
      `"${name}" has ${partitions.length} partitions, MILLRACE_SLOTS is ${slots}: set MILLRACE_SLOTS to the value that the cluster was created with`,
    );
  }
  const replicas = Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length));
  if (replicas < replication) {
    problems.push(
      `"${name}" has ${replicas} replicas, MILLRACE_KAFKA_REPLICATION is ${replication}: add replicas with kafka-reassign-partitions`,
    );
  }
  const number = (setting: string): number => Number(settings.get(setting) ?? NaN);
  if (settings.get('cleanup.policy') !== 'delete') change('cleanup.policy', 'delete', 'which deletes records');
  for (const setting of ['retention.ms', 'retention.bytes']) {
    if (number(setting) !== -1) change(setting, '-1', 'which deletes unprocessed records');
  }
  if (!(number('min.insync.replicas') >= minInsync)) {
    change('min.insync.replicas', String(minInsync), `MILLRACE_KAFKA_MIN_INSYNC is ${minInsync}`);
  }
  if (!(number('max.message.bytes') >= batchBytesMax(options))) {
    change('max.message.bytes', String(batchBytesMax(options)), 'less than the largest body');
  }
  if (settings.get('unclean.leader.election.enable') === 'true') {
    change('unclean.leader.election.enable', 'false', 'which loses acknowledged records');
  }
  return problems;
}
