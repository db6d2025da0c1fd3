import { backoffMs } from '../../base/retry.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import type { KafkaConnections } from '../kafka-connection/connections.ts';
import type { RecordSize } from '../backlog-queue.ts';
import { LogUnavailableError, type Lane, type LogRecord } from '../eventlog.ts';
import { seqOf } from './batches.ts';
import type { KafkaCluster } from './cluster.ts';
import { faultOf } from './kafka-fault.ts';
import { PartitionQueue, type Batch } from './partition-queue.ts';
import { messageOf } from './record-form.ts';
import { produce, initProducerId, type ProducedBatch, type ProducerId } from './requests.ts';

export interface ProducerDeps {
  readonly cluster: KafkaCluster;
  readonly lane: Lane;
  /** How long an append is retried before it fails, ms. */
  readonly timeoutMs: number;
  /** Called for each stored record. */
  readonly stored: (slot: number, record: RecordSize) => void;
  /** Called for each response of a broker, with its time in s, and for each failed attempt. */
  readonly answered: (seconds: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Batches for one leader in one request. */
interface Shipment {
  readonly slot: number;
  readonly queue: PartitionQueue;
  readonly batch: Batch;
  readonly id: ProducerId;
}

/** Body bytes per request; a larger body is sent alone. A broker accepts 100 MiB. */
const requestBytesMax = 8 * 1024 * 1024;
/** Time limit for the replicas, below that of the request itself. */
const replicasMs = 8000;
const retryFirstMs = 50;
const retryMaxMs = 1000;
const none = 0;

/** Errors with which a broker rejects a first attempt because of its producer id: the batch is not stored. */
const idIsUnknown: ReadonlySet<number> = new Set([45, 47, 59]);
/** Errors for which a retry gives the same result, or may store the batch twice. */
const finalErrors: ReadonlyMap<number, string> = new Map([
  [10, 'the topic does not accept a message of that size: raise max.message.bytes'],
  [18, 'the topic does not accept a message of that size: raise max.message.bytes'],
  [29, 'the user may not write to the topic'],
  [31, 'the user may not write idempotently: give it IdempotentWrite on the cluster'],
  [45, 'the sequence of the batches is broken'],
  [46, 'the sequence of the batches is broken'],
  [47, 'the sequence of the batches is broken'],
  [59, 'the sequence of the batches is broken'],
  [87, 'the broker refuses the record'],
]);

/** Appends to the partitions of one lane. One request per leader is in flight; records that arrive in the meantime are sent with the next. */
export class LaneProducer {
  readonly #deps: ProducerDeps;
  readonly #connections: KafkaConnections;
  readonly #ids: ProducerIds;
  readonly #queues = new Map<number, PartitionQueue>();
  /** Slots with something to send. */
  readonly #ready = new Set<number>();
  readonly #busyLeaders = new Set<string>();
  readonly #busySlots = new Set<number>();
  #pumping = false;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(deps: ProducerDeps) {
    this.#deps = deps;
    this.#connections = deps.cluster.connections(`append-${deps.lane}`);
    this.#ids = createProducerIds(deps.cluster);
  }

  append(slot: number, record: LogRecord): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const queue = this.#queues.get(slot) ?? new PartitionQueue();
    this.#queues.set(slot, queue);
    queue.push({
      ...messageOf(record),
      projectId: record.header.projectId,
      events: record.header.events,
      bytes: record.body.byteLength,
      timestamp: BigInt(Date.now()),
      deadline: performance.now() + this.#deps.timeoutMs,
      resolve,
      reject,
    });
    this.#ready.add(slot);
    this.#pumpSoon();
    return promise;
  }

