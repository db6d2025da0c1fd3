import type { Ops } from '../ops/index.ts';
import type { FromChild, Program, WireCause } from '../wire/messages.ts';
import { isAnsweredAtOnce } from '../wire/quick-ops.ts';
import { EntryTimeoutError, type GuestIsolate, type IsolateMaker } from './isolate.ts';
import type { Telemetry } from './telemetry.ts';
import { decodeNode, encodeNode, errorText } from '../wire/node-bridge.ts';

/** One run of code in the isolate for a request; see the commands in ../guest/main.ts. */
export interface Entry {
  readonly command: EntryCommand;
  readonly request: number;
  readonly limitMs: number;
  readonly args: readonly (string | number)[];
}

export type EntryCommand =
  /** For requests with one result. */
  | 'load'
  | 'setup'
  | 'call'
  | 'teardown'
  /** For requests with events. */
  | 'events'
  | 'refuse'
  | 'next'
  | 'solo'
  | 'fail'
  | 'fail-rest'
  /** For both. */
  | 'settle'
  | 'expire'
  | 'stuck';

export type EntryOutcome =
  /** `more` applies to the command `next`. */
  | { readonly kind: 'done'; readonly more: boolean }
  /** The guest refuses invalid commands. */
  | { readonly kind: 'refused'; readonly message: string }
  | EntryTimeout;

/** The entry exceeded its limit and was interrupted in an event of a request; index -1 means in none. `stalled`: the machine was busy. */
export interface EntryTimeout {
  readonly kind: 'timeout';
  readonly request: number;
  readonly index: number;
  readonly stalled: boolean;
}

/** Results of a request with events, as results-text. */
interface GuestResults {
  readonly request: number;
  readonly last: boolean;
  readonly text: string;
}

/** The end of any other request. */
interface GuestEnd {
  readonly request: number;
  readonly ok: boolean;
  readonly json: string;
}

