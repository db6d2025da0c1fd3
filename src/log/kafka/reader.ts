import {
  lanes,
  LogUnavailableError,
  type EventLogReader,
  type Lane,
  type ReadLimits,
  type StoredRecord,
} from '../eventlog.ts';
import { startDeleting, type StoredPlace, type StoredPlaces } from '../stored-places.ts';
import {
  LogMisconfiguredError,
  type SharedLogReaders,
  type SharedReaderDeps,
  type SharedReaderOptions,
} from '../shared-log.ts';
import { KafkaAppendWatch, type AppendWatch } from './append-watch.ts';
import { decodeBatches } from './batches.ts';
import { openCluster, readerId, type KafkaCluster, type KafkaLogOptions } from './cluster.ts';
import { publishOffsets } from './group-offsets.ts';
import { createPartitionFetch, type PartitionFetch } from './partition-fetch.ts';
import { deleteRecords } from './requests.ts';

export interface KafkaReaderOptions extends SharedReaderOptions {
  /** Bytes read ahead for all slots together. Default 64 MiB. */
  readonly aheadBytesMax?: number;
  /** Interval of committing offsets of the group, ms. Default 5,000. */
  readonly offsetsEveryMs?: number;
}

const aheadBytesMaxDefault = 64 * 1024 * 1024;
/** Size limit of one partition's response. */
const fetchBytesMax = 8 * 1024 * 1024;
const fetchBytesMin = 64 * 1024;

/** Requires existing topics, which a writer creates. Rejects with LogMisconfiguredError or LogUnavailableError. */
export async function openKafkaLogReaders(
  options: KafkaLogOptions & KafkaReaderOptions,
  deps: SharedReaderDeps,
): Promise<SharedLogReaders> {
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
    everyMs: options.deleteEveryMs,
    expired: deps.expired,
    remove: deleteStored(cluster),
    failed: async (error) => {
      deps.onFailure?.('delete', error);
      await refresh(cluster, deps);
    },
  });
  const fetch = createPartitionFetch(cluster, (error) => deps.onFailure?.('read', error));
  const { group } = options;
  const offsets = group === undefined ? [] : [publishOffsets(cluster, group, deps, options.offsetsEveryMs)];
  const stored = [deleting, ...offsets];
  const shared: Shared = { cluster, ahead, watch, stored, fetch, deps };
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
      await Promise.all(stored.map((each) => each.stop()));
      await cluster.close();
    },
  };
}

/** Never rejects: what needs the new leaders reports that they are unknown. */
async function refresh(cluster: KafkaCluster, deps: SharedReaderDeps): Promise<void> {
  try {
    await cluster.refresh();
  } catch (error) {
    deps.onFailure?.('delete', error);
  }
}

interface Shared {
  readonly cluster: KafkaCluster;
  readonly ahead: ReadAhead;
  readonly watch: AppendWatch;
  /** What handles stored records. */
  readonly stored: readonly StoredPlaces[];
  readonly fetch: PartitionFetch;
  readonly deps: SharedReaderDeps;
}

function nameOf(lane: Lane, slot: number): string {
  return `${lane}/${slot}`;
}

class SlotReader implements EventLogReader {
  readonly id: string;
  readonly #slot: number;
  readonly #shared: Shared;
  readonly #closing = new AbortController();
  /** Seq after which the next read is expected to begin. */
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
    for (const each of this.#shared.stored) each.add({ lane, slot: this.#slot, seq });
  }

  async waitForAppend(timeoutMs: number): Promise<void> {
    const watched = lanes.map((lane) => ({ lane, slot: this.#slot, offset: this.#seen[lane] }));
    await this.#shared.watch.wait(watched, timeoutMs, this.#closing.signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const each of this.#shared.stored) each.drop(this.#slot);
    for (const lane of lanes) this.#shared.ahead.drop(nameOf(lane, this.#slot));
  }

  /** Returns at least one record after the seq, or undefined if the log ends there. Rejects if the log must reach `lastSeq` and does not. */
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
      // A new leader learns with a delay what is confirmed; a shorter range would be a different one.
      throw new LogUnavailableError(
        `expected ${this.#place(lane)} to reach record ${lastSeq}, which was read before; it ends at ${answer.highWatermark} now`,
      );
    }
  }

  /** Returns where the log begins if the offset is before that; it is after the end only if Kafka has lost records. */
  async #begin(lane: Lane, offset: number): Promise<number> {
    const { first, end } = await this.#shared.fetch.range({ lane, slot: this.#slot }, this.#closing.signal);
    if (offset > end) {
      throw new LogMisconfiguredError(
        `${this.#place(lane)} ends at ${end}, but ${offset} records of it are processed: Kafka has lost records, or these are other ` +
          'topics than before; restore the topics, or set MILLRACE_KAFKA_TOPIC_PREFIX to the right ones',
      );
    }
    if (first > Math.max(offset, this.#committed[lane])) {
      this.#shared.deps.onProblem?.(
        `${this.#place(lane)} begins at record ${first + 1}, expected ${offset + 1}: the records between were deleted before they were ` +
          'processed; check retention.ms and retention.bytes of the topic',
      );
    }
    return Math.max(first, offset);
  }

  #place(lane: Lane): string {
    return `partition ${this.#slot} of "${this.#shared.cluster.topics[lane].name}"`;
  }
}

/** Moves records into `found` until one reaches a limit; returns their number. */
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

/** Records of one lane of a slot that were read ahead. */
interface Ahead {
  /** The records follow directly after this seq. */
  readonly afterSeq: number;
  readonly records: readonly StoredRecord[];
  /** The seq after which the log continues: that of the last record, unless it is followed by something other than a record. */
  readonly next: number;
}

/** Keeps at most one block per name, with a limit for all together; the rest is fetched again. */
interface ReadAhead {
  /** Takes a block; one that begins elsewhere is dropped. */
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

const none = 0;
const deleteMs = 8000;

/** Lets Kafka delete stored records, which frees space file by file in any case. */
function deleteStored(cluster: KafkaCluster): (places: readonly StoredPlace[]) => Promise<void> {
  const connections = cluster.connections('delete');
  return async (places) => {
    const byLeader = Map.groupBy(places, ({ lane, slot }) => cluster.leaderOf(lane, slot));
    for (const [leader, own] of byLeader) {
      if (leader === undefined) throw new LogUnavailableError('a partition of the event log has no leader at present');
      const topics = lanes.map((lane) => ({
        name: cluster.topics[lane].name,
        // The seq is the offset of the first record that is not stored.
        partitions: own
          .filter((place) => place.lane === lane)
          .map(({ slot, seq }) => ({ partitionIndex: slot, offset: BigInt(seq) })),
      }));
      const asked = topics.filter(({ partitions }) => partitions.length > 0);
      const answer = await deleteRecords(await connections.to(leader), asked, deleteMs);
      const refused = answer.topics.flatMap(({ partitions }) =>
        partitions.filter(({ errorCode }) => errorCode !== none),
      );
      const [first] = refused;
      if (first !== undefined) {
        throw new LogUnavailableError(
          `Kafka failed to delete stored records of partition ${first.partitionIndex} (its error ${first.errorCode})`,
        );
      }
    }
  };
}
