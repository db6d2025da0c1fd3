import { createParser } from 'eventsource-parser';
import { ApiError, isSignedOut, isTransient } from './api-error.ts';
import { send, type Query } from './request.ts';

export interface StreamMessage {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

export interface StreamOptions {
  readonly query?: Query;
  readonly signal: AbortSignal;
  readonly onMessage: (message: StreamMessage) => void;
  /** `reason`: what the service refused it with for now; absent when the connection broke. */
  readonly onState?: (state: StreamState, reason?: ApiError) => void;
  /** Resolves when somebody has signed in after the session ended. */
  readonly untilSignedIn: (signal: AbortSignal) => Promise<void>;
}

export type StreamState = 'connecting' | 'open' | 'waiting';

const delayMaxMs = 10_000;
/** The service sends at least a heartbeat every 15 s; a connection that is silent for longer is broken unnoticed. */
const silenceMsMax = 40_000;

/**
 * Reads a stream of server-sent events until the signal ends it; after a break it waits and connects again, telling the server
 * the last id it saw. A session that ends is waited for, too: until somebody signs in nothing is asked.
 * @throws ApiError for what waiting does not cure
 */
export async function readStream(path: string, options: StreamOptions): Promise<void> {
  const { signal, onState, untilSignedIn } = options;
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
      // A connection that breaks in the middle is no ApiError.
      if (error instanceof ApiError && !isTransient(error) && !isSignedOut(error)) throw error;
      if (error instanceof ApiError && error.status !== 0) reason = error;
    }
    if (signal.aborted) return;
    onState?.('waiting', reason);
    if (isSignedOut(reason)) await untilSignedIn(signal);
    await pause(Math.min(500 * 2 ** failures, delayMaxMs), signal);
    failures += 1;
  }
}

async function readOnce(
  path: string,
  { query, signal, onMessage, onState }: StreamOptions,
  lastId: string | undefined,
  seen: (message: StreamMessage) => void,
): Promise<void> {
  const headers = { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const response = await send(path, { query: query ?? {}, signal, headers });
  onState?.('open');
  const parser = createParser({
    onEvent: ({ event = 'message', data, id }) => {
      const message = { event, data, id };
      seen(message);
      onMessage(message);
    },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  for (let piece = await readSoon(reader); !piece.done; piece = await readSoon(reader)) parser.feed(piece.value);
}

/** @throws Error when nothing comes for too long: then the connection is given up. */
async function readSoon(reader: ReadableStreamDefaultReader<string>): Promise<ReadableStreamReadResult<string>> {
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
