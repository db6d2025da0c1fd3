/**
 * Capture unpacks and scans a body to answer its sender, and the pipeline would repeat both a moment later. If both are threads
 * of one process, the scan is passed on in memory. The log stays the source of truth: what is not passed on, or arrives too
 * late, is read from it.
 */
import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { isMovable } from '../../base/free-memory.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';

/** Smaller bodies are unpacked and scanned sooner than handed on. */
const jsonBytesMin = 16 * 1024;
/** Of JSON and spans that are on their way, or wait for the pipeline: when it is behind by more, the log has to do. */
const bytesMax = 128 * 1024 * 1024;

/** What the thread of the pipeline is given at its start; the port moves there. */
export interface ScanLink {
  readonly port: MessagePort;
  readonly counts: SharedArrayBuffer;
}

/** In `counts`. Both wrap around, so that only differences mean something. */
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

  /** For a thread that starts: what is on its way to the one before is lost with that. */
  connect(): ScanLink {
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    const counts = new SharedArrayBuffer(countCells * Int32Array.BYTES_PER_ELEMENT);
    this.#port = port1;
    this.#counts = new Int32Array(counts);
    this.#sentBytes = 0;
    return { port: port2, counts };
  }

  /** Hands on the scan of a record of the log, or leaves it as it is. When it is handed on, `json` and `spans` are empty afterwards. */
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
  /** Of the last scan that was received. */
  readonly #last: Record<Lane, number> = { live: 0, historical: 0 };
  readonly #waiting: Record<Lane, Map<number, ScannedBatch>> = { live: new Map(), historical: new Map() };

  constructor({ port, counts }: ScanLink) {
    this.#port = port;
    this.#counts = new Int32Array(counts);
  }

  /** The scan of this record, once, if it was handed on. Records come in order: those before it are not asked for any more. */
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
   * Receives no further, since the collector counts received scans as memory of this thread and would run again and again. The
   * counter is checked first, which is cheaper than calling the port.
   */
  #receiveUpTo(lane: Lane, seq: number): void {
    const sent = Atomics.load(this.#counts, count.sent);
    while (this.#last[lane] < seq && this.#received !== sent) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: Message } | undefined;
      if (received === undefined) return;
      this.#received = (this.#received + 1) | 0;
      const { message } = received;
      const { buffer, byteOffset, byteLength } = message.scan.json;
      // On the way it has become a plain Uint8Array.
      const scan = { ...message.scan, json: Buffer.from(buffer, byteOffset, byteLength) };
      this.#waiting[message.lane].set(message.seq, scan);
      this.#last[message.lane] = message.seq;
    }
  }
}

function bytesOf({ json, spans }: ScannedBatch): number {
  return json.buffer.byteLength + spans.buffer.byteLength;
}