interface BridgeDeps {
  readonly instance: number;
  readonly facts: Pick<Program, 'pluginName' | 'label' | 'callCharsMax'>;
  readonly memoryBytesMax: number;
  readonly createIsolate: IsolateMaker;
  readonly createOps: (toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;
  readonly send: (message: FromChild, body?: string) => void;
  /** Announces the entry about to run and its limit; 0 means that nothing runs. */
  readonly setDeadline: (limitMs: number) => void;
  readonly telemetry: Telemetry;
  /** Delivers the result of a call, to be passed in with `settle`. */
  readonly onAnswer: (request: number, settle: readonly (string | number)[]) => void;
}

interface QueuedCall {
  readonly call: number;
  readonly op: string;
  readonly text: string;
  readonly request: number;
  readonly index: number;
  readonly nth: number;
}

const textLengthMax = 64 * 1024 * 1024;
const argumentsLengthMax = 32 * 1024 * 1024;
const openCallsMax = 1000;
const housekeepingMs = 1000;
/** Commands that begin a run. Code that continues an earlier run counts for the last one. */
const beginnings: ReadonlySet<EntryCommand> = new Set(['setup', 'call', 'events', 'solo']);

/** The process's side of the bridge to a plugin's isolate: runs entries one after the other, and the calls that the plugin makes. */
export class Bridge {
  readonly #deps: BridgeDeps;
  readonly #isolate: GuestIsolate;
  readonly #ops: Ops;
  readonly #hostCalls: HostCalls;
  #queued: QueuedCall[] = [];
  #results: GuestResults[] = [];
  #ends: GuestEnd[] = [];
  /** Pending calls. */
  #openCalls = 0;
  /** Characters passed by the calls of this run. */
  #callChars = 0;
  /** Requests that in the last entry only made calls that the service answers immediately. */
  readonly #quick = new Set<number>();
  /** The cause of the call being dispatched. */
  #cause: WireCause | null = null;
  /** The request of the current entry. */
  #request = 0;
  #closed = false;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    const { facts, memoryBytesMax } = deps;
    this.#hostCalls = new HostCalls(deps.instance, deps.send);
    this.#ops = deps.createOps((op, args) => this.#hostCalls.ask(op, args, this.#cause));
    this.#isolate = deps.createIsolate({
      facts,
      memoryBytesMax,
      fromGuest: (kind, rest) => this.#fromGuest(kind, rest),
      onRejection: (reason) => this.#logRejection(reason),
    });
  }

  /** Whether pending work could move a request on. */
  get isWaiting(): boolean {
    return this.#openCalls > 0;
  }

  /** @throws DisposedError; EntryTimeoutError when even the clean-up does not return in time */
  enter({ command, request, limitMs, args }: Entry): EntryOutcome {
    this.#request = request;
    if (beginnings.has(command)) this.#callChars = 0;
    this.#deps.setDeadline(limitMs);
    try {
      const value = this.#isolate.enter(limitMs, command, ...args);
      if (typeof value === 'string' && value.startsWith('!')) return { kind: 'refused', message: value.slice(1, 500) };
      return { kind: 'done', more: value === 1 };
    } catch (error) {
      if (!(error instanceof EntryTimeoutError)) throw error;
      return { kind: 'timeout', ...this.#whatTimedOut(), stalled: error.stalled };
    } finally {
      this.#deps.setDeadline(0);
      this.#dispatch();
    }
  }

  /** Receives the service's answer to a call. */
  answer(call: number, ok: boolean, text: string): void {
    if (!this.#closed) this.#hostCalls.answer(call, ok, text);
  }

  /** Whether the request is only waiting for calls that will be answered immediately. */
  isAboutToGoOn(request: number): boolean {
    return this.#quick.has(request);
  }

  takeResults(): readonly GuestResults[] {
    return this.#results.length === 0 ? [] : this.#results.splice(0);
  }

  takeEnds(): readonly GuestEnd[] {
    return this.#ends.length === 0 ? [] : this.#ends.splice(0);
  }

  close(): void {
    this.#closed = true;
    this.#ops.close();
    this.#isolate.dispose();
  }

  #whatTimedOut(): { request: number; index: number } {
    const turn = this.#isolate.enter(housekeepingMs, 'timed-out', 0);
    const [request = 0, index = -1] = typeof turn === 'string' ? turn.split(':').map(Number) : [];
    // The calls of this entry must not happen twice.
    this.#queued = this.#queued.filter((call) => call.request !== request || call.index !== index);
    return { request, index };
  }

  #logRejection(reason: unknown): void {
    const advice = 'a rejected promise is not handled; await it, or catch its error';
    this.#deps.telemetry.log('PLUGIN', 'ERROR', `${describeReason(reason)} (${advice})`, this.#request, -1);
  }

  #fromGuest(kind: unknown, rest: readonly unknown[]): string | undefined {
    const [first, second, third] = rest;
    if (kind === 's') return callSyncOp(this.#ops, first, second);
    if (kind === 'c') return this.#queue(rest);
    if (kind === 'l') this.#deps.telemetry.log('CONSOLE', first, second, third, rest[3]);
    if (kind === 'm') this.#deps.telemetry.metric(first, second, third);
    if (kind === 'r' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#results.push({ request: Number(first), last: second === 1, text: third });
    }
    if (kind === 'd' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#ends.push({ request: Number(first), ok: second === 1, json: third });
    }
    return undefined;
  }

  /** Calls are counted here and not in the guest, where the plugin could change the count. Returns why a call is refused. */
  #queue(rest: readonly unknown[]): string | undefined {
    const [call, op, text, request, index, nth] = rest;
    if (typeof op !== 'string' || typeof text !== 'string' || text.length > argumentsLengthMax) {
      throw new TypeError('expected a call of bounded length');
    }
    if (this.#openCalls + this.#queued.length >= openCallsMax) {
      return refusal(
        `expected at most ${openCallsMax} concurrent calls, got one more (${op.slice(0, 50)}); wait for some of them`,
      );
    }
    const { callCharsMax = Number.POSITIVE_INFINITY } = this.#deps.facts;
    if (this.#callChars + text.length > callCharsMax) {
      return refusal(
        `expected calls to pass at most ${callCharsMax} characters in a test, got more; store or send less`,
      );
    }
    this.#callChars += text.length;
    this.#queued.push({
      call: Number(call),
      op,
      text,
      request: Number(request),
      index: Number(index),
      nth: Number(nth),
    });
    return undefined;
  }

  /** Dispatches the calls made in an entry. */
  #dispatch(): void {
    this.#quick.clear();
    if (this.#queued.length === 0 || this.#closed) return;
    const slow = new Set<number>();
    for (const { call, op, text, request, index, nth } of this.#queued.splice(0)) {
      this.#openCalls++;
      if (isAnsweredAtOnce(op)) this.#quick.add(request);
      else slow.add(request);
      this.#cause = index >= 0 ? { id: request, index, nth } : null;
      void callAsyncOp(this.#ops, op, text).then((answer) => this.#answered(request, call, answer));
    }
    for (const request of slow) this.#quick.delete(request);
    this.#cause = null;
  }

  #answered(request: number, call: number, { ok, text }: OpAnswer): void {
    this.#openCalls--;
    if (!this.#closed) this.#deps.onAnswer(request, [call, text, ok ? '1' : '0']);
  }
}

