import type { Ops } from '../ops/index.ts';
import { toSandboxError, wireError } from '../wire/errors.ts';
import type { ChildOptions, FromChild, OpenBody, Program, WireTarget } from '../wire/messages.ts';
import { Entrance, type CallAnswer, type Entered } from './entrance.ts';
import { DisposedError, type IsolateMaker } from './isolate.ts';
import { NoteBook } from './notes.ts';

export interface InstanceParts {
  readonly instance: number;
  readonly program: Program;
  readonly createIsolate: IsolateMaker;
  readonly limits: ChildOptions;
  readonly createOps: (toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;
  readonly tell: (message: FromChild, body?: string) => void;
  /** Says on the note what is about to run, and for how long at most; 0: nothing any more. */
  readonly note: (limitMs: number) => void;
  readonly onGone: () => void;
}

interface EventsRequest {
  readonly kind: 'events';
  readonly id: number;
  readonly count: number;
  timer: NodeJS.Timeout | undefined;
  lastGuilty: number;
  /** The event after the one that was cut off last. */
  first: number;
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
type CutOff = Extract<Entered, { kind: 'cut' }>;

const housekeepingMs = 1000;
const teardownMs = 5000;
const guiltyInRowMax = 3;
const batchFactor = 4;
const taskFactor = 8;
/** Rounds of ending what is stuck: far more than there can be events. */
const roundsMax = 10_000;

const stuckMessage =
  'it waits for something that can never come: no request, storage or other call is under way; await what the plugin started';
const tooManyGuilty = `${guiltyInRowMax} events in a row took too long, so the rest of these events was not tried`;
const advice = 'make it do less at a time, or raise MILLRACE_SANDBOX_CPU_MS';

/** One plugin of one config, from the side of the process: takes requests for it and sees to it that each comes to an end. */
export class Instance {
  readonly #parts: InstanceParts;
  readonly #entrance: Entrance;
  readonly #notes = new NoteBook();
  readonly #requests = new Map<number, Request>();
  readonly #eventsQueue: QueuedEvents[] = [];
  /** Whose events are at work. */
  #serving: EventsRequest | undefined;
  /** Events that ran out of time right before the next one. */
  #guiltyInRow = 0;
  #setUp = false;
  #dead = false;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
    const { instance, program, limits, createIsolate, createOps, tell, note } = parts;
    this.#entrance = new Entrance({
      instance,
      facts: program,
      memoryBytesMax: limits.memoryBytesMax,
      createIsolate,
      createOps,
      tell,
      note,
      notes: this.#notes,
      onAnswer: (answer) => this.#settle(answer),
    });
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

  call(id: number, target: WireTarget, text: string, timeoutMs: number): void {
    this.#startTask(id, timeoutMs, (ok, json) => this.#parts.tell({ kind: 'done', id, ok }, json));
    this.#run(id, 'call', text, JSON.stringify(target));
  }

  abort(id: number): void {
    this.#expire(id, Number.MAX_SAFE_INTEGER, 'aborted', 'the service gave it up');
  }

  /** The service's answer to a call. */
  answer(call: number, ok: boolean, text: string): void {
    this.#entrance.answer(call, ok, text);
  }

  close(id: number): void {
    const end = (): void => {
      this.#parts.tell({ kind: 'done', id, ok: true }, 'null');
      this.dispose();
    };
    if (!this.#setUp || this.#dead) return end();
    this.#startTask(id, teardownMs, (ok, json) => {
      const { message } = ok ? { message: '' } : toSandboxError(JSON.parse(json));
      if (!ok) this.#notes.log('PLUGIN', 'ERROR', `teardownPlugin failed: ${message}`, id, -1);
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
    this.#serving = undefined;
    this.#tellNotes();
    this.#entrance.close();
    this.#parts.onGone();
  }

  #serveQueue(): void {
    while (!this.#dead && !this.#serving) {
      const next = this.#eventsQueue.shift();
      if (!next) return;
      this.#serve(next);
    }
  }

