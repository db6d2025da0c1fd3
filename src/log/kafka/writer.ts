import {
  lanes,
  LogUnavailableError,
  type Backlog,
  type EventLogWriter,
  type Lane,
  type LogRecord,
} from '../eventlog.ts';
import { createBacklogPoller, type BacklogPoller, type SlotCursors } from './backlog-poller.ts';
import {
  createLink,
  openCluster,
  topicName,
  type KafkaCluster,
  type KafkaLogOptions,
  type PerLane,
  type Link,
} from './cluster.ts';
import { createPartitionFetch, type PartitionFetch } from './partition-fetch.ts';
import { LaneProducer } from './producer.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { KafkaLogError } from './kafka-fault.ts';
import { createTopics, describeTopics, readMetadata, type ClusterMetadata } from './requests.ts';

export interface KafkaWriterOptions {
  /** Time after which an unconfirmed append fails, ms. Default 15,000. */
  readonly appendTimeoutMs?: number;
  /** Poll interval of the backlog, ms. Default 1,000. */
  readonly pollMs?: number;
  /** Body bytes that may be in flight; beyond them `append` rejects. Default 256 MiB. */
  readonly inFlightBytesMax?: number;
}

export interface KafkaWriterDeps {
  /** Reads the cursors from the metadata store. */
  readonly cursors: () => Promise<SlotCursors>;
  /** Called for each answered append request, with its time in s. */
  readonly onAnswer?: (lane: Lane, seconds: number) => void;
  /** Called for each failed attempt. */
  readonly onFailure?: (operation: 'append' | 'backlog', error: unknown) => void;
  /** Receives each message for the operator once. */
  readonly onProblem?: (sentence: string) => void;
}

export interface KafkaLogWriter extends EventLogWriter {
  /** Returns how long the oldest record of a lane has waited, s; records from before the start count from then. */
  oldestSeconds(lane: Lane): number;
  /** Returns the waiting records of each slot as of about a second ago. */
  backlogBySlot(lane: Lane): ReadonlyMap<number, number>;
  /** Returns how long Kafka has not answered, s; 0 if it answered the last poll. It is polled every second. */
  silentSeconds(): number;
}

const appendTimeoutMsDefault = 15_000;
const pollMsDefault = 1000;
const inFlightBytesMaxDefault = 256 * 1024 * 1024;

/**
 * Opens the accepting side of the log on Kafka. Creates missing topics and polls the backlog once. Rejects with KafkaLogError if an
 * operator has to change something, with LogUnavailableError while Kafka is unavailable.
 */
export async function openKafkaLogWriter(
  options: KafkaLogOptions & KafkaWriterOptions,
  deps: KafkaWriterDeps,
): Promise<KafkaLogWriter> {
  const link = createLink(options);
  try {
    await prepareTopics(link, options);
  } finally {
    await link.close();
  }
  const cluster = await openCluster(options);
  const writer = new Writer(cluster, options, deps);
  try {
    await writer.pollFirst();
  } catch (error) {
    await writer.close();
    throw error;
  }
  return writer;
}

