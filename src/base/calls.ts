/**
 * Calls and answers between threads over a port. Other messages on the port are ignored. Arguments and results are copied by
 * structured clone, which refuses numbers kept digit by digit (exact-json.ts): record values are passed as JSON text.
 */
export interface CallPort {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

interface CallMessage {
  readonly call: { readonly id: number; readonly name: string; readonly args: readonly unknown[] };
}
interface AnswerMessage {
  readonly answer: { readonly id: number; readonly value?: unknown; readonly error?: Fault };
}

/** The part of an error that is sent. */
interface Fault {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
}

/** An error of the other side, with its message, class name and code. */
export class CallError extends Error {
  readonly code: string | undefined;

  constructor({ name, message, code }: Fault) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

export type Call = (name: string, ...args: readonly unknown[]) => Promise<unknown>;

export type Answers = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** Returns the calling side. A call rejects with a CallError. */
export function callOver(port: CallPort): Call {
  const open = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  port.on('message', (message) => {
    if (!isAnswer(message)) return;
    const { id, value, error } = message.answer;
    const call = open.get(id);
    open.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(new CallError(error));
  });
  return (name, ...args) => {
    const call = Promise.withResolvers<unknown>();
    last += 1;
    open.set(last, call);
    const message: CallMessage = { call: { id: last, name, args } };
    try {
      port.postMessage(message);
    } catch (error) {
      open.delete(last);
      call.reject(error);
    }
    return call.promise;
  };
}

/** Answers calls of the other side. */
export function answerOver(port: CallPort, answers: Answers): void {
  port.on('message', async (message) => {
    if (!isCall(message)) return;
    const { id, name, args } = message.call;
    const answer = await answerOf(answers, name, args);
    try {
      port.postMessage({ answer: { id, ...answer } } satisfies AnswerMessage);
    } catch (error) {
      // The value cannot be cloned: this call fails, and the thread continues.
      port.postMessage({ answer: { id, error: faultOf(error) } } satisfies AnswerMessage);
    }
  });
}

async function answerOf(answers: Answers, name: string, args: readonly unknown[]) {
  try {
    const handler = Object.hasOwn(answers, name) ? answers[name] : undefined;
    if (handler === undefined) {
      throw new TypeError(`expected one of the calls ${Object.keys(answers).join(', ')}, got: ${name}`);
    }
    // Both ends are this program; names and arguments are declared together where threads are created.
    return { value: await handler(...(args as never[])) };
  } catch (error) {
    return { error: faultOf(error) };
  }
}

function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { name: error.name, message: error.message, code };
}

function isCall(message: unknown): message is CallMessage {
  return typeof message === 'object' && message !== null && 'call' in message;
}

function isAnswer(message: unknown): message is AnswerMessage {
  return typeof message === 'object' && message !== null && 'answer' in message;
}
