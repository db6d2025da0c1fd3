import type { RowBatch } from '../stores/events/eventstore.ts';
import { EventRowWriter, type RowMemory } from '../stores/events/rows.ts';

/** The rows of a window: one batch, or several where their number is bounded. */
export class WindowRows {
  readonly #writer: EventRowWriter;
  #rowsMax = Infinity;
  #earlier: RowBatch[] = [];

  /** `memory`: of all who write rows in this process. */
  constructor(memory?: RowMemory) {
    this.#writer = new EventRowWriter(memory);
  }

  /** `rowsMax`: rows of a batch at most. */
  begin(rowsMax = Infinity): void {
    this.#rowsMax = rowsMax;
    this.#earlier = [];
    this.#writer.begin();
  }

  /** Where the next row goes. */
  next(): EventRowWriter {
    if (this.#writer.rows >= this.#rowsMax) this.#cut();
    return this.#writer;
  }

  take(): { readonly rows: RowBatch; readonly earlierRows: readonly RowBatch[] } {
    return { rows: this.#writer.take(), earlierRows: this.#earlier };
  }

  /** Rows that nobody looks at any more: their memory is used again. */
  recycle(batch: RowBatch): void {
    this.#writer.recycle(batch);
  }

  /** Copies: a batch of few rows would hold on to the memory of many. */
  #cut(): void {
    const batch = this.#writer.take();
    this.#earlier.push({ chunks: batch.chunks.map((bytes) => new Uint8Array(bytes)), rows: batch.rows });
    this.#writer.recycle(batch);
  }
}
