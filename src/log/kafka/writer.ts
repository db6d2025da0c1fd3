import {
  lanes,
  LogUnavailableError,
  type Backlog,
  type EventLogWriter,
  type Lane,
  type LogRecord,
} from '../eventlog.ts';
import { createBacklogLook, type BacklogLook, type SlotCursors } from './backlog-look.ts';
import { createLink, openCluster, type KafkaCluster, type KafkaLogOptions, type PerLane } from './cluster.ts';
import { createPartitionFetch, type PartitionFetch } from './partition-fetch.ts';
import { LaneProducer } from './producer.ts';
import { prepareTopics } from './topics.ts';

export interface KafkaWriterOptions {
  /** Time after which an append that Kafka does not confirm is refused, ms. Default 15,000. */
  readonly appendTimeoutMs?: number;
  /** Time between two looks at the backlog, ms. Default 1,000. */
  readonly lookEveryMs?: number;
  /** Body bytes that may be on their way; beyond them `append` rejects. Default 256 MiB. */
  readonly inFlightBytesMax?: number;
}

export interface KafkaWriterDeps {
  /** From the metadata store. */
  readonly cursors: () => Promise<SlotCursors>;
  /** Told of each request for appends that Kafka has answered, in s. */
  readonly onAnswer?: (lane: Lane, seconds: number) => void;
  /** Told of each try that failed. */
  readonly onFailure?: (operation: 'append' | 'backlog', error: unknown) => void;
  /** Called with a sentence that an operator should see, once for each. */
  readonly onProblem?: (sentence: string) => void;
}

export interface KafkaLogWriter extends EventLogWriter {
  /** For how long the oldest record of a lane has waited, s; what was there at the start counts from then on. */
  oldestSeconds(lane: Lane): number;
  /** Records that wait in each slot, as of about a second ago. */
  backlogBySlot(lane: Lane): ReadonlyMap<number, number>;
  /** For how long Kafka has been asked without an answer, s; 0 when it answered the last time. It is asked every second. */
  silentSeconds(): number;
}

const appendTimeoutMsDefault = 15_000;
const lookEveryMsDefault = 1000;
const inFlightBytesMaxDefault = 256 * 1024 * 1024;

/**
 * The accepting side of the log on Kafka. Makes the topics unless they are there, and has looked at the backlog once. Rejects with
 * KafkaLogError for what an operator has to change, with LogUnavailableError while Kafka is away.
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
    await writer.lookFirst();
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
  readonly #backlog: BacklogLook;
  readonly #lookEveryMs: number;
  readonly #inFlightBytesMax: number;
  /** Slots of which Kafka has lost what was acknowledged, with what is said of it. */
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
    this.#lookEveryMs = options.lookEveryMs ?? lookEveryMsDefault;
    this.#inFlightBytesMax = options.inFlightBytesMax ?? inFlightBytesMaxDefault;
    this.#backlog = createBacklogLook({
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
      const limit = `the topics take ${this.#cluster.options.bodyBytesMax}`;
      throw new LogUnavailableError(`a body of ${bytes} bytes is too large for the event log: ${limit}`);
    }
    if (this.#inFlightBytes > 0 && this.#inFlightBytes + bytes > this.#inFlightBytesMax) {
      const limit = `${this.#inFlightBytesMax} bytes are on their way to Kafka`;
      throw new LogUnavailableError(`Kafka is too slow: ${limit}; try again later`);
    }
    this.#inFlightBytes += bytes;
    try {
      return await this.#producers[lane].append(slot, record);
    } finally {
      this.#inFlightBytes -= bytes;
    }
  }

  /** seq = offset + 1, so the last seq is the offset of the next record. */
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

  /** Before it nobody knows what waits, and nothing would have to be said to be little. */
  async lookFirst(): Promise<void> {
    await this.#backlog.look();
    this.#lookLater();
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

  #lookLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, this.#lookEveryMs);
    this.#timer.unref();
  }

  /** What could not be looked at stays as it was. */
  async #look(): Promise<void> {
    try {
      await this.#backlog.look();
    } catch (error) {
      if (!this.#closed) {
        this.#deps.onFailure?.('backlog', error);
        await this.#cluster.refresh().catch((again: unknown) => this.#deps.onFailure?.('backlog', again));
      }
    }
    this.#lookLater();
  }

  /** What is appended before a cursor would have numbers that were processed already, and never be read. */
  #checkEnd(lane: Lane, slot: number, end: number, cursor: number): void {
    if (end >= cursor) {
      this.#lost[lane].delete(slot);
      return;
    }
    if (this.#lost[lane].has(slot)) return;
    const { name } = this.#cluster.topics[lane];
    const sentence =
      `partition ${slot} of "${name}" ends at ${end}, but ${cursor} records of it are processed: Kafka has lost records, or these ` +
      'are other topics than before; nothing is taken for it. Bring back the topics, or name the right ones (MILLRACE_KAFKA_TOPIC_PREFIX)';
    this.#lost[lane].set(slot, sentence);
    this.#deps.onProblem?.(sentence);
  }
}
