import type { Ops } from '../ops/index.ts';
import type { FromChild, WireCause } from '../wire/messages.ts';
import { isAnsweredAtOnce } from '../wire/quick-ops.ts';
import { HostCalls } from './host-calls.ts';
import { CutOffError, type GuestIsolate, type IsolateMaker } from './isolate.ts';
import type { NoteBook } from './notes.ts';
import { callAsyncOp, callSyncOp } from './ops-gate.ts';

/** What came of an entry. */
export type Entered =
  /** `more`: of the command `next`. */
  | { readonly kind: 'done'; readonly more: boolean }
  /** The guest does not do what cannot be. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It took too long, and was cut off in an event of a request; index -1: in none. */
  | { readonly kind: 'cut'; readonly id: number; readonly index: number; readonly stalled: boolean };

/** Results of a request for events: results-text. */
export interface ToldResults {
  readonly id: number;
  readonly last: boolean;
  readonly text: string;
}

/** End of any other request. */
export interface ToldEnd {
  readonly id: number;
  readonly ok: boolean;
  readonly json: string;
}

export interface EntranceParts {
  readonly instance: number;
  readonly facts: { readonly pluginName: string; readonly label: string };
  readonly memoryBytesMax: number;
  readonly createIsolate: IsolateMaker;
  readonly createOps: (toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;
  readonly tell: (message: FromChild, body?: string) => void;
  /** Says what is about to run, and for how long at most; 0: nothing any more. */
  readonly note: (limitMs: number) => void;
  readonly notes: NoteBook;
  /** There is an answer to what a request asked for. */
  readonly onAnswer: (answer: CallAnswer) => void;
}

/** To be brought in with `settle`. */
export interface CallAnswer {
  readonly id: number;
  readonly call: number;
  readonly ok: boolean;
  readonly text: string;
}

interface QueuedCall {
  readonly call: number;
  readonly op: string;
  readonly text: string;
  readonly id: number;
  readonly index: number;
  readonly nth: number;
}

const textLengthMax = 64 * 1024 * 1024;
const argumentsLengthMax = 32 * 1024 * 1024;
const housekeepingMs = 1000;

/** The way into a plugin's isolate and out of it: entries one after the other, and what the plugin asks for on the way. */
export class Entrance {
  readonly #parts: EntranceParts;
  readonly #isolate: GuestIsolate;
  readonly #ops: Ops;
  readonly #hostCalls: HostCalls;
  #queued: QueuedCall[] = [];
  #results: ToldResults[] = [];
  #ends: ToldEnd[] = [];
  /** Calls without an answer yet, by the request that they were made for. */
  readonly #open = new Map<number, number>();
  /** Requests that asked in the last entry for what the service answers at once, and for nothing else. */
  readonly #quick = new Set<number>();
  /** Of the call that is being sent off. */
  #cause: WireCause | null = null;
  /** That the current entry is for. */
  #request = 0;
  #closed = false;

