import type { LogUnavailableError } from '../eventlog.ts';
import type { RecordMessage } from './record-form.ts';
import type { ProducerId } from './requests.ts';

/** An append waiting for its response. */
export interface Waiting extends RecordMessage {
  readonly projectId: number;
  readonly events: number;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly timestamp: bigint;
  /** When it fails, ms, monotonic. */
  readonly deadline: number;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: LogUnavailableError) => void;
}

/** Records that are stored together, in this order, or not at all. */
export interface Batch {
  readonly items: readonly Waiting[];
  attempts: number;
  /** Earliest time to send, ms, monotonic. */
  notBefore: number;
}

/** Size limit of batches of small records: larger ones cost memory and save nothing. */
const batchBytesMax = 1024 * 1024;
const sequences = 0x7fffffff;

/**
 * Records to append to one partition. One batch is in flight at a time, so that order is preserved; it keeps its producer id and
 * sequence through every retry, so that a broker that already has it confirms it instead of storing it twice.
 *
 * When a batch fails it is unknown whether it was stored, and a sequence must identify one batch only: the broker would mistake the
 * next one for it, and confirm it. So the partition continues with another producer id.
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

  /** The producer id that must not be used again for this partition. */
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

  /** Returns the batch to send: the one that was tried before, or the oldest waiting records; undefined if nothing waits. */
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

  /** Reports that the batch is stored. */
  stored(): void {
    this.#sequence = (this.#sequence + (this.#batch?.items.length ?? 0)) & sequences;
    this.#batch = undefined;
  }

  /** Drops the producer id after the broker reported that it is invalid and the batch is not stored. */
  forgetId(): void {
    this.#spoiled = this.#id ?? this.#spoiled;
    this.#id = undefined;
  }

  /** Fails the batch, and the records behind it that have waited as long. */
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
