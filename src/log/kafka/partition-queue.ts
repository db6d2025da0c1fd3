import type { LogUnavailableError } from '../eventlog.ts';
import type { RecordMessage } from './record-form.ts';
import type { ProducerId } from './requests.ts';

/** An append that waits for its answer. */
export interface Waiting extends RecordMessage {
  readonly projectId: number;
  readonly events: number;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly timestamp: bigint;
  /** When it is given up, ms, monotonic. */
  readonly deadline: number;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: LogUnavailableError) => void;
}

/** Records that are sent as one: all are stored, in this order, or none. */
export interface Batch {
  readonly items: readonly Waiting[];
  attempts: number;
  /** Not before, ms, monotonic. */
  notBefore: number;
}

/** Batches of small records: more in one costs memory and saves nothing. */
const batchBytesMax = 1024 * 1024;
const sequences = 0x7fffffff;

/**
 * What waits to be appended to one partition. One batch is under way at a time, so that nothing overtakes; it keeps its producer
 * id and sequence through every retry, so that a broker that has it already says so instead of storing it twice.
 *
 * When a batch is given up nobody knows whether it was stored, and a sequence must stand for one batch only: the broker would
 * take the next one for it, and answer that it is stored. So the partition goes on under another id.
 */
export class PartitionQueue {
  #waiting: Waiting[] = [];
  #batch: Batch | undefined;
  #id: ProducerId | undefined;
  #spoiled: ProducerId | undefined;
  #sequence = 0;

  get isEmpty(): boolean {
    return this.#batch === undefined && this.#waiting.length === 0;
  }

  /** The id that must not be used again here. */
  get spoiled(): ProducerId | undefined {
    return this.#spoiled;
  }

  get id(): ProducerId | undefined {
    return this.#id;
  }

  get sequence(): number {
    return this.#sequence;
  }

  push(item: Waiting): void {
    this.#waiting.push(item);
  }

  begin(id: ProducerId): void {
    this.#id = id;
    this.#sequence = 0;
  }

  /** The batch to send: the one that was tried before, or the oldest that wait. Undefined: nothing waits. */
  next(): Batch | undefined {
    if (this.#batch !== undefined || this.#waiting.length === 0) return this.#batch;
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && (count === 0 || bytes < batchBytesMax)) {
      bytes += this.#waiting[count]?.bytes ?? 0;
      if (count > 0 && bytes > batchBytesMax) break;
      count += 1;
    }
    this.#batch = { items: this.#waiting.splice(0, count), attempts: 0, notBefore: 0 };
    return this.#batch;
  }

  /** The batch is stored. */
  stored(): void {
    this.#sequence = (this.#sequence + (this.#batch?.items.length ?? 0)) & sequences;
    this.#batch = undefined;
  }

  /** The broker has said that the batch is not stored, and that the id is of no use to it. */
  forgetId(): void {
    this.#spoiled = this.#id ?? this.#spoiled;
    this.#id = undefined;
  }

  /** Gives up the batch, and what has waited as long behind it. */
  fail(error: LogUnavailableError): readonly Waiting[] {
    const now = performance.now();
    const late = this.#waiting.filter(({ deadline }) => deadline <= now);
    if (late.length > 0) this.#waiting = this.#waiting.filter(({ deadline }) => deadline > now);
    const failed = [...(this.#batch?.items ?? []), ...late];
    this.#batch = undefined;
    this.forgetId();
    for (const { reject } of failed) reject(error);
    return failed;
  }
}
