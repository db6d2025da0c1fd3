import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaConnections } from '../kafka-connection/connections.ts';
import type { FetchAnswer } from '../kafka-connection/fetch-answer.ts';
import type { Lane } from '../eventlog.ts';
import type { KafkaCluster } from './cluster.ts';
import type { ReadSource } from './read-sources.ts';
import { fetchRecords } from './requests.ts';

/** A lane of a slot, and the offset from which on new records are expected. */
export interface Watched {
  readonly lane: Lane;
  readonly slot: number;
  readonly offset: number;
}

export interface AppendWatchDeps {
  readonly cluster: KafkaCluster;
  /** Receives new records before waiters are resolved. */
  readonly arrived: (watched: Watched, answer: FetchAnswer) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Waits for appends to all slots of the process with a few requests that brokers answer when there are records. */
export interface AppendWatch {
  /** Resolves when records may have arrived, after `timeoutMs`, or when the signal is aborted. Does not keep the process alive. */
  wait(watched: readonly Watched[], timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Maximum of concurrent requests: a further waiter waits for one of them to end. */
const pollsMax = 2;
const pollMs = 250;
const pollBytes = 4 * 1024 * 1024;
const partitionBytes = 256 * 1024;
const restMs = 250;

interface Waiter {
  readonly watched: readonly Watched[];
  /** How many of them a request in flight covers. */
  covered: number;
  readonly resolve: () => void;
}

interface Wanted {
  readonly waiter: Waiter;
  readonly watched: Watched;
}

export class KafkaAppendWatch implements AppendWatch {
  readonly #deps: AppendWatchDeps;
  readonly #polls: readonly KafkaConnections[];
  /** Idle connections by broker. */
  readonly #idle = new Map<string, KafkaConnections[]>();
  readonly #waiting = new Set<Waiter>();
  #closed = false;

  constructor(deps: AppendWatchDeps) {
    this.#deps = deps;
    this.#polls = Array.from({ length: pollsMax }, (_, index) => deps.cluster.connections(`wait-${index}`));
  }

  async wait(watched: readonly Watched[], timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.#closed || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { watched, covered: 0, resolve };
    const stop = (): void => this.#end(waiter);
    this.#waiting.add(waiter);
    const timer = setTimeout(stop, timeoutMs).unref();
    signal.addEventListener('abort', stop, { once: true });
    this.#poll();
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting) this.#end(waiter);
  }

  #end(waiter: Waiter): void {
    if (this.#waiting.delete(waiter)) waiter.resolve();
  }

  /** Sends each broker a request for what no request in flight covers. */
  #poll(): void {
    if (this.#closed) return;
    const { cluster } = this.#deps;
    const open = [...this.#waiting].filter(({ covered }) => covered === 0);
    const wanted = open.flatMap((waiter) =>
      waiter.watched.map((watched) => ({ waiter, watched, source: cluster.sources.of(watched) })),
    );
    const nameOf = ({ broker: { host, port } }: ReadSource): string => `${host}:${port}`;
    const groups = Map.groupBy(wanted, ({ source }) => source && `${nameOf(source)} ${source.rack}`);
    for (const own of groups.values()) {
      const source = own[0]?.source;
      if (source === undefined) continue;
      const name = nameOf(source);
      const idle = this.#idle.get(name) ?? [...this.#polls];
      this.#idle.set(name, idle);
      const connections = idle.pop();
      if (connections === undefined) continue;
      void this.#ask(source, connections, own).finally(() => {
        idle.push(connections);
        this.#poll();
      });
    }
  }

  /** Never rejects. */
  async #ask(source: ReadSource, connections: KafkaConnections, own: readonly Wanted[]): Promise<void> {
    const { cluster, failed } = this.#deps;
    for (const { waiter } of own) waiter.covered += 1;
    try {
      await this.#fetch(source, connections, own);
    } catch (error) {
      if (this.#closed) return;
      failed(error);
      for (const { watched } of own) cluster.sources.avoid(watched);
      await sleep(restMs);
      await cluster.refresh().catch(failed);
    } finally {
      for (const { waiter } of own) waiter.covered -= 1;
    }
  }

  async #fetch({ broker, rack }: ReadSource, connections: KafkaConnections, own: readonly Wanted[]): Promise<void> {
    const { cluster, arrived } = this.#deps;
    const partitions = own.map(({ watched: { lane, slot, offset } }) => ({
      topicId: cluster.topics[lane].id,
      partition: slot,
      offset,
      bytesMax: partitionBytes,
    }));
    const request = { rack, waitMs: pollMs, bytesMax: pollBytes, partitions };
    const { partitions: answers } = await fetchRecords(await connections.to(broker), request);
    const found = new Map(answers.map((answer) => [`${answer.topic}/${answer.partition}`, answer]));
    for (const { waiter, watched } of own) {
      const answer = found.get(`${cluster.topics[watched.lane].id}/${watched.slot}`);
      // Without records it is waited for again, at the replica that the answer may name.
      if (answer === undefined || cluster.sources.follow(watched, answer)) continue;
      if (answer.errorCode === 0 && answer.records.length === 0) continue;
      // An error is reported by the next read.
      if (answer.errorCode === 0) await arrived(watched, answer);
      else cluster.sources.avoid(watched);
      this.#end(waiter);
    }
  }
}