  constructor(parts: EntranceParts) {
    this.#parts = parts;
    const { facts, memoryBytesMax } = parts;
    this.#hostCalls = new HostCalls(parts.instance, parts.tell);
    this.#ops = parts.createOps((op, args) => this.#hostCalls.ask(op, args, this.#cause));
    this.#isolate = parts.createIsolate({
      facts,
      memoryBytesMax,
      fromGuest: (kind, rest) => this.#fromGuest(kind, rest),
      onRejection: (reason) => this.#logRejection(reason),
    });
  }

  /** Whether there is something under way that could move a request on. */
  get isWaiting(): boolean {
    return this.#open.size > 0;
  }

  /** @throws DisposedError; CutOffError when not even cleaning up comes back in time. */
  enter(limitMs: number, command: string, id: number, ...rest: string[]): Entered {
    return this.#enter(limitMs, id, command, id, ...rest);
  }

  /** Brings an answer in. @throws as enter does. */
  settle(limitMs: number, { id, call, ok, text }: CallAnswer): Entered {
    return this.#enter(limitMs, id, 'settle', call, text, ok ? '1' : '0');
  }

  /** The service's answer to a call. */
  answer(call: number, ok: boolean, text: string): void {
    if (!this.#closed) this.#hostCalls.answer(call, ok, text);
  }

  /** Whether the last entry left only calls for the request that will be answered at once. */
  isAboutToGoOn(id: number): boolean {
    return this.#quick.has(id);
  }

  takeResults(): readonly ToldResults[] {
    return this.#results.length === 0 ? [] : this.#results.splice(0);
  }

  takeEnds(): readonly ToldEnd[] {
    return this.#ends.length === 0 ? [] : this.#ends.splice(0);
  }

  close(): void {
    this.#closed = true;
    this.#ops.close();
    this.#isolate.dispose();
  }

  #enter(limitMs: number, forRequest: number, ...command: (string | number)[]): Entered {
    this.#request = forRequest;
    this.#parts.note(limitMs);
    try {
      const value = this.#isolate.enter(limitMs, ...command);
      if (typeof value === 'string' && value.startsWith('!')) return { kind: 'refused', message: value.slice(1, 500) };
      return { kind: 'done', more: value === 1 };
    } catch (error) {
      if (!(error instanceof CutOffError)) throw error;
      return { kind: 'cut', ...this.#whoWasCutOff(), stalled: error.stalled };
    } finally {
      this.#parts.note(0);
      this.#dispatch();
    }
  }

  #whoWasCutOff(): { id: number; index: number } {
    const turn = this.#isolate.enter(housekeepingMs, 'cut-off', 0);
    const [id = 0, index = -1] = typeof turn === 'string' ? turn.split(':').map(Number) : [];
    // What it asked for in this entry is not to happen twice.
    this.#queued = this.#queued.filter((call) => call.id !== id || call.index !== index);
    return { id, index };
  }

  #logRejection(reason: unknown): void {
    const advice = 'a promise was rejected that nothing waits for; await it, or catch what it is rejected with';
    this.#parts.notes.log('PLUGIN', 'ERROR', `${describeReason(reason)} (${advice})`, this.#request, -1);
  }

  #fromGuest(kind: unknown, rest: readonly unknown[]): string | undefined {
    const [first, second, third] = rest;
    if (kind === 's') return callSyncOp(this.#ops, first, second);
    if (kind === 'l') this.#parts.notes.log('CONSOLE', first, second, third, rest[3]);
    if (kind === 'm') this.#parts.notes.metric(first, second, third);
    if (kind === 'c') this.#queue(rest);
    if (kind === 'r' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#results.push({ id: Number(first), last: second === 1, text: third });
    }
    if (kind === 'd' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#ends.push({ id: Number(first), ok: second === 1, json: third });
    }
    return undefined;
  }

  #queue(rest: readonly unknown[]): void {
    const [call, op, text, id, index, nth] = rest;
    if (typeof op !== 'string' || typeof text !== 'string' || text.length > argumentsLengthMax) {
      throw new TypeError('expected a call of bounded length');
    }
    this.#queued.push({ call: Number(call), op, text, id: Number(id), index: Number(index), nth: Number(nth) });
  }

  /** Sends off what was asked for in an entry. */
  #dispatch(): void {
    this.#quick.clear();
    if (this.#queued.length === 0 || this.#closed) return;
    const slow = new Set<number>();
    for (const { call, op, text, id, index, nth } of this.#queued.splice(0)) {
      this.#open.set(call, id);
      if (isAnsweredAtOnce(op)) this.#quick.add(id);
      else slow.add(id);
      this.#cause = index >= 0 ? { id, index, nth } : null;
      void callAsyncOp(this.#ops, op, text).then((answer) => this.#answered(call, answer));
    }
    for (const id of slow) this.#quick.delete(id);
    this.#cause = null;
  }

  #answered(call: number, answer: { readonly ok: boolean; readonly text: string }): void {
    const id = this.#open.get(call);
    if (this.#closed || id === undefined) return;
    this.#open.delete(call);
    this.#parts.onAnswer({ id, call, ...answer });
  }
}

/** It came out of the isolate as a copy: an Error or a primitive value. */
function describeReason(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  return reason.message.startsWith(notAnError) ? 'an object that is no Error' : `${reason.name}: ${reason.message}`;
}

/** What stands in for anything else. */
const notAnError = 'An object was thrown from supplied code within isolated-vm';