  #serve({ id, text, count, isFirst }: QueuedEvents): void {
    const { waitMs } = this.#parts.limits;
    if (isFirst) this.#guiltyInRow = 0;
    const request: EventsRequest = { kind: 'events', id, count, timer: undefined, lastGuilty: -1, first: 0 };
    this.#requests.set(id, request);
    this.#serving = request;
    this.#guard(() => {
      const command = this.#guiltyInRow >= guiltyInRowMax ? 'refuse' : 'events';
      const entered = this.#enter(this.#batchMs(count), command, id, text, tooManyGuilty);
      if (entered.kind === 'cut') this.#tryAlone(request, entered);
      this.#afterEntry();
    });
    if (this.#dead || !this.#requests.has(id)) return;
    request.timer = setInterval(
      () => this.#expire(id, Date.now() - waitMs, 'time', `it took longer than ${waitMs} ms, waiting included`),
      Math.min(250, waitMs / 2),
    );
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

  #settle(answer: CallAnswer): void {
    const { cpuMs } = this.#parts.limits;
    const limitMs = this.#requests.get(answer.id)?.kind === 'events' ? cpuMs : cpuMs * taskFactor;
    this.#guard(() => {
      const entered = this.#entrance.settle(limitMs, answer);
      this.#tellResults();
      // Refused, it moves nobody on. Who waits for it is found to wait for nothing.
      this.#handleCut(entered);
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
    const entered = this.#entrance.enter(limitMs, command, id, ...rest);
    if (entered.kind === 'refused') this.#refused(id, command, entered.message);
    this.#tellResults();
    return entered;
  }

  #refused(id: number, command: string, message: string): void {
    const request = this.#requests.get(id);
    if (request?.kind === 'task') {
      this.#end(id, false, JSON.stringify(wireError('thrown', command, message)));
    } else if (request) {
      const error = wireError('thrown', 'processEvent', message);
      const all = Array.from({ length: request.count }, (_, at) => [at, 3, error]);
      this.#forget(request);
      this.#parts.tell({ kind: 'results', id, guiltyInRow: 0 }, `${JSON.stringify(all)}\n`);
    }
  }

  #batchMs(count: number): number {
    return this.#parts.limits.cpuMs * Math.min(Math.max(count, 1), batchFactor);
  }

  /**
   * Starts more of the events being served, those that wait each in an entry of its own: while one of them is about to go on, none;
   * the guest knows best. Most requests are at their end after the first entry and never come here.
   */
  #startMore(): void {
    const request = this.#serving;
    if (!request) return;
    let limitMs = this.#batchMs(request.count);
    for (let entries = 0; this.#serving === request; entries++) {
      if (entries > request.count + guiltyInRowMax) throw new Error('expected fewer starts than events');
      if (this.#entrance.isAboutToGoOn(request.id)) return;
      const entered = this.#enter(limitMs, 'next', request.id);
      if (entered.kind === 'cut') {
        this.#tryAlone(request, entered);
        limitMs = this.#parts.limits.cpuMs;
      } else if (entered.kind === 'refused' || !entered.more) return;
    }
  }

  /** An event was cut off where events are started. Those before it, or others on the machine, may have used up the time. */
  #tryAlone(request: EventsRequest, cut: CutOff): void {
    const wasAlone = cut.index < 0 || (cut.index === request.first && !cut.stalled);
    const { cpuMs } = this.#parts.limits;
    this.#handleCut(wasAlone ? cut : this.#enter(cpuMs, 'solo', request.id, String(cut.index)));
    request.first = cut.index + 1;
  }

  #handleCut(entered: Entered): void {
    if (entered.kind !== 'cut') return;
    const { id, index } = entered;
    const request = this.#requests.get(id);
    const { cpuMs } = this.#parts.limits;
    if (request?.kind === 'events' && index >= 0) {
      this.#guiltyInRow = request.lastGuilty === index - 1 ? this.#guiltyInRow + 1 : 1;
      request.lastGuilty = index;
      const message = `it computed for more than ${cpuMs} ms on one event; ${advice}`;
      this.#enter(housekeepingMs, 'fail', id, String(index), message);
      if (this.#guiltyInRow < guiltyInRowMax) return;
      request.lastGuilty = request.count - 1;
      this.#enter(housekeepingMs, 'fail-rest', id, tooManyGuilty);
    } else if (request?.kind === 'task') {
      const message = `it computed for more than ${cpuMs * taskFactor} ms without a pause; ${advice}`;
      if (!this.#setUp && request.timer === undefined) {
        this.#end(id, false, JSON.stringify(wireError('time', 'load', message)));
      } else {
        const about = JSON.stringify({ cutoff: Number.MAX_SAFE_INTEGER, kind: 'time', message });
        this.#enter(housekeepingMs, 'expire', id, about);
      }
    }
  }

  /** Ends what ended, starts what may start, and ends what can never end. */
  #afterEntry(): void {
    for (let rounds = 0; ; rounds++) {
      if (rounds > roundsMax) throw new Error('expected the requests to end at some time');
      this.#tellEnds();
      if (!this.#dead) this.#startMore();
      this.#tellEnds();
      if (this.#dead || this.#entrance.isWaiting) break;
      const [waiting] = this.#requests.keys();
      if (waiting === undefined) break;
      this.#handleCut(this.#enter(housekeepingMs, 'stuck', waiting, stuckMessage));
    }
    if (!this.#dead) this.#tellNotes();
  }

  #tellEnds(): void {
    for (const { id, ok, json } of this.#entrance.takeEnds()) this.#end(id, ok, json);
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

  #tellResults(): void {
    for (const { id, last, text } of this.#entrance.takeResults()) {
      const request = this.#requests.get(id);
      if (request?.kind !== 'events') continue;
      if (!last) {
        this.#parts.tell({ kind: 'results', id }, text);
        continue;
      }
      this.#forget(request);
      // Whoever gets the last results has seen what was logged on the way.
      this.#tellNotes();
      if (request.lastGuilty !== request.count - 1) this.#guiltyInRow = 0;
      this.#parts.tell({ kind: 'results', id, guiltyInRow: this.#guiltyInRow }, text);
    }
  }

  #forget(request: EventsRequest): void {
    clearInterval(request.timer);
    this.#requests.delete(request.id);
    this.#notes.endOf(request.id);
    if (this.#serving === request) this.#serving = undefined;
  }

  #tellNotes(): void {
    const notes = this.#notes.take();
    if (notes) this.#parts.tell({ kind: 'notes', instance: this.#parts.instance }, JSON.stringify(notes));
  }
}
