import {
  lanes,
  LogUnavailableError,
  type EventLogReader,
  type Lane,
  type ReadLimits,
  type StoredRecord,
} from '../eventlog.ts';
import { KafkaAppendWatch, type AppendWatch } from './append-watch.ts';
import { decodeBatches } from './batches.ts';
import { openCluster, readerId, type KafkaCluster, type KafkaLogOptions } from './cluster.ts';
import { KafkaLogError } from './kafka-fault.ts';
import { createPartitionFetch, type PartitionFetch } from './partition-fetch.ts';
import { deleteRecords } from './requests.ts';

export interface KafkaReaderOptions {
  /** Time between two deletions of what is committed, ms. Default 5,000. */
  readonly deleteEveryMs?: number;
  /** Bodies that may be kept before they are asked for, of all slots together. Default 64 MiB. */
  readonly aheadBytesMax?: number;
}

export interface KafkaReaderDeps {
  /** Told of what was read. */
  readonly onRead?: (lane: Lane, records: number, bytes: number) => void;
  /** Told of each try that failed. */
  readonly onFailure?: (operation: 'read' | 'wait' | 'delete', error: unknown) => void;
  /** Called with a sentence that an operator should see. */
  readonly onProblem?: (sentence: string) => void;
}

/** The processing side of all slots that a process holds: they share connections. */
export interface KafkaLogReaders {
  readonly slots: number;
  /** Each slot once at a time. Closing it leaves the others as they are. */
  reader(slot: number): EventLogReader;
  close(): Promise<void>;
}

const aheadBytesMaxDefault = 64 * 1024 * 1024;
const deleteEveryMsDefault = 5000;
/** Of one answer of one partition. */
const fetchBytesMax = 8 * 1024 * 1024;
const fetchBytesMin = 64 * 1024;

/** The topics must be there: a writer makes them. Rejects with KafkaLogError or LogUnavailableError. */
export async function openKafkaLogReaders(
  options: KafkaLogOptions & KafkaReaderOptions,
  deps: KafkaReaderDeps,
): Promise<KafkaLogReaders> {
  const cluster = await openCluster(options);
  const ahead = createReadAhead(options.aheadBytesMax ?? aheadBytesMaxDefault);
  const watch = new KafkaAppendWatch({
    cluster,
    arrived: async ({ lane, slot, offset }, { records }) => {
      const decoded = await decodeBatches(records, offset);
      ahead.put(nameOf(lane, slot), { afterSeq: offset, records: decoded.records, next: decoded.next });
    },
    failed: (error) => deps.onFailure?.('wait', error),
  });
  const deleting = startDeleting({
    cluster,
    everyMs: options.deleteEveryMs ?? deleteEveryMsDefault,
    failed: (error) => deps.onFailure?.('delete', error),
  });
  const fetch = createPartitionFetch(cluster, (error) => deps.onFailure?.('read', error));
  const shared: Shared = { cluster, ahead, watch, deleting, fetch, deps };
  return {
    slots: options.slots,
    reader: (slot) => {
      if (!(slot >= 0 && slot < options.slots)) {
        throw new RangeError(`expected a slot below ${options.slots}, got: ${slot}`);
      }
      return new SlotReader(slot, shared);
    },
    close: async () => {
      watch.close();
      await deleting.stop();
      await cluster.close();
    },
  };
}

interface Shared {
  readonly cluster: KafkaCluster;
  readonly ahead: ReadAhead;
  readonly watch: AppendWatch;
  readonly deleting: RecordDeleting;
  readonly fetch: PartitionFetch;
  readonly deps: KafkaReaderDeps;
}

function nameOf(lane: Lane, slot: number): string {
  return `${lane}/${slot}`;
}

class SlotReader implements EventLogReader {
  readonly id: string;
  readonly #slot: number;
  readonly #shared: Shared;
  readonly #closing = new AbortController();
  /** Seq behind which the next read begins, as far as is known. */
  readonly #seen: Record<Lane, number> = { live: 0, historical: 0 };
  readonly #committed: Record<Lane, number> = { live: 0, historical: 0 };

  constructor(slot: number, shared: Shared) {
    this.#slot = slot;
    this.#shared = shared;
    this.id = readerId(shared.cluster.topics, slot);
  }