  /** Resolves when no record is waiting. */
  async drained(): Promise<void> {
    if (this.#ready.size + this.#busySlots.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  /** Sends appends of one turn of the event loop together. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pumpAfter(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, ms);
  }

  #pump(): void {
    const byLeader = new Map<string, { readonly broker: KafkaBroker | undefined; readonly slots: number[] }>();
    for (const slot of this.#ready) {
      if (this.#busySlots.has(slot)) continue;
      const broker = this.#deps.cluster.leaderOf(this.#deps.lane, slot);
      const name = broker === undefined ? '' : `${broker.host}:${broker.port}`;
      if (this.#busyLeaders.has(name)) continue;
      const known = byLeader.get(name) ?? { broker, slots: [] };
      known.slots.push(slot);
      byLeader.set(name, known);
    }
    for (const [name, { broker, slots }] of byLeader) void this.#ship(name, broker, slots);
    if (this.#ready.size + this.#busySlots.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle = [];
  }

  /** Never rejects: every batch is stored, retried or failed. */
  async #ship(name: string, broker: KafkaBroker | undefined, slots: readonly number[]): Promise<void> {
    const loads = this.#load(slots);
    if (loads.length === 0) return;
    this.#busyLeaders.add(name);
    for (const { slot } of loads) this.#busySlots.add(slot);
    try {
      if (broker === undefined) throw new LogUnavailableError('a partition of the event log has no leader at present');
      const shipments = await this.#withIds(loads);
      const startedAt = performance.now();
      const connection = await this.#connections.to(broker);
      const answer = await produce(
        connection,
        shipments.map((each) => this.#produced(each)),
        replicasMs,
      );
      this.#deps.answered((performance.now() - startedAt) / 1000);
      const said = new Map(answer.responses[0]?.partitionResponses.map((each) => [each.index, each]));
      for (const each of shipments) {
        const { errorCode, baseOffset } = said.get(each.slot) ?? { errorCode: -1, baseOffset: -1n };
        if (errorCode === none) this.#stored(each, Number(baseOffset));
        else this.#refused(each, errorCode);
      }
      if (shipments.some(({ batch }) => batch.attempts > 0)) await this.#refresh();
    } catch (error) {
      this.#deps.failed(error);
      const sentence =
        broker === undefined || error instanceof LogUnavailableError
          ? messageFrom(error)
          : faultOf(error, broker).sentence;
      for (const { queue, batch } of loads) this.#retry(queue, batch, sentence);
      await this.#refresh();
    } finally {
      this.#busyLeaders.delete(name);
      for (const { slot, queue } of loads) {
        this.#busySlots.delete(slot);
        // Moves to the end of the queue, so that each gets its turn.
        this.#ready.delete(slot);
        if (!queue.isEmpty) this.#ready.add(slot);
      }
      this.#pumpSoon();
    }
  }

  /** Returns the batches of these slots that can be sent now, up to the size of a request. */
  #load(slots: readonly number[]): Omit<Shipment, 'id'>[] {
    const loads: Omit<Shipment, 'id'>[] = [];
    const now = performance.now();
    let bytes = 0;
    let waitMs = Infinity;
    for (const slot of slots) {
      const queue = this.#queues.get(slot);
      const batch = queue?.next();
      if (queue === undefined || batch === undefined) continue;
      if (batch.notBefore > now) {
        waitMs = Math.min(waitMs, batch.notBefore - now);
        continue;
      }
      const more = batch.items.reduce((sum, item) => sum + item.bytes, 0);
      if (loads.length > 0 && bytes + more > requestBytesMax) break;
      bytes += more;
      loads.push({ slot, queue, batch });
    }
    if (loads.length === 0 && waitMs < Infinity) this.#pumpAfter(waitMs);
    return loads;
  }

  async #withIds(loads: readonly Omit<Shipment, 'id'>[]): Promise<Shipment[]> {
    const shipments: Shipment[] = [];
    for (const load of loads) {
      let { id } = load.queue;
      if (id === undefined) {
        id = await this.#ids.current(load.queue.spoiled);
        load.queue.begin(id);
      }
      shipments.push({ ...load, id });
    }
    return shipments;
  }

  #produced({ slot, queue, batch, id }: Shipment): ProducedBatch {
    const { cluster, lane } = this.#deps;
    const { producerId, producerEpoch } = id;
    const topic = cluster.topics[lane].name;
    return { topic, partition: slot, sequence: queue.sequence, messages: batch.items, producerId, producerEpoch };
  }

  #stored({ slot, queue, batch }: Shipment, baseOffset: number): void {
    batch.attempts = 0;
    queue.stored();
    for (const [index, { projectId, events, bytes, resolve }] of batch.items.entries()) {
      const seq = seqOf(baseOffset + index);
      this.#deps.stored(slot, { seq, projectId, events, bytes });
      resolve(seq);
    }
  }

  #refused({ queue, batch }: Shipment, errorCode: number): void {
    this.#deps.failed(new LogUnavailableError(`Kafka's error ${errorCode}`));
    if (idIsUnknown.has(errorCode) && batch.attempts === 0) {
      // Nothing was sent before with this sequence, so nothing is stored twice.
      queue.forgetId();
      this.#retry(queue, batch, `Kafka's error ${errorCode}`);
      return;
    }
    const final = finalErrors.get(errorCode);
    if (final === undefined) this.#retry(queue, batch, `Kafka's error ${errorCode}`);
    else queue.fail(unavailable(`${final} (Kafka's error ${errorCode})`));
  }

  /** Retries the batch after a pause, or fails it at its deadline. */
  #retry(queue: PartitionQueue, batch: Batch, sentence: string): void {
    const pauseMs = backoffMs(batch.attempts, retryFirstMs, retryMaxMs);
    batch.attempts += 1;
    batch.notBefore = performance.now() + pauseMs;
    const [oldest] = batch.items;
    if (oldest === undefined || batch.notBefore < oldest.deadline) return;
    batch.attempts = 0;
    queue.fail(unavailable(sentence));
  }

  /** Looks for a new leader; while Kafka is unavailable the batches wait. */
  async #refresh(): Promise<void> {
    await this.#deps.cluster.refresh().catch((error: unknown) => this.#deps.failed(error));
  }
}

function unavailable(reason: string): LogUnavailableError {
  return new LogUnavailableError(`the event log did not accept it: ${reason}; try again`);
}

function messageFrom(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Producer ids; a broker recognises a batch that it already has by id and sequence. */
interface ProducerIds {
  /** Returns the id in use, or a new one if that is `spoiled`. Rejects while Kafka is unavailable. */
  current(spoiled: ProducerId | undefined): Promise<ProducerId>;
}

function createProducerIds(cluster: Pick<KafkaCluster, 'askAny'>): ProducerIds {
  let id: ProducerId | undefined;
  let asking: Promise<ProducerId> | undefined;
  const ask = async (): Promise<ProducerId> => {
    id = await cluster.askAny(initProducerId);
    return id;
  };
  return {
    current: async (spoiled) => {
      if (id !== undefined && id.producerId !== spoiled?.producerId) return id;
      asking ??= ask().finally(() => (asking = undefined));
      return await asking;
    },
  };
}
