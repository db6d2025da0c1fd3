import { setTimeout as sleep } from 'node:timers/promises';
import { lanes } from '../eventlog.ts';
import { topicName, type KafkaLogOptions, type Link } from './cluster.ts';
import { KafkaLogError } from './kafka-fault.ts';
import { createTopics, describeTopics, readMetadata, type ClusterMetadata } from './requests.ts';

type Topic = ClusterMetadata['topics'][number];

const createMs = 30_000;
const lookEveryMs = 100;
const alreadyExists = 36;
const invalidReplication = 38;
const none = 0;
/** Kafka's own header, ours, and what a batch adds. */
const recordHeadBytes = 65_536;
/** So that the disk comes back in pieces: only whole files of a partition are deleted. */
const segmentBytes = 268_435_456;

/** Largest batch that the topics must take: one record with the largest body. */
export function batchBytesMax({ bodyBytesMax }: Pick<KafkaLogOptions, 'bodyBytesMax'>): number {
  return bodyBytesMax + recordHeadBytes;
}

/**
 * Makes the two topics unless they are there, and checks them. Several processes may do so at once. Rejects with
 * KafkaLogError, which names what is wrong and how to put it right, or with LogUnavailableError.
 */
export async function prepareTopics(link: Link, options: KafkaLogOptions): Promise<void> {
  const names = lanes.map((lane) => topicName(options.topicPrefix, lane));
  const found = await topicsNamed(link, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) {
    await makeTopics(link, missing, options);
    await untilThere(link, names, options);
  }
  const topics = await topicsNamed(link, names);
  const described = await link.askAny((connection) => describeTopics(connection, names));
  const problems = names.flatMap((name) => {
    const topic = topics.get(name);
    const own = described.results.find(({ resourceName }) => resourceName === name);
    if (topic === undefined || own === undefined) return [`the topic "${name}" is gone`];
    if (own.errorCode !== none) {
      return [
        `the settings of "${name}" cannot be read (Kafka's error ${own.errorCode}): give the user DescribeConfigs`,
      ];
    }
    const settings = new Map(own.configs.map((config) => [config.name, config.value ?? '']));
    return topicProblems(topic, settings, options);
  });
  if (problems.length > 0) throw new KafkaLogError(`expected other topics for the event log: ${problems.join('; ')}`);
}

async function topicsNamed(link: Link, names: readonly string[]): Promise<ReadonlyMap<string, Topic>> {
  const { topics } = await link.askAny((connection) => readMetadata(connection, names));
  const there = topics.filter(({ errorCode, partitions }) => errorCode === none || partitions.length > 0);
  return new Map(there.map((topic) => [topic.name ?? '', topic]));
}

async function makeTopics(link: Link, names: readonly string[], options: KafkaLogOptions): Promise<void> {
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
    // Another process was quicker.
    if (errorCode === none || errorCode === alreadyExists) continue;
    const advice =
      errorCode === invalidReplication
        ? `: the cluster has fewer than MILLRACE_KAFKA_REPLICATION=${options.replication} brokers`
        : '; make it by hand, or let the user make topics';
    throw new KafkaLogError(
      `expected to make the topic "${name}", Kafka says: ${errorMessage ?? ''} (its error ${errorCode})${advice}`,
    );
  }
}

/** A topic is known everywhere only a moment after it was made, and its partitions need leaders. */
async function untilThere(link: Link, names: readonly string[], { slots }: KafkaLogOptions): Promise<void> {
  const isReady = (topic: Topic | undefined): boolean =>
    topic !== undefined && topic.partitions.length >= slots && topic.partitions.every(({ leaderId }) => leaderId >= 0);
  for (const end = performance.now() + createMs; performance.now() < end; await sleep(lookEveryMs)) {
    const topics = await topicsNamed(link, names);
    if (names.every((name) => isReady(topics.get(name)))) return;
  }
  throw new KafkaLogError(`expected the topics ${names.join(' and ')} to have leaders within ${createMs / 1000} s`);
}

/** What the topics are made with. Nothing is ever deleted by age or size: the log itself does so behind its cursors. */
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

/** Each says how to put it right. */
export function topicProblems(
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
      `"${name}" has ${partitions.length} partitions, MILLRACE_SLOTS is ${slots}: set MILLRACE_SLOTS to what the cluster was made with`,
    );
  }
  const replicas = Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length));
  if (replicas < replication) {
    problems.push(
      `"${name}" has ${replicas} replicas, MILLRACE_KAFKA_REPLICATION is ${replication}: add replicas with kafka-reassign-partitions`,
    );
  }
  const number = (setting: string): number => Number(settings.get(setting) ?? NaN);
  if (settings.get('cleanup.policy') !== 'delete') change('cleanup.policy', 'delete', 'which throws records away');
  for (const setting of ['retention.ms', 'retention.bytes']) {
    if (number(setting) !== -1) change(setting, '-1', 'which deletes what was not processed yet');
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
