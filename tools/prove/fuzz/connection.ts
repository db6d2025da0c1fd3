import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAnswerReader, type Answer } from './answers.ts';
import type { FuzzRequest } from './request.ts';

/** What came of one request. */
export interface Exchange {
  readonly request: FuzzRequest;
  readonly number: number;
  /** Undefined: none, because the client did not wait for one, or `problem` says why. */
  readonly answer: Answer | undefined;
  readonly ms: number;
  readonly problem?: string;
}

export interface Numbered {
  readonly number: number;
  readonly request: FuzzRequest;
}

export interface Sender {
  /** Requests with a clear end, written at once; answers come in their order. */
  sendAll(requests: readonly Numbered[]): Promise<Exchange[]>;
  close(): void;
}

class ClosedError extends Error {
  override name = 'ClosedError';
}

/** One connection after the other; each is kept as long as the service keeps it. @param limitMs for one answer */
export function createSender(port: number, limitMs: number): Sender {
  let line: Line | undefined;
  const sendAll = async (requests: readonly Numbered[]): Promise<Exchange[]> => {
    const done: Exchange[] = [];
    while (done.length < requests.length) {
      const isFresh = line === undefined;
      line ??= await openLine(port, limitMs);
      const left = requests.slice(done.length);
      const before = done.length;
      const ended = await exchange(line, left, done);
      if (ended === undefined) continue;
      line.destroy();
      line = undefined;
      // A connection that was kept may end before a request reaches it; a new one has to answer.
      const first = left[0];
      if (done.length === before && isFresh && first !== undefined)
        done.push({ ...first, answer: undefined, ms: 0, problem: ended });
    }
    return done;
  };
  return { sendAll, close: () => line?.destroy() };
}

/** Writes all and adds what is answered to `done`. Says why the connection is of no more use; undefined: it is. */
async function exchange(line: Line, requests: readonly Numbered[], done: Exchange[]): Promise<string | undefined> {
  const started = performance.now();
  line.write(Buffer.concat(requests.map(({ request }) => request.bytes)));
  for (const each of requests) {
    try {
      const answer = await line.answer(each.request.method);
      done.push({ ...each, answer, ms: performance.now() - started });
      if (answer.isLast) return 'closed by the service';
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
      return error.message;
    }
  }
  return undefined;
}

interface Line {
  write(bytes: Buffer): void;
  answer(method: string): Promise<Answer>;
  destroy(): void;
}

async function openLine(port: number, limitMs: number): Promise<Line> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const reader = createAnswerReader();
  let ended: string | undefined;
  let wake = (): void => {};
  socket.on('data', (bytes: Buffer) => {
    reader.push(bytes);
    wake();
  });
  socket.on('error', (error) => {
    ended ??= `the connection broke: ${error.message}`;
    wake();
  });
  socket.on('close', () => {
    ended ??= 'the connection was closed without an answer';
    wake();
  });
  await once(socket, 'connect');
  const answer = async (method: string): Promise<Answer> => {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const found = reader.next(method);
      if (found !== undefined) return found;
      if (ended !== undefined) throw new ClosedError(ended);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new ClosedError(`no answer within ${limitMs} ms`);
      await woken(leftMs, (then) => (wake = then));
    }
  };
  return { write: (bytes) => void socket.write(bytes), answer, destroy: () => socket.destroy() };
}

function woken(limitMs: number, wakeBy: (then: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    wakeBy(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Sends a request without a clear end on a separate connection, which the service must close. */
export async function sendAlone(port: number, { number, request }: Numbered, limitMs: number): Promise<Exchange> {
  const started = performance.now();
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
  const reader = createAnswerReader();
  // A connection that the service breaks off has ended, too.
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => reader.push(bytes));
  const closed = untilOver(socket, limitMs);
  if (request.ending === 'closed') socket.end(request.bytes);
  else socket.write(request.bytes);
  if (request.ending === 'gone') {
    await delay(number % 5);
    socket.destroy();
  }
  const isOver = await closed;
  socket.destroy();
  const ms = performance.now() - started;
  if (!isOver) return { number, request, answer: undefined, ms, problem: `not closed within ${limitMs} ms` };
  return { number, request, answer: reader.next(request.method), ms };
}

/** False: it was still open after `limitMs`. */
function untilOver(socket: Socket, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), limitMs);
    const over = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    socket.once('close', over);
    socket.once('end', over);
  });
}
