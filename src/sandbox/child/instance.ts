import type { Ops } from '../ops/index.ts';
import { toSandboxError, wireError } from '../wire/errors.ts';
import type { ChildOptions, FromChild, OpenBody, Program, WireCause, WireTarget } from '../wire/messages.ts';
import { CutOffError, createGuestIsolate, DisposedError, type GuestIsolate } from './isolate.ts';
import { NoteBook } from './notes.ts';
import { callAsyncOp, callSyncOp } from './ops-gate.ts';
import { HostCalls } from './host-calls.ts';

export interface InstanceParts {
  readonly instance: number;
  readonly program: Program;
  readonly bundle: string;
  readonly limits: ChildOptions;
  readonly createOps: (toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;
  readonly tell: (message: FromChild, body?: string) => void;
  /** Says on the note what is about to run, and for how long at most; 0: nothing any more. */
  readonly note: (limitMs: number) => void;
  readonly onGone: () => void;
}

interface EventsRequest {
  readonly kind: 'events';
  readonly count: number;
  timer: NodeJS.Timeout | undefined;
  lastGuilty: number;
}

interface QueuedEvents {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  /** Of a call of the service's. */
  readonly isFirst: boolean;
}

interface TaskRequest {
  readonly kind: 'task';
  timer: NodeJS.Timeout | undefined;
  readonly onDone: (ok: boolean, json: string) => void;
}

type Request = EventsRequest | TaskRequest;

interface QueuedCall {
  readonly call: number;
  readonly op: string;
  readonly text: string;
  readonly id: number;
  readonly index: number;
  readonly nth: number;
}

/** What happened in an entry: it came back with a value, or was cut off in an event of a request. */
type Entered =
  | { readonly value: unknown }
  | { readonly cut: { readonly id: number; readonly index: number; readonly stalled: boolean } };

const textLengthMax = 64 * 1024 * 1024;
const argumentsLengthMax = 32 * 1024 * 1024;
const housekeepingMs = 1000;
const teardownMs = 5000;
const guiltyInRowMax = 3;
const batchFactor = 4;
const taskFactor = 8;
/** Rounds of ending what is stuck: far more than there can be events. */
const roundsMax = 10_000;

const stuckMessage =
  'it waits for something that can never come: no request, storage or other call is under way; await what the plugin started';

/** One plugin of one config in its isolate, from the side of the process. Enters it, and answers what it asks. */
export class Instance {
  readonly #parts: InstanceParts;
  readonly #isolate: GuestIsolate;
  readonly #ops: Ops;
  readonly #notes = new NoteBook();
  readonly #requests = new Map<number, Request>();
  #queued: QueuedCall[] = [];
  #results: { readonly id: number; readonly last: boolean; readonly text: string }[] = [];
  #ended: { readonly id: number; readonly ok: boolean; readonly json: string }[] = [];
  /** Calls without an answer yet, by the request that they were made for. */
  readonly #open = new Map<number, number>();
  readonly #hostCalls: HostCalls;
  /** Of the call that is being sent off. */
  #cause: WireCause | null = null;
  readonly #eventsQueue: QueuedEvents[] = [];
  #isServing = false;
  /** Events that ran out of time right before the next one. */
  #guiltyInRow = 0;
  #setUp = false;
  #dead = false;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
    const { program, bundle, limits } = parts;
    this.#hostCalls = new HostCalls(parts.instance, parts.tell);
    this.#ops = parts.createOps((op, args) => this.#hostCalls.ask(op, args, this.#cause));
    this.#isolate = createGuestIsolate(bundle, program, limits.memoryBytesMax, (kind, rest) =>
      this.#fromGuest(kind, rest),
    );
  }

  /** Loads the code only, and tells what it exports. */
  describe(id: number): void {
    this.#load(id, (ok, json) => {
      this.#parts.tell({ kind: 'done', id, ok }, json);
      this.dispose();
    });
  }

  /** Loads the code and runs setupPlugin; tells what it exports. */
  open(id: number, body: OpenBody): void {
    const { limits, tell } = this.#parts;
    const fail = (json: string): void => {
      tell({ kind: 'done', id, ok: false }, json);
      this.dispose();
    };
    this.#load(id, (ok, described) => {
      if (!ok) return fail(described);
      this.#startTask(id, limits.taskMs, (setUp, json) => {
        if (!setUp) return fail(json);
        this.#setUp = true;
        tell({ kind: 'done', id, ok: true }, described);
      });
      this.#run(id, 'setup', JSON.stringify({ config: body.config, attachments: body.attachments }));
    });
  }

  /** Requests for events are served one after the other, so that the plugin sees these in order. */
  events(id: number, text: string, count: number, isFirst: boolean): void {
    this.#eventsQueue.push({ id, text, count, isFirst });
    this.#serveQueue();
  }

  #serveQueue(): void {
    while (!this.#dead && !this.#isServing) {
      const next = this.#eventsQueue.shift();
      if (!next) return;
      this.#serve(next);
    }
  }

  #serve({ id, text, count, isFirst }: QueuedEvents): void {
    const { waitMs } = this.#parts.limits;
    if (isFirst) this.#guiltyInRow = 0;
    const request: EventsRequest = { kind: 'events', count, timer: undefined, lastGuilty: -1 };
    this.#requests.set(id, request);
    this.#isServing = true;
    this.#guard(() => {
      this.#start(id, text, count);
      this.#afterEntry();
    });
    if (this.#dead || !this.#requests.has(id)) return;
    request.timer = setInterval(
      () => this.#expire(id, Date.now() - waitMs, 'time', `it took longer than ${waitMs} ms, waiting included`),
      Math.min(250, waitMs / 2),
    );
  }

  call(id: number, target: WireTarget, text: string, timeoutMs: number): void {
    this.#startTask(id, timeoutMs, (ok, json) => this.#parts.tell({ kind: 'done', id, ok }, json));
    this.#run(id, 'call', text, JSON.stringify(target));
  }

  abort(id: number): void {
    this.#expire(id, Number.MAX_SAFE_INTEGER, 'aborted', 'the service gave it up');
  }

  /** The service's answer to a call. */
  answer(call: number, ok: boolean, text: string): void {
    if (!this.#dead) this.#hostCalls.answer(call, ok, text);
  }

  close(id: number): void {
    const end = (): void => {
      this.#parts.tell({ kind: 'done', id, ok: true }, 'null');
      this.dispose();
    };
    if (!this.#setUp || this.#dead) return end();
    this.#startTask(id, teardownMs, (ok, json) => {
      if (!ok) this.#notes.log('ERROR', `teardownPlugin failed: ${toSandboxError(JSON.parse(json)).message}`, id, -1);
      end();
    });
    this.#run(id, 'teardown');
  }

  /** Whoever still waits for an answer learns that there will be none. */
  dispose(cause: 'memory' | 'time' | 'aborted' = 'aborted'): void {
    if (this.#dead) return;
    this.#tellResults();
    this.#dead = true;
    const isAwaited = cause !== 'aborted' || this.#requests.size + this.#eventsQueue.length > 0;
    if (isAwaited) this.#parts.tell({ kind: 'gone', instance: this.#parts.instance, cause });
    for (const request of this.#requests.values()) clearInterval(request.timer);
    this.#requests.clear();
    this.#tellNotes();
    this.#ops.close();
    this.#isolate.dispose();
    this.#parts.onGone();
  }

  #load(id: number, onDone: (ok: boolean, json: string) => void): void {
    this.#requests.set(id, { kind: 'task', timer: undefined, onDone });
    this.#run(id, 'load', this.#parts.program.code);
  }

  #startTask(id: number, timeoutMs: number, onDone: (ok: boolean, json: string) => void): void {
    const late = (): void =>
      this.#expire(id, Number.MAX_SAFE_INTEGER, 'time', `it took longer than ${timeoutMs} ms, waiting included`);
    this.#requests.set(id, { kind: 'task', timer: setTimeout(late, timeoutMs), onDone });
  }

  #run(id: number, command: string, ...rest: string[]): void {
    this.#guard(() => {
      this.#handleCut(this.#enter(this.#parts.limits.cpuMs * taskFactor, command, id, ...rest));
      this.#afterEntry();
    });
  }

  #expire(id: number, cutoff: number, kind: 'time' | 'aborted', message: string): void {
    if (!this.#requests.has(id)) return;
    this.#guard(() => {
      this.#enter(housekeepingMs, 'expire', id, JSON.stringify({ cutoff, kind, message }));
      this.#afterEntry();
    });
  }

  #settle(call: number, ok: boolean, text: string): void {
    const id = this.#open.get(call);
    if (this.#dead || id === undefined) return;
    this.#open.delete(call);
    const { cpuMs } = this.#parts.limits;
    const limitMs = this.#requests.get(id)?.kind === 'events' ? cpuMs : cpuMs * taskFactor;
    this.#guard(() => {
      this.#handleCut(this.#enter(limitMs, 'settle', call, text, ok ? '1' : '0'));
      this.#afterEntry();
    });
  }

  /** Whatever cannot be mended costs the isolate. */
  #guard(work: () => void): void {
    if (this.#dead) return;
    try {
      work();
      // What waited behind a request that has just ended.
      if (this.#eventsQueue.length > 0) queueMicrotask(() => this.#serveQueue());
    } catch (error) {
      this.dispose(error instanceof DisposedError ? 'memory' : 'time');
    }
  }

  /** @throws DisposedError; CutOffError when not even cleaning up comes back in time. */
  #enter(limitMs: number, command: string, id: number, ...rest: string[]): Entered {
    this.#parts.note(limitMs);
    try {
      return { value: this.#isolate.enter(limitMs, command, id, ...rest) };
    } catch (error) {
      if (error instanceof DisposedError) throw error;
      if (!(error instanceof CutOffError)) return this.#refused(id, command, error);
      return { cut: { ...this.#whoWasCutOff(), stalled: error.stalled } };
    } finally {
      this.#parts.note(0);
      // In this order: the service knows what a call was made for as long as the request is not at its end.
      this.#dispatch();
      this.#tellResults();
    }
  }

  #whoWasCutOff(): { id: number; index: number } {
    const turn = this.#isolate.enter(housekeepingMs, 'cut-off', 0);
    const [id = 0, index = -1] = typeof turn === 'string' ? turn.split(':').map(Number) : [];
    // What it asked for in this entry is not to happen twice.
    this.#queued = this.#queued.filter((call) => call.id !== id || call.index !== index);
    return { id, index };
  }

  /** The guest itself threw, which it does for requests that cannot be. */
  #refused(id: number, command: string, error: unknown): Entered {
    // Its number is a call's. Who waits for that is found to wait for nothing.
    if (command === 'settle') return { value: undefined };
    const message = error instanceof Error ? error.message.slice(0, 500) : 'it could not be run';
    const request = this.#requests.get(id);
    if (request?.kind === 'task') {
      this.#ended.push({ id, ok: false, json: JSON.stringify(wireError('thrown', command, message)) });
    } else if (request) {
      const all = Array.from({ length: request.count }, (_, at) => [
        at,
        3,
        wireError('thrown', 'processEvent', message),
      ]);
      this.#requests.delete(id);
      this.#isServing = false;
      this.#parts.tell({ kind: 'results', id, guiltyInRow: 0 }, `${JSON.stringify(all)}\n`);
    }
    return { value: undefined };
  }

  /** Most requests are at their end after the first entry; of the others some events wait, or one was cut off. */
  #start(id: number, text: string, count: number): void {
    const { cpuMs } = this.#parts.limits;
    const batchMs = cpuMs * Math.min(Math.max(count, 1), batchFactor);
    const isHopeless = this.#guiltyInRow >= guiltyInRowMax;
    let entered = this.#enter(batchMs, isHopeless ? 'refuse' : 'events', id, text, tooManyGuilty);
    let first = 0;
    for (let entries = 0; ; entries++) {
      if (entries > count + guiltyInRowMax) throw new Error('expected fewer starts than events');
      if ('cut' in entered) {
        const { index, stalled } = entered.cut;
        // Those before it, or others on the machine, may have used up the time: once more, alone.
        const alone = index < 0 || (index === first && !stalled);
        this.#handleCut(alone ? entered : this.#enter(cpuMs, 'solo', id, String(index)));
        first = index + 1;
      } else if (entries > 0 && entered.value !== 1) return;
      if (!this.#requests.has(id)) return;
      entered = this.#enter('cut' in entered ? cpuMs : batchMs, 'next', id);
    }
  }

  #handleCut(entered: Entered): void {
    if (!('cut' in entered)) return;
    const { id, index } = entered.cut;
    const request = this.#requests.get(id);
    const { cpuMs } = this.#parts.limits;
    const advice = 'make it do less at a time, or raise MILLRACE_SANDBOX_CPU_MS';
    if (request?.kind === 'events' && index >= 0) {
      this.#guiltyInRow = request.lastGuilty === index - 1 ? this.#guiltyInRow + 1 : 1;
      request.lastGuilty = index;
      this.#enter(
        housekeepingMs,
        'fail',
        id,
        String(index),
        `it computed for more than ${cpuMs} ms on one event; ${advice}`,
      );
      if (this.#guiltyInRow < guiltyInRowMax) return;
      request.lastGuilty = request.count - 1;
      this.#enter(housekeepingMs, 'fail-rest', id, tooManyGuilty);
    } else if (request?.kind === 'task') {
      const message = `it computed for more than ${cpuMs * taskFactor} ms without a pause; ${advice}`;
      if (!this.#setUp && request.timer === undefined) {
        this.#ended.push({ id, ok: false, json: JSON.stringify(wireError('time', 'load', message)) });
      } else {
        const about = JSON.stringify({ cutoff: Number.MAX_SAFE_INTEGER, kind: 'time', message });
        this.#enter(housekeepingMs, 'expire', id, about);
      }
    }
  }

  /** Ends what ended, and what can never end. */
  #afterEntry(): void {
    for (let rounds = 0; ; rounds++) {
      if (rounds > roundsMax) throw new Error('expected the requests to end at some time');
      for (const { id, ok, json } of this.#ended.splice(0)) this.#end(id, ok, json);
      if (this.#dead || this.#open.size > 0 || this.#queued.length > 0 || this.#ended.length > 0) break;
      const [waiting] = this.#requests.keys();
      if (waiting === undefined) break;
      this.#handleCut(this.#enter(housekeepingMs, 'stuck', waiting, stuckMessage));
      if (this.#requests.has(waiting)) this.#handleCut(this.#enter(this.#parts.limits.cpuMs, 'next', waiting));
    }
    if (!this.#dead) this.#tellNotes();
  }

  #end(id: number, ok: boolean, json: string): void {
    const request = this.#requests.get(id);
    if (request?.kind !== 'task') return;
    clearTimeout(request.timer);
    this.#requests.delete(id);
    this.#notes.endOf(id);
    this.#tellNotes();
    request.onDone(ok, json);
  }

  #fromGuest(kind: unknown, rest: readonly unknown[]): string | undefined {
    const [first, second, third] = rest;
    if (kind === 's') return callSyncOp(this.#ops, first, second);
    if (kind === 'l') this.#notes.log(first, second, third, rest[3]);
    if (kind === 'm') this.#notes.metric(first, second, third);
    if (kind === 'c') this.#queue(rest);
    if (kind === 'r' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#results.push({ id: Number(first), last: second === 1, text: third });
    }
    if (kind === 'd' && typeof third === 'string' && third.length <= textLengthMax) {
      this.#ended.push({ id: Number(first), ok: second === 1, json: third });
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

  #tellResults(): void {
    for (const { id, last, text } of this.#results.splice(0)) {
      const request = this.#requests.get(id);
      if (request?.kind !== 'events') continue;
      if (!last) {
        this.#parts.tell({ kind: 'results', id }, text);
        continue;
      }
      clearInterval(request.timer);
      this.#requests.delete(id);
      this.#notes.endOf(id);
      // Whoever gets the last results has seen what was logged on the way.
      this.#tellNotes();
      this.#isServing = false;
      if (request.lastGuilty !== request.count - 1) this.#guiltyInRow = 0;
      this.#parts.tell({ kind: 'results', id, guiltyInRow: this.#guiltyInRow }, text);
    }
  }

  /** Sends off what was asked for in an entry. */
  #dispatch(): void {
    if (this.#queued.length === 0 || this.#dead) return;
    for (const { call, op, text, id, index, nth } of this.#queued.splice(0)) {
      this.#open.set(call, id);
      this.#cause = index >= 0 ? { id, index, nth } : null;
      void callAsyncOp(this.#ops, op, text).then((answer) => this.#settle(call, answer.ok, answer.text));
    }
    this.#cause = null;
  }

  #tellNotes(): void {
    const notes = this.#notes.take();
    if (notes) this.#parts.tell({ kind: 'notes', instance: this.#parts.instance }, JSON.stringify(notes));
  }
}

const tooManyGuilty = `${guiltyInRowMax} events in a row took too long, so the rest of these events was not tried`;
