/**
 * Capture unpacks and scans a body to answer its sender, and the pipeline would repeat both a moment later. If both are threads
 * of one process, the scan is passed on in memory. The log remains the source of truth: scans that are not passed on, or too
 * late, are repeated from it.
 */
import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { isMovable } from '../../base/free-memory.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';

/** Smaller bodies are unpacked and scanned faster than passed on. */
const jsonBytesMin = 16 * 1024;
/** Maximum of JSON and spans in transit or waiting. If the pipeline is further behind, it reads from the log. */
const bytesMax = 128 * 1024 * 1024;

/** Passed to the pipeline thread at its start; the port is transferred. */
export interface ScanLink {
  readonly port: MessagePort;
  readonly counts: SharedArrayBuffer;
}

/** Cells of `counts`. Both wrap around, so only differences are meaningful. */
const count = { sent: 0, releasedBytes: 1 } as const;
const countCells = 2;

interface Message {
  readonly lane: Lane;
  readonly seq: number;
  readonly scan: ScannedBatch;
}

/** Capture's end. */
export class ScanSender {
  #port: MessagePort | undefined;
  #counts: Int32Array = new Int32Array(countCells);
  #sentBytes = 0;

  /** Connects a new thread. Scans in transit to the previous one are lost. */
  connect(): ScanLink {
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    const counts = new SharedArrayBuffer(countCells * Int32Array.BYTES_PER_ELEMENT);
    this.#port = port1;
    this.#counts = new Int32Array(counts);
    this.#sentBytes = 0;
    return { port: port2, counts };
  }

  /** Passes on the scan of a log record, which empties its `json` and `spans`, or leaves it unchanged. */
  send(lane: Lane, seq: number, scan: ScannedBatch): void {
    const { json, spans } = scan;
    if (this.#port === undefined || json.length < jsonBytesMin || !isMovable(json) || !isMovable(spans)) return;
    const bytes = bytesOf(scan);
    const waiting = (this.#sentBytes - Atomics.load(this.#counts, count.releasedBytes)) | 0;
    if (waiting + bytes > bytesMax) return;
    this.#sentBytes = (this.#sentBytes + bytes) | 0;
    this.#port.postMessage({ lane, seq, scan } satisfies Message, [json.buffer, spans.buffer]);
    Atomics.add(this.#counts, count.sent, 1);
  }
}

/** The pipeline's end. */
export class ScanReceiver {
  readonly #port: MessagePort;
  readonly #counts: Int32Array;
  #received = 0;
  /** Sequence number of the last scan received. */
  readonly #last: Record<Lane, number> = { live: 0, historical: 0 };
  readonly #waiting: Record<Lane, Map<number, ScannedBatch>> = { live: new Map(), historical: new Map() };

  constructor({ port, counts }: ScanLink) {
    this.#port = port;
    this.#counts = new Int32Array(counts);
  }

  /** Returns the scan of this record once, if it was passed on. Records are taken in order, so earlier scans are dropped. */
  take(lane: Lane, seq: number): ScannedBatch | undefined {
    this.#receiveUpTo(lane, seq);
    const waiting = this.#waiting[lane];
    const found = waiting.get(seq);
    for (const [at, scan] of waiting) {
      if (at > seq) break;
      waiting.delete(at);
      Atomics.add(this.#counts, count.releasedBytes, bytesOf(scan));
    }
    return found;
  }

  /**
   * Receives no further than needed, because the collector counts received scans as memory of this thread and would run
   * repeatedly. The counter is checked first, which is cheaper than calling the port.
   */
  #receiveUpTo(lane: Lane, seq: number): void {
    const sent = Atomics.load(this.#counts, count.sent);
    while (this.#last[lane] < seq && this.#received !== sent) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: Message } | undefined;
      if (received === undefined) return;
      this.#received = (this.#received + 1) | 0;
      const { message } = received;
      const { buffer, byteOffset, byteLength } = message.scan.json;
      // A Buffer arrives as a plain Uint8Array.
      const scan = { ...message.scan, json: Buffer.from(buffer, byteOffset, byteLength) };
      this.#waiting[message.lane].set(message.seq, scan);
      this.#last[message.lane] = message.seq;
    }
  }
}

function bytesOf({ json, spans }: ScannedBatch): number {
  return json.buffer.byteLength + spans.buffer.byteLength;
}
