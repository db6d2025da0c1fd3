import type { RowBatch } from '../stores/events/eventstore.ts';
import { EventRowWriter, type RowMemory } from '../stores/events/rows.ts';

/** Collects the rows of a window: one batch, or several if the rows of a batch are limited. */
export class WindowRows {
  readonly #writer: EventRowWriter;
  #rowsMax = Infinity;
  #earlier: RowBatch[] = [];

  /** @param memory shared by all row writers of this process */
  constructor(memory?: RowMemory) {
    this.#writer = new EventRowWriter(memory);
  }

  /** @param rowsMax maximum of rows in a batch */
  begin(rowsMax = Infinity): void {
    this.#rowsMax = rowsMax;
    this.#earlier = [];
    this.#writer.begin();
  }

  /** Returns the writer of the next row. */
  next(): EventRowWriter {
    if (this.#writer.rows >= this.#rowsMax) this.#cut();
    return this.#writer;
  }

  take(): { readonly rows: RowBatch; readonly earlierRows: readonly RowBatch[] } {
    return { rows: this.#writer.take(), earlierRows: this.#earlier };
  }

  /** Reuses the memory of rows that are no longer needed. */
  recycle(batch: RowBatch): void {
    this.#writer.recycle(batch);
  }

  /** Copies the rows: a small batch would otherwise retain the memory of a large one. */
  #cut(): void {
    const batch = this.#writer.take();
    this.#earlier.push({ chunks: batch.chunks.map((bytes) => new Uint8Array(bytes)), rows: batch.rows });
    this.#writer.recycle(batch);
  }
}