function refusal(message: string): string {
  return `e${JSON.stringify({ name: 'Error', message })}`;
}

/** Describes a rejection, which left the isolate as a copy: an Error or a primitive value. */
function describeReason(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  return reason.message.startsWith(notAnError) ? 'an object that is not an Error' : `${reason.name}: ${reason.message}`;
}

/** What isolated-vm throws in place of any other object. */
const notAnError = 'An object was thrown from supplied code within isolated-vm';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The calls of one instance to the service. */
class HostCalls {
  readonly #instance: number;
  readonly #send: (message: FromChild, body?: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(instance: number, send: (message: FromChild, body?: string) => void) {
    this.#instance = instance;
    this.#send = send;
  }

  ask(op: string, args: readonly unknown[], cause: WireCause | null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = ++this.#last;
      this.#send({ kind: 'op', instance: this.#instance, call, op, cause }, encodeNode(args));
      this.#waiting.set(call, { resolve, reject });
    });
  }

  answer(call: number, ok: boolean, text: string): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (ok) waiting?.resolve(decodeNode(text));
    else waiting?.reject(Object.assign(new Error(), JSON.parse(text)));
  }
}

/** Runs the ops of one instance and converts to and from the text that crosses the bridge. */

/** Never throws: errors are returned as text too. */
function callSyncOp(ops: Ops, op: unknown, text: unknown): string {
  try {
    const handler = typeof op === 'string' && Object.hasOwn(ops.sync, op) ? ops.sync[op] : undefined;
    if (!handler) throw new TypeError('expected a known call');
    return encodeNode(handler(readArguments(text)));
  } catch (error) {
    return `e${errorText(error)}`;
  }
}

interface OpAnswer {
  readonly ok: boolean;
  /** bridge-json, or JSON of an error. */
  readonly text: string;
}

/** Never rejects. The handler is called before this returns. */
async function callAsyncOp(ops: Ops, op: string, text: string): Promise<OpAnswer> {
  try {
    const handler = Object.hasOwn(ops.async, op) ? ops.async[op] : undefined;
    if (!handler) throw new TypeError('expected a known call');
    return { ok: true, text: encodeNode(await handler(readArguments(text))) };
  } catch (error) {
    return { ok: false, text: errorText(error) };
  }
}

function readArguments(text: unknown): readonly unknown[] {
  const args = typeof text === 'string' ? decodeNode(text) : undefined;
  if (!Array.isArray(args)) throw new TypeError('expected a list of arguments');
  return args as unknown[];
}
