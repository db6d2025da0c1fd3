import { mkdirSync } from 'node:fs';
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads';
import { throughputThreadLimits } from '../../base/thread-limits.ts';
import { createBacklogQueue, type BacklogQueue } from '../backlog-queue.ts';
import { lanes, LogUnavailableError, type EventLogWriter, type Lane, type LogRecord } from '../eventlog.ts';
import { LogOpenError, type PerLane } from './format.ts';
import { RowPacker } from './packed-rows.ts';
import { numbersPerSize, type FromWriterThread, type ToWriterThread, type WriterThreadData } from './protocol.ts';
import { createSharedMemory, sharedPositions } from './shared-positions.ts';

export interface SqliteLogOptions {
  /** The consumer's cursor per lane, from the metadata store; 0 at first. */
  readonly committed: PerLane<number>;
  /** A file of the log that uses more bytes is closed and a new one started. Default 256 MiB. */
  readonly segmentBytes?: number;
  /** A drained file above this many bytes is replaced, which frees its space. Default 64 MiB. */
  readonly drainedFileBytes?: number;
  /** Body bytes that may be in flight to the disk; beyond them `append` rejects. Default 256 MiB. */
  readonly inFlightBytesMax?: number;
  /** Receives messages for the operator: damage, space that cannot be freed, the end of the writer thread. */
  readonly onProblem?: (sentence: string) => void;
}

export interface SqliteLogWriter extends EventLogWriter {
  forgetStored(signal: AbortSignal): Promise<void>;
  /**
   * Takes ownership of the body: its memory is transferred to the writer thread if possible, which leaves the caller's view empty.
   * The only slot is 0, the default.
   */
  append(lane: Lane, record: LogRecord, slot?: number): Promise<number>;
  /** For openSqliteLogReader, in any thread. */
  readonly shared: SharedArrayBuffer;
}

interface Pending {
  readonly projectId: number;
  readonly events: number;
  readonly bytes: number;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: LogUnavailableError) => void;
}

const mebibyte = 1024 * 1024;

/** Opens the log in `dir` for writing and creates it if absent. One process at a time. Rejects with LogOpenError. */
export async function openSqliteLogWriter(dir: string, options: SqliteLogOptions): Promise<SqliteLogWriter> {
  mkdirSync(dir, { recursive: true });
  const { port1, port2 } = new MessageChannel();
  const shared = createSharedMemory();
  const workerData: WriterThreadData = {
    dir,
    port: port2,
    shared,
    committed: options.committed,
    segmentBytes: options.segmentBytes ?? 256 * mebibyte,
    drainedFileBytes: options.drainedFileBytes ?? 64 * mebibyte,
  };
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData,
    transferList: [port2],
    resourceLimits: throughputThreadLimits,
  });
  const writer = new MainThreadWriter(port1, worker, shared, options);
  await writer.opened;
  return writer;
}

/** The main thread's side: queues, promises and sums, but no files. */
class MainThreadWriter implements SqliteLogWriter {
  readonly slots = 1;
  readonly shared: SharedArrayBuffer;
  readonly opened: Promise<void>;
  readonly #port: MessagePort;
  readonly #positions;
  readonly #inFlightBytesMax: number;
  readonly #onProblem: (sentence: string) => void;
  readonly #backlogs: PerLane<BacklogQueue> = { live: createBacklogQueue(), historical: createBacklogQueue() };
  /** Unanswered appends, sent or not, oldest first. */
  readonly #pending: PerLane<Pending[]> = { live: [], historical: [] };
  readonly #unsent: PerLane<RowPacker> = { live: new RowPacker(), historical: new RowPacker() };
  /** Rows sent to the thread that it has not answered. */
  readonly #sent: Record<Lane, number> = { live: 0, historical: 0 };
  readonly #ended: Promise<void>;
  readonly #opened: { resolve: () => void; reject: (error: Error) => void };
  /** Requests to remove files that are not answered. */
  readonly #forgetting = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>();
  #lastForgetId = 0;
  #inFlightBytes = 0;
  #sendScheduled = false;
  /** Why appends are refused; undefined: they are not. */
  #endedBecause: string | undefined;