  async read(lane: Lane, afterSeq: number, limits: ReadLimits): Promise<StoredRecord[]> {
    if (this.#closing.signal.aborted) throw new Error('expected an open event log to read from, got a closed one');
    const found: StoredRecord[] = [];
    const { lastSeq = Infinity } = limits;
    const left = { events: limits.events, bytes: limits.bytes };
    let at = afterSeq;
    while (at < lastSeq) {
      const piece = await this.#piece(lane, at, { ...limits, bytes: left.bytes });
      if (piece === undefined) break;
      const taken = take(piece.records, lastSeq, left, found);
      const isWhole = taken === piece.records.length;
      at = isWhole ? piece.next : (piece.records[taken - 1]?.seq ?? at);
      if (!isWhole) {
        const name = nameOf(lane, this.#slot);
        this.#shared.ahead.put(name, { afterSeq: at, records: piece.records.slice(taken), next: piece.next });
      }
      if (!isWhole || left.events <= 0 || left.bytes <= 0) break;
    }
    this.#seen[lane] = at;
    this.#shared.deps.onRead?.(
      lane,
      found.length,
      found.reduce((sum, record) => sum + bytesOf(record), 0),
    );
    return found;
  }

  commit(lane: Lane, seq: number): void {
    this.#committed[lane] = Math.max(this.#committed[lane], seq);
    this.#shared.deleting.deleteThrough(lane, this.#slot, seq);
  }

  async waitForAppend(timeoutMs: number): Promise<void> {
    const watched = lanes.map((lane) => ({ lane, slot: this.#slot, offset: this.#seen[lane] }));
    await this.#shared.watch.wait(watched, timeoutMs, this.#closing.signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const lane of lanes) this.#shared.ahead.drop(nameOf(lane, this.#slot));
  }

  /** What lies behind the seq, at least one record; undefined: nothing yet. Rejects when the log must go on to `lastSeq`. */
  async #piece(lane: Lane, at: number, { bytes, lastSeq = 0 }: Pick<ReadLimits, 'bytes' | 'lastSeq'>) {
    const kept = this.#shared.ahead.take(nameOf(lane, this.#slot), at);
    if (kept !== undefined) return kept;
    const bytesMax = Math.min(fetchBytesMax, Math.max(fetchBytesMin, bytes));
    for (let offset = at; ;) {
      const answer = await this.#shared.fetch.fetch({ lane, slot: this.#slot, offset, bytesMax }, this.#closing.signal);
      if (answer === 'outOfRange') {
        offset = await this.#begin(lane, offset);
        continue;
      }
      const { records, next } = await decodeBatches(answer.records, offset);
      if (records.length > 0) return { records, next };
      if (next > offset) {
        offset = next;
        continue;
      }
      if (offset >= lastSeq) return undefined;
      // A new leader knows a moment later what was confirmed; a shorter range would be another one.
      throw new LogUnavailableError(
        `expected ${this.#place(lane)} to go on to record ${lastSeq}, which was read before; it ends at ${answer.highWatermark} now`,
      );
    }
  }

  /** Where the log begins, when the offset lies before; it can lie behind its end only when Kafka has lost records. */
  async #begin(lane: Lane, offset: number): Promise<number> {
    const { first, end } = await this.#shared.fetch.range({ lane, slot: this.#slot }, this.#closing.signal);
    if (offset > end) {
      throw new KafkaLogError(
        `${this.#place(lane)} ends at ${end}, but ${offset} records of it are processed: Kafka has lost records, or these are other ` +
          'topics than before; bring back the topics, or name the right ones (MILLRACE_KAFKA_TOPIC_PREFIX)',
      );
    }
    if (first > Math.max(offset, this.#committed[lane])) {
      this.#shared.deps.onProblem?.(
        `${this.#place(lane)} begins at record ${first + 1}, expected ${offset + 1}: what lay between was deleted before it was ` +
          'processed; check retention.ms and retention.bytes of the topic',
      );
    }
    return Math.max(first, offset);
  }

  #place(lane: Lane): string {
    return `partition ${this.#slot} of "${this.#shared.cluster.topics[lane].name}"`;
  }
}

/** Moves records into `found` until one reaches a limit; gives how many. */
function take(
  records: readonly StoredRecord[],
  lastSeq: number,
  left: { events: number; bytes: number },
  found: StoredRecord[],
): number {
  let taken = 0;
  for (const record of records) {
    if (record.seq > lastSeq) break;
    found.push(record);
    taken += 1;
    left.events -= eventsOf(record);
    left.bytes -= bytesOf(record);
    if (left.events <= 0 || left.bytes <= 0) break;
  }
  return taken;
}

/** Records of one lane of one slot that came before they were asked for. */
interface Ahead {
  /** The records lie directly behind this seq. */
  readonly afterSeq: number;
  readonly records: readonly StoredRecord[];
  /** The seq behind which the log goes on: that of the last record, unless something lies there that is none. */
  readonly next: number;
}

/** Keeps at most one piece for each name, and all of them together within a limit; what does not fit is fetched again. */
interface ReadAhead {
  /** Takes it out; one that begins elsewhere is of no use any more. */
  take(name: string, afterSeq: number): Ahead | undefined;
  put(name: string, ahead: Ahead): void;
  drop(name: string): void;
}

function createReadAhead(bytesMax: number): ReadAhead {
  const kept = new Map<string, Ahead & { readonly bytes: number }>();
  let sum = 0;
  const drop = (name: string): void => {
    sum -= kept.get(name)?.bytes ?? 0;
    kept.delete(name);
  };
  return {
    drop,
    take: (name, afterSeq) => {
      const found = kept.get(name);
      drop(name);
      return found?.afterSeq === afterSeq ? found : undefined;
    },
    put: (name, ahead) => {
      drop(name);
      if (ahead.records.length === 0) return;
      const bytes = ahead.records.reduce((total, record) => total + bytesOf(record), 0);
      if (sum + bytes > bytesMax) return;
      kept.set(name, { ...ahead, bytes });
      sum += bytes;
    },
  };
}

function bytesOf(record: StoredRecord): number {
  return record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
}

function eventsOf(record: StoredRecord): number {
  return record.damaged === undefined ? record.header.events : 1;
}

interface DeletingDeps {
  readonly cluster: KafkaCluster;
  readonly everyMs: number;
  readonly failed: (error: unknown) => void;
}

/** Lets Kafka forget what is stored for good, every now and then: its space comes back file by file in any case. */
interface RecordDeleting {
  deleteThrough(lane: Lane, slot: number, seq: number): void;
  /** Without deleting what is left: the next holder of the slot does that. */
  stop(): Promise<void>;
}

interface Place {
  readonly lane: Lane;
  readonly slot: number;
  /** Offset before which everything may go: that of the first record that is not stored. */
  readonly offset: number;
}

const none = 0;
const deleteMs = 8000;

function startDeleting({ cluster, everyMs, failed }: DeletingDeps): RecordDeleting {
  const connections = cluster.connections('delete');
  const wanted = new Map<string, Place>();
  const deleted = new Map<string, number>();
  let working: Promise<void> = Promise.resolve();

  const deleteAt = async (places: readonly Place[]): Promise<void> => {
    const byLeader = Map.groupBy(places, ({ lane, slot }) => cluster.leaderOf(lane, slot));
    for (const [leader, own] of byLeader) {
      if (leader === undefined)
        throw new LogUnavailableError('a partition of the event log has no leader at the moment');
      const topics = lanes.map((lane) => ({
        name: cluster.topics[lane].name,
        partitions: own
          .filter((place) => place.lane === lane)
          .map(({ slot, offset }) => ({ partitionIndex: slot, offset: BigInt(offset) })),
      }));
      const asked = topics.filter(({ partitions }) => partitions.length > 0);
      const answer = await deleteRecords(await connections.to(leader), asked, deleteMs);
      const refused = answer.topics.flatMap(({ partitions }) =>
        partitions.filter(({ errorCode }) => errorCode !== none),
      );
      const [first] = refused;
      if (first !== undefined) {
        throw new LogUnavailableError(
          `Kafka does not delete what is stored of partition ${first.partitionIndex} (its error ${first.errorCode})`,
        );
      }
      for (const { lane, slot, offset } of own) deleted.set(`${lane}/${slot}`, offset);
    }
  };

  const work = async (): Promise<void> => {
    const places = [...wanted.values()].filter(
      ({ lane, slot, offset }) => offset > (deleted.get(`${lane}/${slot}`) ?? 0),
    );
    wanted.clear();
    try {
      await deleteAt(places);
    } catch (error) {
      failed(error);
      for (const place of places) keep(place);
      await cluster.refresh().catch(failed);
    }
  };

  const keep = (place: Place): void => {
    const name = `${place.lane}/${place.slot}`;
    if (place.offset > (wanted.get(name)?.offset ?? 0)) wanted.set(name, place);
  };

  let isWorking = false;
  const timer = setInterval(() => {
    if (isWorking || wanted.size === 0) return;
    isWorking = true;
    working = work().finally(() => (isWorking = false));
  }, everyMs).unref();

  return {
    deleteThrough: (lane, slot, seq) => keep({ lane, slot, offset: seq }),
    stop: async () => {
      clearInterval(timer);
      await working;
    },
  };
}