class Writer implements KafkaLogWriter {
  readonly slots: number;
  readonly #cluster: KafkaCluster;
  readonly #deps: KafkaWriterDeps;
  readonly #producers: PerLane<LaneProducer>;
  readonly #backlog: BacklogPoller;
  readonly #pollMs: number;
  readonly #inFlightBytesMax: number;
  /** Slots of which Kafka has lost acknowledged records, with the message to refuse appends with. */
  readonly #lost: PerLane<Map<number, string>> = { live: new Map(), historical: new Map() };
  readonly #fetch: PartitionFetch;
  readonly #closing = new AbortController();
  #inFlightBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(cluster: KafkaCluster, options: KafkaLogOptions & KafkaWriterOptions, deps: KafkaWriterDeps) {
    this.slots = options.slots;
    this.#cluster = cluster;
    this.#deps = deps;
    this.#fetch = createPartitionFetch(cluster, (error) => deps.onFailure?.('backlog', error));
    this.#pollMs = options.pollMs ?? pollMsDefault;
    this.#inFlightBytesMax = options.inFlightBytesMax ?? inFlightBytesMaxDefault;
    this.#backlog = createBacklogPoller({
      cluster,
      cursors: deps.cursors,
      onEnd: (lane, slot, end, cursor) => this.#checkEnd(lane, slot, end, cursor),
    });
    const timeoutMs = options.appendTimeoutMs ?? appendTimeoutMsDefault;
    const producerOf = (lane: Lane): LaneProducer =>
      new LaneProducer({
        cluster,
        lane,
        timeoutMs,
        stored: (slot, size) => this.#backlog.appended(lane, slot, size),
        answered: (seconds) => deps.onAnswer?.(lane, seconds),
        failed: (error) => deps.onFailure?.('append', error),
      });
    this.#producers = { live: producerOf('live'), historical: producerOf('historical') };
  }

  async append(lane: Lane, record: LogRecord, slot: number): Promise<number> {
    if (!(slot >= 0 && slot < this.slots)) throw new RangeError(`expected a slot below ${this.slots}, got: ${slot}`);
    if (this.#closed) throw new LogUnavailableError('the event log is closed');
    const lost = this.#lost[lane].get(slot);
    if (lost !== undefined) throw new LogUnavailableError(lost);
    const bytes = record.body.byteLength;
    if (bytes > this.#cluster.options.bodyBytesMax) {
      const limit = `the topics accept ${this.#cluster.options.bodyBytesMax}`;
      throw new LogUnavailableError(`a body of ${bytes} bytes is too large for the event log: ${limit}`);
    }
    if (this.#inFlightBytes > 0 && this.#inFlightBytes + bytes > this.#inFlightBytesMax) {
      const limit = `${this.#inFlightBytesMax} bytes are in flight to Kafka`;
      throw new LogUnavailableError(`Kafka is too slow: ${limit}; try again later`);
    }
    this.#inFlightBytes += bytes;
    try {
      return await this.#producers[lane].append(slot, record);
    } finally {
      this.#inFlightBytes -= bytes;
    }
  }

  /** Since seq = offset + 1, the last seq is the offset of the next record. */
  async end(lane: Lane, slot: number): Promise<number> {
    return await this.#fetch.end({ lane, slot }, this.#closing.signal);
  }

  backlog(lane: Lane): Backlog {
    return this.#backlog.backlog(lane);
  }

  backlogOf(lane: Lane, projectId: number): Backlog {
    return this.#backlog.backlogOf(lane, projectId);
  }

  oldestSeconds(lane: Lane): number {
    return this.#backlog.oldestSeconds(lane);
  }

  backlogBySlot(lane: Lane): ReadonlyMap<number, number> {
    return this.#backlog.bySlot(lane);
  }

  silentSeconds(): number {
    return this.#backlog.silentSeconds();
  }

  /** Polls once, because the backlog is unknown before. */
  async pollFirst(): Promise<void> {
    await this.#backlog.poll();
    this.#pollLater();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all(lanes.map((lane) => this.#producers[lane].drained()));
    this.#closing.abort(new LogUnavailableError('the event log is closed'));
    await this.#cluster.close();
    await this.#looking;
  }

  #pollLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, this.#pollMs);
    this.#timer.unref();
  }

  /** Polls the backlog; slots that cannot be polled keep their values. */
  async #look(): Promise<void> {
    try {
      await this.#backlog.poll();
    } catch (error) {
      if (!this.#closed) {
        this.#deps.onFailure?.('backlog', error);
        await this.#cluster.refresh().catch((again: unknown) => this.#deps.onFailure?.('backlog', again));
      }
    }
    this.#pollLater();
  }

  /** Detects an end before a cursor: new records would have numbers that were already processed, and would never be read. */
  #checkEnd(lane: Lane, slot: number, end: number, cursor: number): void {
    if (end >= cursor) {
      this.#lost[lane].delete(slot);
      return;
    }
    if (this.#lost[lane].has(slot)) return;
    const { name } = this.#cluster.topics[lane];
    const sentence =
      `partition ${slot} of "${name}" ends at ${end}, but ${cursor} records of it are processed: Kafka has lost records, or these ` +
      'are other topics than before; it accepts nothing. Restore the topics, or set MILLRACE_KAFKA_TOPIC_PREFIX to the right ones';
    this.#lost[lane].set(slot, sentence);
    this.#deps.onProblem?.(sentence);
  }
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
 * Creates missing topics and checks all. Several processes may do so concurrently. Rejects with KafkaLogError, which states what
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
  if (problems.length > 0) throw new KafkaLogError(`expected other topics for the event log: ${problems.join('; ')}`);
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
    throw new KafkaLogError(
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
  throw new KafkaLogError(`expected the topics ${names.join(' and ')} to have leaders within ${createMs / 1000} s`);
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
