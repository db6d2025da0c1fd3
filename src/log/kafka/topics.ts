/** The topics of the log: created when they are missing, and checked, since others may have created them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lanes } from '../eventlog.ts';
import { LogMisconfiguredError } from '../shared-log.ts';
import { topicName, type KafkaLogOptions, type Link } from './cluster.ts';
import { createTopics, describeTopics, readMetadata, type ClusterMetadata } from './requests.ts';

export type Topic = ClusterMetadata['topics'][number];

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
export async function prepareTopics(link: Link, options: KafkaLogOptions): Promise<void> {
  const names = lanes.map((lane) => topicName(options.topicPrefix, lane));
  const found = await topicsNamed(link, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) {
    await createMissingTopics(link, missing, options);
    await waitForTopics(link, names, options);
  }
  const problems = topicFaults(await describeLogTopics(link, names), options).map(({ sentence }) => sentence);
  if (problems.length > 0)
    throw new LogMisconfiguredError(`expected other topics for the event log: ${problems.join('; ')}`);
}

/** A topic of the log as it is. */
export interface DescribedTopic {
  readonly name: string;
  /** `undefined` if the topic does not exist. */
  readonly topic: Topic | undefined;
  /** Values in force by name; Kafka's error code if they cannot be read. */
  readonly settings: ReadonlyMap<string, string> | number;
}

/** Reads topics and their settings. Rejects as `askAny` does. */
export async function describeLogTopics(link: Link, names: readonly string[]): Promise<DescribedTopic[]> {
  const topics = await topicsNamed(link, names);
  const existing = names.filter((name) => topics.has(name));
  const described = existing.length === 0 ? [] : (await link.askAny((to) => describeTopics(to, existing))).results;
  return names.map((name) => {
    const own = described.find(({ resourceName }) => resourceName === name);
    const values = own?.configs.map((config) => [config.name, config.value ?? ''] as const);
    return { name, topic: topics.get(name), settings: own?.errorCode ? own.errorCode : new Map(values) };
  });
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

export type TopicFaultKind =
  | 'missing'
  | 'unreadable'
  | 'partitions'
  | 'replication'
  | 'cleanup'
  | 'retention'
  | 'min-insync'
  | 'message-bytes'
  | 'unclean-election';

export interface TopicFault {
  readonly kind: TopicFaultKind;
  /** The fault and its remedy. */
  readonly sentence: string;
}

/** Returns why topics cannot contain the log. */
export function topicFaults(topics: readonly DescribedTopic[], options: KafkaLogOptions): TopicFault[] {
  return topics.flatMap(({ name, topic, settings }): TopicFault[] => {
    if (topic === undefined) return [{ kind: 'missing', sentence: `the topic "${name}" does not exist` }];
    if (typeof settings !== 'number')
      return [...layoutFaults(topic, options), ...settingFaults(name, settings, options)];
    const sentence = `the settings of "${name}" cannot be read (Kafka's error ${settings}): give the user DescribeConfigs`;
    return [{ kind: 'unreadable', sentence }];
  });
}

function layoutFaults({ name, partitions }: Topic, { slots, replication }: KafkaLogOptions): TopicFault[] {
  const faults: TopicFault[] = [];
  // Partitions cannot be removed again: more of them stay unused, and the metadata store has the number of slots.
  if (partitions.length < slots) {
    const advice = 'set MILLRACE_SLOTS to the value that the cluster was created with';
    const sentence = `"${name}" has ${partitions.length} partitions, MILLRACE_SLOTS is ${slots}: ${advice}`;
    faults.push({ kind: 'partitions', sentence });
  }
  const replicas = Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length));
  if (replicas < replication) {
    const advice = 'add replicas with kafka-reassign-partitions';
    const sentence = `"${name}" has ${replicas} replicas, MILLRACE_KAFKA_REPLICATION is ${replication}: ${advice}`;
    faults.push({ kind: 'replication', sentence });
  }
  return faults;
}

function settingFaults(name: string, settings: ReadonlyMap<string, string>, options: KafkaLogOptions): TopicFault[] {
  const faults: TopicFault[] = [];
  const change = (kind: TopicFaultKind, setting: string, to: string, why: string): void => {
    const sentence = `"${name}" has ${setting}=${settings.get(setting)}, ${why}: set ${setting}=${to}`;
    faults.push({ kind, sentence });
  };
  const number = (setting: string): number => Number(settings.get(setting) ?? NaN);
  if (settings.get('cleanup.policy') !== 'delete')
    change('cleanup', 'cleanup.policy', 'delete', 'which deletes records');
  for (const setting of ['retention.ms', 'retention.bytes']) {
    if (number(setting) !== -1) change('retention', setting, '-1', 'which deletes unprocessed records');
  }
  const { minInsync } = options;
  if (!(number('min.insync.replicas') >= minInsync)) {
    change('min-insync', 'min.insync.replicas', String(minInsync), `MILLRACE_KAFKA_MIN_INSYNC is ${minInsync}`);
  }
  if (!(number('max.message.bytes') >= batchBytesMax(options))) {
    change('message-bytes', 'max.message.bytes', String(batchBytesMax(options)), 'less than the largest body');
  }
  if (settings.get('unclean.leader.election.enable') === 'true') {
    change('unclean-election', 'unclean.leader.election.enable', 'false', 'which loses acknowledged records');
  }
  return faults;
}