  constructor(port: MessagePort, worker: Worker, shared: SharedArrayBuffer, options: SqliteLogOptions) {
    this.#port = port;
    this.shared = shared;
    this.#positions = sharedPositions(shared);
    this.#inFlightBytesMax = options.inFlightBytesMax ?? 256 * mebibyte;
    this.#onProblem = options.onProblem ?? (() => undefined);
    const opened = Promise.withResolvers<void>();
    this.opened = opened.promise;
    this.#opened = opened;
    port.on('message', (message: FromWriterThread) => this.#receive(message));
    worker.on('error', (error) => this.#end(`the event log's writer thread failed: ${error.message}; restart`));
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    worker.on('exit', () => {
      this.#end("the event log's writer thread ended; restart");
      ended.resolve();
    });
  }

  async append(lane: Lane, record: LogRecord, slot = 0): Promise<number> {
    if (slot !== 0) throw new RangeError(`expected slot 0, the only one of a log in files, got: ${slot}`);
    const bytes = record.body.byteLength;
    if (this.#endedBecause !== undefined) throw new LogUnavailableError(this.#endedBecause);
    if (this.#inFlightBytes > 0 && this.#inFlightBytes + bytes > this.#inFlightBytesMax) {
      const limit = `${this.#inFlightBytesMax} bytes are in flight to the disk`;
      throw new LogUnavailableError(`the disk is too slow: ${limit}; try again later`);
    }
    const { events, projectId } = record.header;
    this.#unsent[lane].add(JSON.stringify(record.header), events, record.body);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#pending[lane].push({ projectId, events, bytes, resolve, reject });
    this.#inFlightBytes += bytes;
    if (this.#sent[lane] === 0) this.#scheduleSend();
    return promise;
  }

  async end(lane: Lane): Promise<number> {
    return this.#positions.appended(lane);
  }

  async forgetStored(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#endedBecause !== undefined) throw new LogUnavailableError(this.#endedBecause);
    const id = ++this.#lastForgetId;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#forgetting.set(id, { resolve, reject });
    const stop = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    this.#post({ kind: 'forget', id }, []);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#forgetting.delete(id);
    }
  }

  backlog(lane: Lane) {
    const queue = this.#backlogs[lane];
    queue.dropThrough(this.#positions.consumed(lane));
    return queue.totals();
  }

  backlogOf(lane: Lane, projectId: number) {
    const queue = this.#backlogs[lane];
    queue.dropThrough(this.#positions.consumed(lane));
    return queue.totalsOf(projectId);
  }

  async close(): Promise<void> {
    if (this.#endedBecause === undefined) {
      this.#endedBecause = 'the event log is closed';
      for (const lane of lanes) this.#send(lane);
      this.#post({ kind: 'close' }, []);
    }
    await this.#ended;
    this.#port.close();
  }

  /** Group commit: appends of one turn of the event loop, and those that arrived during a commit, are sent together. */
  #scheduleSend(): void {
    if (this.#sendScheduled) return;
    this.#sendScheduled = true;
    setImmediate(() => {
      this.#sendScheduled = false;
      for (const lane of lanes) if (this.#sent[lane] === 0) this.#send(lane);
    });
  }

  #send(lane: Lane): void {
    if (this.#unsent[lane].count === 0) return;
    this.#sent[lane] += this.#unsent[lane].count;
    const { rows, transfer } = this.#unsent[lane].take();
    this.#post({ kind: 'append', lane, rows }, transfer);
  }

  #post(message: ToWriterThread, transfer: readonly ArrayBuffer[]): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: FromWriterThread): void {
    switch (message.kind) {
      case 'appended':
        return this.#appended(message.lane, message.count, message.firstSeq);
      case 'failed':
        return this.#failed(message.lane, message.count, message.reason);
      case 'waiting':
        return this.#waiting(message.sizes.lane, message.sizes.numbers);
      case 'problem':
        return this.#onProblem(message.sentence);
      case 'forgotten':
        return this.#forgetting.get(message.id)?.resolve();
      case 'ready':
        return this.#opened.resolve();
      case 'refused':
        this.#endedBecause = message.message;
        return this.#opened.reject(new LogOpenError(message.code, message.message));
    }
  }

  #appended(lane: Lane, count: number, firstSeq: number): void {
    this.#answered(lane, count);
    const queue = this.#backlogs[lane];
    queue.dropThrough(this.#positions.consumed(lane));
    let seq = firstSeq;
    for (const { projectId, events, bytes, resolve } of this.#takeAnswered(lane, count)) {
      queue.push({ seq, projectId, events, bytes });
      resolve(seq);
      seq += 1;
    }
  }

  #failed(lane: Lane, count: number, reason: string): void {
    this.#answered(lane, count);
    for (const { reject } of this.#takeAnswered(lane, count)) {
      reject(new LogUnavailableError(`the event log could not be written: ${reason}; nothing was stored, try again`));
    }
  }

  #answered(lane: Lane, count: number): void {
    this.#sent[lane] -= count;
    if (this.#unsent[lane].count > 0) this.#scheduleSend();
  }

  #takeAnswered(lane: Lane, count: number): Pending[] {
    const settled = this.#pending[lane].splice(0, count);
    for (const { bytes } of settled) this.#inFlightBytes -= bytes;
    return settled;
  }

  #waiting(lane: Lane, numbers: Float64Array): void {
    for (let at = 0; at < numbers.length; at += numbersPerSize) {
      const [seq = 0, projectId = 0, events = 0, bytes = 0] = numbers.subarray(at, at + numbersPerSize);
      this.#backlogs[lane].push({ seq, projectId, events, bytes });
    }
  }

  /** Handles the end of the thread. Its last writes may be on disk or not: senders have to retry. */
  #end(why: string): void {
    for (;;) {
      const answer = receiveMessageOnPort(this.#port) as { message: FromWriterThread } | undefined;
      if (answer === undefined) break;
      this.#receive(answer.message);
    }
    if (this.#endedBecause === undefined) this.#onProblem(why);
    this.#endedBecause ??= why;
    this.#opened.reject(new LogOpenError('io', why));
    for (const lane of lanes) {
      for (const { reject } of this.#takeAnswered(lane, Infinity)) reject(new LogUnavailableError(why));
    }
    for (const { reject } of this.#forgetting.values()) reject(new LogUnavailableError(why));
    this.#port.close();
  }
}
