import type { IncomingMessage } from 'node:http';
import { ApiError } from '../contract/errors.ts';
import { unavailable } from './project-key.ts';

/** Counts the bytes of all bodies being received or processed, so that many large bodies cannot exhaust the memory. */
export interface BodyBudget {
  bytes: number;
  readonly bytesMax: number;
  /** Resolves when everything received until now has been parsed. */
  readonly parsed: () => Promise<void>;
}

export function createBodyBudget(bytesMax: number): BodyBudget {
  // Shared by all bodies of one turn of the event loop.
  let turn: Promise<void> | undefined;
  const end = (resolve: () => void): void => {
    turn = undefined;
    resolve();
  };
  return { bytes: 0, bytesMax, parsed: () => (turn ??= new Promise((resolve) => setImmediate(end, resolve))) };
}

export interface ReadLimits {
  readonly bytesMax: number;
  /** For the whole body. Half of it without a byte also ends the request. */
  readonly timeoutMs: number;
  /** Returns why a large body is refused by its size and first bytes, before any of it is kept. */
  readonly refusalOf?: (start: Buffer, declaredBytes: number) => ApiError | undefined;
}

/** Each piece costs a turn of the event loop, however small it is. Packets hold a kilobyte; chunks of a few bytes are an attack. */
const piecesMin = 1024;
const pieceBytesMin = 512;

const closing = { connection: 'close' } as const;

/**
 * Reads the body as it arrives on the wire, and takes its bytes from the budget; the caller gives `result.length` back.
 * Throws ApiError: 413 over the limit (a body up to twice the limit is still read to its end, so that the connection
 * stays usable and the client sees the response), 408 if it stalls or takes too long, 503 if the budget is exhausted,
 * 400 if the client disconnects or sends the body in tiny pieces.
 */
export async function readBody(raw: IncomingMessage, limits: ReadLimits, budget: BodyBudget): Promise<Buffer> {
  const declared = Number(raw.headers['content-length'] ?? 0);
  if (declared > 2 * limits.bytesMax) throw tooLarge(limits, closing);
  // A small body arrives with its headers: once Node has parsed what was received, it is complete without timers and listeners.
  await budget.parsed();
  if (raw.complete && !raw.destroyed) return takeWhole(raw, limits, budget);
  if (raw.destroyed) throw disconnected();
  return collect(raw, limits, budget);
}

function disconnected(): ApiError {
  return new ApiError('parse_error', 'The client disconnected before the body was complete.');
}

function takeWhole(raw: IncomingMessage, limits: ReadLimits, budget: BodyBudget): Buffer {
  const body = (raw.read() as Buffer | null) ?? Buffer.alloc(0);
  if (body.length > limits.bytesMax) throw tooLarge(limits, body.length > 2 * limits.bytesMax ? closing : {});
  if (budget.bytes + body.length > budget.bytesMax) throw noRoom();
  budget.bytes += body.length;
  return body;
}

function collect(raw: IncomingMessage, limits: ReadLimits, budget: BodyBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = Number(raw.headers['content-length'] ?? 0);
    const chunks = collector(declared, limits.bytesMax);
    let received = 0;
    let pieces = 0;
    let taken = 0;
    let refusal: ApiError | undefined;
    const total = setTimeout(() => finish(timedOut(limits.timeoutMs)), limits.timeoutMs);
    const stall = setTimeout(() => finish(timedOut(limits.timeoutMs / 2)), limits.timeoutMs / 2);

    const refuse = (error: ApiError): void => {
      refusal ??= error;
      chunks.clear();
      budget.bytes -= taken;
      taken = 0;
    };
    const onData = (chunk: Buffer): void => {
      stall.refresh();
      received += chunk.length;
      pieces++;
      if (pieces > piecesMin + received / pieceBytesMin) return finish(inPieces());
      if (received > 2 * limits.bytesMax) return finish(tooLarge(limits, closing));
      if (refusal !== undefined) return undefined;
      if (Math.max(received, declared) > limits.bytesMax) return refuse(tooLarge(limits, {}));
      const early = pieces === 1 ? limits.refusalOf?.(chunk, declared) : undefined;
      if (early !== undefined) return refuse(early);
      if (budget.bytes + chunk.length > budget.bytesMax) {
        return refuse(noRoom());
      }
      taken += chunk.length;
      budget.bytes += chunk.length;
      chunks.add(chunk);
      return undefined;
    };
    const onEnd = (): void => finish(refusal);
    const onClose = (): void => finish(disconnected());
    const finish = (error: ApiError | undefined): void => {
      clearTimeout(total);
      clearTimeout(stall);
      raw.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // A later error of the socket has no handler.
      raw.on('error', () => {});
      if (error === undefined) {
        return resolve(chunks.whole());
      }
      refuse(error);
      // The rest is not read if the connection closes anyway.
      if (error.headers['connection'] === 'close') raw.pause();
      return reject(error);
    };
    raw.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

interface Collector {
  add(chunk: Buffer): void;
  whole(): Buffer;
  clear(): void;
}

/** Collects chunks. With a declared length it copies each to its place while it is in the processor's cache. */
function collector(declared: number, bytesMax: number): Collector {
  if (!(declared > 0 && declared <= bytesMax)) return listCollector();
  let whole: Buffer | undefined;
  let at = 0;
  return {
    add: (chunk) => {
      if (at === 0 && chunk.length === declared) whole = chunk;
      else chunk.copy((whole ??= Buffer.allocUnsafeSlow(declared)), at);
      at += chunk.length;
    },
    whole: () => whole?.subarray(0, at) ?? Buffer.alloc(0),
    clear: () => {
      whole = undefined;
      at = 0;
    },
  };
}

function listCollector(): Collector {
  const chunks: Buffer[] = [];
  return {
    add: (chunk) => void chunks.push(chunk),
    whole: () => (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    clear: () => void chunks.splice(0),
  };
}

/** Creates the 503 error for a request that needs more memory than the budget has left. */
export function noRoom(): ApiError {
  return unavailable('Too many request bodies are being received; try again.', 2);
}

function tooLarge(limits: ReadLimits, headers: Readonly<Record<string, string>>): ApiError {
  const detail = `maximum event size exceeded: Request body exceeds limit of ${limits.bytesMax} bytes; send smaller batches`;
  return new ApiError('request_too_large', detail, { headers });
}

function inPieces(): ApiError {
  const detail = `expected a body in pieces of ${pieceBytesMin} bytes or more, got: smaller ones; send larger chunks`;
  return new ApiError('parse_error', detail, { headers: closing });
}

function timedOut(ms: number): ApiError {
  const detail = `expected the whole body within ${ms} ms, got: a part of it; send it again`;
  return new ApiError('request_timeout', detail, { headers: closing });
}
