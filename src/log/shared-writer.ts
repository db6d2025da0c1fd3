import { createBacklogPoller, type BacklogPoller, type BacklogSource } from './backlog-poller.ts';
import { LogUnavailableError, type Backlog, type Lane, type LogRecord } from './eventlog.ts';
import type { PerLane, SharedLogWriter, SharedWriterDeps, SharedWriterOptions } from './shared-log.ts';

/** What is particular to the server that keeps the log. */
export interface LogBackend extends BacklogSource {
  /** As messages call it: `Kafka`. */
  readonly name: string;
  /** Largest body of a record. */
  readonly bodyBytesMax: number;
  /** Resolves with the seq once the record is durable. Rejects with LogUnavailableError. */
  append(lane: Lane, record: LogRecord, slot: number): Promise<number>;
  /** Returns the last seq of a slot's lane. */
  end(lane: Lane, slot: number, signal: AbortSignal): Promise<number>;
  /** Called after a failed poll. */
  refresh(): Promise<void>;
  /** Explains a log that ends before its cursor, with what to do. */
  lostRecords(lane: Lane, slot: number, end: number, cursor: number): string;
  /** Resolves once no append is in flight. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

const pollMsDefault = 1000;
const inFlightBytesMaxDefault = 256 * 1024 * 1024;

type WriterOptions = Pick<SharedWriterOptions, 'pollMs' | 'inFlightBytesMax'> & { readonly slots: number };

/**
 * Opens the accepting side of a log that several processes share, and polls its backlog once, because it is unknown before. `open`
 * receives what it must call for each stored record. Rejects as the backend does.
 */
export async function openSharedWriter(
  options: WriterOptions,
  deps: SharedWriterDeps,
  open: (stored: BacklogPoller['appended']) => LogBackend,
): Promise<SharedLogWriter> {
  const writer = new SharedWriter(options, deps, open);
  try {
    await writer.pollFirst();
  } catch (error) {
    await writer.close();
    throw error;
  }
  return writer;
}

class SharedWriter implements SharedLogWriter {
  readonly slots: number;
  readonly #backend: LogBackend;
  readonly #deps: SharedWriterDeps;
  readonly #backlog: BacklogPoller;
  readonly #pollMs: number;
  readonly #inFlightBytesMax: number;
  /** Slots that have lost acknowledged records, with the message to refuse appends with. */
  readonly #lost: PerLane<Map<number, string>> = { live: new Map(), historical: new Map() };
  readonly #closing = new AbortController();
  #inFlightBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    { slots, pollMs = pollMsDefault, inFlightBytesMax = inFlightBytesMaxDefault }: WriterOptions,
    deps: SharedWriterDeps,
    open: (stored: BacklogPoller['appended']) => LogBackend,
  ) {
    this.slots = slots;
    this.#deps = deps;
    this.#pollMs = pollMs;
    this.#inFlightBytesMax = inFlightBytesMax;
    this.#backend = open((lane, slot, size) => this.#backlog.appended(lane, slot, size));
    this.#backlog = createBacklogPoller({
      source: this.#backend,
      cursors: deps.cursors,
      onEnd: (lane, slot, end, cursor) => this.#checkEnd(lane, slot, end, cursor),
    });
  }

  async append(lane: Lane, record: LogRecord, slot: number): Promise<number> {
    if (!(slot >= 0 && slot < this.slots)) throw new RangeError(`expected a slot below ${this.slots}, got: ${slot}`);
    if (this.#closed) throw new LogUnavailableError('the event log is closed');
    const lost = this.#lost[lane].get(slot);
    if (lost !== undefined) throw new LogUnavailableError(lost);
    const { name, bodyBytesMax } = this.#backend;
    const bytes = record.body.byteLength;
    if (bytes > bodyBytesMax) {
      throw new LogUnavailableError(
        `a body of ${bytes} bytes is too large for the event log: it accepts ${bodyBytesMax}`,
      );
    }
    if (this.#inFlightBytes > 0 && this.#inFlightBytes + bytes > this.#inFlightBytesMax) {
      const limit = `${this.#inFlightBytesMax} bytes are in flight to ${name}`;
      throw new LogUnavailableError(`${name} is too slow: ${limit}; try again later`);
    }
    this.#inFlightBytes += bytes;
    try {
      return await this.#backend.append(lane, record, slot);
    } finally {
      this.#inFlightBytes -= bytes;
    }
  }

  async end(lane: Lane, slot: number): Promise<number> {
    return await this.#backend.end(lane, slot, this.#closing.signal);
  }

  backlog(lane: Lane): Backlog {
    return this.#backlog.backlog(lane);
  }

  backlogOf(lane: Lane, projectId: number, writers = 1): Backlog {
    return this.#backlog.backlogOf(lane, projectId, writers);
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

  async pollFirst(): Promise<void> {
    await this.#backlog.poll();
    this.#pollLater();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#backend.drained();
    this.#closing.abort(new LogUnavailableError('the event log is closed'));
    await this.#backend.close();
    await this.#polling;
  }

  #pollLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll();
    }, this.#pollMs);
    this.#timer.unref();
  }

  /** Polls the backlog; slots that cannot be polled keep their values. */
  async #poll(): Promise<void> {
    try {
      await this.#backlog.poll();
    } catch (error) {
      if (!this.#closed) {
        this.#deps.onFailure?.('backlog', error);
        await this.#backend.refresh().catch((again: unknown) => this.#deps.onFailure?.('backlog', again));
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
    const sentence = this.#backend.lostRecords(lane, slot, end, cursor);
    this.#lost[lane].set(slot, sentence);
    this.#deps.onProblem?.(sentence);
  }
}
