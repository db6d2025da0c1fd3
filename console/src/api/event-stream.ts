import { createParser } from 'eventsource-parser';
import { ApiError, isSignedOut, isTransient } from './api-error.ts';
import { send, type Query } from './request.ts';

interface StreamMessage {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

interface StreamOptions {
  readonly query?: Query;
  readonly signal: AbortSignal;
  readonly onMessage: (message: StreamMessage) => void;
  /** `reason` is the error the service responded with; absent when the connection broke. */
  readonly onState?: (state: StreamState, reason?: ApiError) => void;
  /** Resolves once the user has signed in again after the session ended. */
  readonly waitForSignIn: (signal: AbortSignal) => Promise<void>;
}

export type StreamState = 'connecting' | 'open' | 'waiting';

const delayMaxMs = 10_000;
/** The service sends a heartbeat at least every 15 s, so a connection that stays silent for longer is broken. */
const silenceMsMax = 40_000;

/**
 * Reads a stream of server-sent events until the signal aborts. After a disconnect it backs off and reconnects with the last id
 * it saw. After the session has ended it sends no request until the user signs in.
 * @throws ApiError for errors that a retry cannot fix
 */
export async function readStream(path: string, options: StreamOptions): Promise<void> {
  const { signal, onState, waitForSignIn } = options;
  let lastId: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    onState?.('connecting');
    let reason: ApiError | undefined;
    try {
      await readOnce(path, options, lastId, (message) => {
        lastId = message.id ?? lastId;
        failures = 0;
      });
    } catch (error) {
      if (signal.aborted) return;
      // A connection that breaks mid-stream throws something other than ApiError.
      if (error instanceof ApiError && !isTransient(error) && !isSignedOut(error)) throw error;
      if (error instanceof ApiError && error.status !== 0) reason = error;
    }
    if (signal.aborted) return;
    onState?.('waiting', reason);
    if (isSignedOut(reason)) await waitForSignIn(signal);
    await pause(Math.min(500 * 2 ** failures, delayMaxMs), signal);
    failures += 1;
  }
}

async function readOnce(
  path: string,
  { query, signal, onMessage, onState }: StreamOptions,
  lastId: string | undefined,
  onReceived: (message: StreamMessage) => void,
): Promise<void> {
  const headers = { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const response = await send(path, { query: query ?? {}, signal, headers });
  onState?.('open');
  const parser = createParser({
    onEvent: ({ event = 'message', data, id }) => {
      const message = { event, data, id };
      onReceived(message);
      onMessage(message);
    },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  for (let piece = await readWithTimeout(reader); !piece.done; piece = await readWithTimeout(reader))
    parser.feed(piece.value);
}

/** @throws Error when the stream stays silent for too long; the connection is then closed. */
async function readWithTimeout(reader: ReadableStreamDefaultReader<string>): Promise<ReadableStreamReadResult<string>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the stream is silent'));
      void reader.cancel().catch(() => undefined);
    }, silenceMsMax);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
