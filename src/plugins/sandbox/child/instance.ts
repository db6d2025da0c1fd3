import { assert } from '../../../base/assert.ts';
import type { Ops } from '../ops/index.ts';
import { toSandboxError, wireError } from '../wire/errors.ts';
import type { ChildOptions, FromChild, OpenBody, Program, WireTarget } from '../wire/messages.ts';
import { Bridge, type Entry, type EntryCommand, type EntryOutcome, type EntryTimeout } from './bridge.ts';
import { DisposedError, type IsolateMaker } from './isolate.ts';
import { Telemetry } from './telemetry.ts';

/**
 * One plugin of one config in the plugin process: runs its requests and ensures that each of them ends.
 *
 * | from       | by             | to         | when                                                        |
 * | ---------- | -------------- | ---------- | ----------------------------------------------------------- |
 * | new        | describe, open | loading    | its code is being evaluated                                 |
 * | loading    | end of load    | setting up | it was opened, and the code was evaluated                   |
 * | loading    | end of load    | gone       | it was only described, or the code could not be evaluated  |
 * | setting up | end of setup   | ready      | setupPlugin succeeded; gone if it failed                   |
 * | ready      | close          | closing    | teardownPlugin runs; gone at its end                        |
 * | any        | dispose        | gone       | memory or time ran out, or it is no longer needed          |
 *
 * A request runs code in the isolate by entries. After each entry the first row that applies decides the next one:
 *
 * | the last entry                                      | next entry                                            |
 * | --------------------------------------------------- | ----------------------------------------------------- |
 * | timed out in an event while others ran in it, too   | `solo`: that event again, with all of the time        |
 * | timed out in an event                               | `fail` it; after three in a row `fail-rest`           |
 * | timed out in another request                        | `expire`: ends that one (a load ends without it)      |
 * | left events of the current request to be started    | `next`: more of them; not while one is about to resume |
 * | left requests without pending work                  | `stuck`: ends the oldest                              |
 * | otherwise                                           | none, until an answer, a timer or a request comes     |
 */
type State = 'new' | 'loading' | 'setting up' | 'ready' | 'closing' | 'gone';

const transitions: Readonly<Record<State, readonly State[]>> = {
  new: ['loading', 'gone'],
  loading: ['setting up', 'gone'],
  'setting up': ['ready', 'gone'],
  ready: ['closing', 'gone'],
  closing: ['gone'],
  gone: [],
};

export interface InstanceDeps {
  readonly instance: number;
  readonly program: Program;
  readonly createIsolate: IsolateMaker;
  readonly limits: ChildOptions;
  readonly createOps: (toHost: (op: string, args: readonly unknown[]) => Promise<unknown>) => Ops;
  readonly send: (message: FromChild, body?: string) => void;
  /** Announces the entry about to run and its limit; 0 means that nothing runs. */
  readonly setDeadline: (limitMs: number) => void;
  readonly onGone: () => void;
}

interface EventsRequest {
  readonly kind: 'events';
  readonly id: number;
  readonly count: number;
  /** Limit of an entry that starts events. */
  limitMs: number;
  /** The last event that exceeded its limit. */
  lastPoison: number;
  /** The event after the last one that timed out. */
  first: number;
  timer: NodeJS.Timeout | undefined;
}

interface QueuedEvents {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  /** Whether these are the first events of a call of the service. */
  readonly isFirst: boolean;
}

/** A request with one result. Loading has no timer because it cannot wait. */
interface TaskRequest {
  readonly kind: 'task';
  readonly timer: NodeJS.Timeout | undefined;
  readonly onEnd: (ok: boolean, json: string) => void;
}

const housekeepingMs = 1000;
const teardownMs = 5000;
const poisonInRowMax = 3;
const batchFactor = 4;
const taskFactor = 8;
/** Consecutive entries: far more than any number of events needs. */
const entriesMax = 10_000;

const stuckMessage =
  'deadlocked: it waits, but no request, storage or other call is pending; await everything that the plugin starts';
const tooManyPoison = `${poisonInRowMax} events in a row exceeded their limit, so the remaining events were not tried`;
const advice = 'make it do less at a time, or raise MILLRACE_SANDBOX_CPU_MS';

export class Instance {
  readonly #deps: InstanceDeps;
  readonly #bridge: Bridge;
  readonly #telemetry = new Telemetry();
  readonly #requests = new Map<number, EventsRequest | TaskRequest>();
  readonly #eventsQueue: QueuedEvents[] = [];
  /** Scheduled entries. */
  readonly #todo: Entry[] = [];
  /** The request whose events are running. */
  #serving: EventsRequest | undefined;
  /** Consecutive events that timed out. */
  #poisonInRow = 0;
  #state: State = 'new';
  #isRunning = false;

  constructor(deps: InstanceDeps) {
    this.#deps = deps;
    const { instance, program, limits, createIsolate, createOps, send, setDeadline } = deps;
    this.#bridge = new Bridge({
      instance,
      facts: program,
      memoryBytesMax: limits.memoryBytesMax,
      createIsolate,
      createOps,
      send,
      setDeadline,
      telemetry: this.#telemetry,
      onAnswer: (request, args) => this.#settle(request, args),
    });
  }

  /** Only loads the code, and sends its exports. */
  describe(id: number): void {
    this.#load(id, (ok, json) => this.#endWith(id, ok, json));
  }

  /** Loads the code, runs setupPlugin and sends the exports. */
  open(id: number, body: OpenBody): void {
    this.#load(id, (ok, json) => (ok ? this.#setUp(id, body, json) : this.#endWith(id, ok, json)));
  }

  /** Requests with events are served one after the other, so that the plugin sees events in order. */
  events(id: number, text: string, count: number, isFirst: boolean): void {
    this.#eventsQueue.push({ id, text, count, isFirst });
    this.#serveQueue();
  }

  call(id: number, target: WireTarget, text: string, timeoutMs: number): void {
    this.#addTask(id, timeoutMs, (ok, json) => this.#deps.send({ kind: 'done', id, ok }, json));
    this.#runTask('call', id, text, JSON.stringify(target));
  }

  abort(id: number): void {
    this.#expire(id, Number.MAX_SAFE_INTEGER, 'aborted', 'the service cancelled it');
  }

  /** Receives the service's answer to a call. */
  answer(call: number, ok: boolean, text: string): void {
    this.#bridge.answer(call, ok, text);
  }

  close(id: number): void {
    if (this.#state !== 'ready') return this.#endWith(id, true, 'null');
    this.#become('closing');
    this.#addTask(id, teardownMs, (ok, json) => {
      const { message } = ok ? { message: '' } : toSandboxError(JSON.parse(json));
      if (!ok) this.#telemetry.log('PLUGIN', 'ERROR', `teardownPlugin failed: ${message}`, id, -1);
      this.#endWith(id, true, 'null');
    });
    this.#runTask('teardown', id);
  }

  /** Ends all pending requests without a result. */
  dispose(cause: 'memory' | 'time' | 'aborted' = 'aborted'): void {
    if (this.#state === 'gone') return;
    this.#sendResults();
    this.#become('gone');
    const isAwaited = cause !== 'aborted' || this.#requests.size + this.#eventsQueue.length > 0;
    if (isAwaited) this.#deps.send({ kind: 'gone', instance: this.#deps.instance, cause });
    for (const request of this.#requests.values()) clearTimeout(request.timer);
    this.#requests.clear();
    this.#serving = undefined;
    this.#sendTelemetry();
    this.#bridge.close();
    this.#deps.onGone();
  }

  #become(state: State): void {
    assert(transitions[this.#state].includes(state), `an instance goes from ${this.#state} to ${state}`);
    this.#state = state;
  }

  #endWith(id: number, ok: boolean, json: string): void {
    this.#deps.send({ kind: 'done', id, ok }, json);
    this.dispose();
  }

  #load(id: number, onEnd: TaskRequest['onEnd']): void {
    this.#become('loading');
    this.#requests.set(id, { kind: 'task', timer: undefined, onEnd });
    this.#runTask('load', id, this.#deps.program.code);
  }

  #setUp(id: number, { config, attachments }: OpenBody, described: string): void {
    this.#become('setting up');
    this.#deps.send({ kind: 'setup', id });
    this.#addTask(id, this.#deps.limits.taskMs, (ok, json) => {
      if (!ok) return this.#endWith(id, false, json);
      this.#become('ready');
      this.#deps.send({ kind: 'done', id, ok: true }, described);
    });
    this.#runTask('setup', id, JSON.stringify({ config, attachments }));
  }

  #addTask(id: number, timeoutMs: number, onEnd: TaskRequest['onEnd']): void {
    const message = `it took longer than ${timeoutMs} ms, including waiting`;
    const timer = setTimeout(() => this.#expire(id, Number.MAX_SAFE_INTEGER, 'time', message), timeoutMs);
    this.#requests.set(id, { kind: 'task', timer, onEnd });
  }

  #runTask(command: EntryCommand, id: number, ...args: string[]): void {
    this.#run(entryOf(command, id, this.#deps.limits.cpuMs * taskFactor, ...args));
  }

  #serveQueue(): void {
    while (this.#state !== 'gone' && !this.#serving) {
      const next = this.#eventsQueue.shift();
      if (!next) return;
      this.#serve(next);
    }
  }

  #serve({ id, text, count, isFirst }: QueuedEvents): void {
    const { cpuMs, waitMs } = this.#deps.limits;
    if (isFirst) this.#poisonInRow = 0;
    const limitMs = cpuMs * Math.min(Math.max(count, 1), batchFactor);
    const request: EventsRequest = { kind: 'events', id, count, limitMs, lastPoison: -1, first: 0, timer: undefined };
    this.#requests.set(id, request);
    this.#serving = request;
    const command = this.#poisonInRow >= poisonInRowMax ? 'refuse' : 'events';
    this.#run(entryOf(command, id, limitMs, text, tooManyPoison));
    if (!this.#requests.has(id)) return;
    const message = `it took longer than ${waitMs} ms, including waiting`;
    request.timer = setInterval(
      () => this.#expire(id, Date.now() - waitMs, 'time', message),
      Math.min(250, waitMs / 2),
    );
  }

  /** Ends the work of a request that started before `cutoff` (ms since the epoch). */
  #expire(id: number, cutoff: number, kind: 'time' | 'aborted', message: string): void {
    if (!this.#requests.has(id)) return;
    this.#run(entryOf('expire', id, housekeepingMs, JSON.stringify({ cutoff, kind, message })));
  }

  #settle(request: number, args: readonly (string | number)[]): void {
    const { cpuMs } = this.#deps.limits;
    const limitMs = this.#requests.get(request)?.kind === 'events' ? cpuMs : cpuMs * taskFactor;
    this.#run({ command: 'settle', request, limitMs, args });
  }

  /** Runs the entry and those that follow from it. An error that cannot be handled costs the isolate. */
  #run(first: Entry): void {
    if (this.#state === 'gone') return;
    this.#todo.push(first);
    // Requested within an entry: it runs later.
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      this.#runTodo();
    } catch (error) {
      this.dispose(error instanceof DisposedError ? 'memory' : 'time');
    }
    this.#isRunning = false;
    // Requests queued behind one that just ended run after its results were sent.
    if (this.#eventsQueue.length > 0) queueMicrotask(() => this.#serveQueue());
  }

  /** @throws DisposedError; EntryTimeoutError when even the clean-up does not return in time */
  #runTodo(): void {
    let entry = this.#todo.shift();
    for (let entries = 0; entry && !this.#isGone(); entries++) {
      if (entries > entriesMax) throw new Error('expected the requests to end');
      const outcome = this.#bridge.enter(entry);
      // A refused `settle` moves no request on: the waiting one is found to be stuck.
      if (outcome.kind === 'refused' && entry.command !== 'settle') this.#refuse(entry, outcome.message);
      this.#sendResults();
      if (outcome.kind === 'timeout') this.#handleTimeout(entry, outcome);
      for (const { request, ok, json } of this.#bridge.takeEnds()) this.#endTask(request, ok, json);
      entry = this.#todo.shift() ?? this.#startMore(entry, outcome) ?? this.#endStuck();
    }
    if (!this.#isGone()) this.#sendTelemetry();
  }

  #isGone(): boolean {
    return this.#state === 'gone';
  }

  #refuse({ command, request: id }: Entry, message: string): void {
    const request = this.#requests.get(id);
    if (request?.kind !== 'events') {
      this.#endTask(id, false, JSON.stringify(wireError('thrown', command, message)));
      return;
    }
    const error = wireError('thrown', 'processEvent', message);
    const all = Array.from({ length: request.count }, (_, at) => [at, 3, error]);
    this.#forget(request);
    this.#deps.send({ kind: 'results', id, poisonInRow: 0 }, `${JSON.stringify(all)}\n`);
  }

  #handleTimeout(entry: Entry, timeout: EntryTimeout): void {
    const request = this.#requests.get(timeout.request);
    if (request?.kind === 'events') this.#handleEventTimeout(entry, timeout, request);
    else if (request) this.#handleTaskTimeout(timeout.request, request);
  }

  #handleEventTimeout({ command }: Entry, { index, stalled }: EntryTimeout, request: EventsRequest): void {
    if (index < 0) return;
    const { id } = request;
    const { cpuMs } = this.#deps.limits;
    if (command === 'events' || command === 'next') {
      // Earlier events, or others on the machine, may have used up the time.
      const wasAlone = index === request.first && !stalled;
      request.first = index + 1;
      request.limitMs = cpuMs;
      if (!wasAlone) {
        this.#todo.push(entryOf('solo', id, cpuMs, String(index)));
        return;
      }
    }
    this.#poisonInRow = request.lastPoison === index - 1 ? this.#poisonInRow + 1 : 1;
    request.lastPoison = index;
    const message = `it computed for more than ${cpuMs} ms on one event; ${advice}`;
    this.#todo.push(entryOf('fail', id, housekeepingMs, String(index), message));
    if (this.#poisonInRow < poisonInRowMax) return;
    request.lastPoison = request.count - 1;
    this.#todo.push(entryOf('fail-rest', id, housekeepingMs, tooManyPoison));
  }

  #handleTaskTimeout(id: number, { timer }: TaskRequest): void {
    const message = `it computed for more than ${this.#deps.limits.cpuMs * taskFactor} ms without a pause; ${advice}`;
    if (timer === undefined) this.#endTask(id, false, JSON.stringify(wireError('time', 'load', message)));
    else this.#expire(id, Number.MAX_SAFE_INTEGER, 'time', message);
  }

  /**
   * Starts more of the current events, waiting ones each in a separate entry. None start while one of them is about to resume; the
   * guest knows best. Most requests end with the first entry and never get here.
   */
  #startMore({ command }: Entry, outcome: EntryOutcome): Entry | undefined {
    const request = this.#serving;
    const hasNoMore = command === 'next' && outcome.kind === 'done' && !outcome.more;
    if (!request || hasNoMore || this.#bridge.isAboutToGoOn(request.id)) return undefined;
    return entryOf('next', request.id, request.limitMs);
  }

  #endStuck(): Entry | undefined {
    const [waiting] = this.#requests.keys();
    if (waiting === undefined || this.#bridge.isWaiting) return undefined;
    return entryOf('stuck', waiting, housekeepingMs, stuckMessage);
  }

  #endTask(id: number, ok: boolean, json: string): void {
    const request = this.#requests.get(id);
    if (request?.kind !== 'task') return;
    clearTimeout(request.timer);
    this.#requests.delete(id);
    this.#telemetry.endOf(id);
    this.#sendTelemetry();
    request.onEnd(ok, json);
  }

  #sendResults(): void {
    for (const { request: id, last, text } of this.#bridge.takeResults()) {
      const request = this.#requests.get(id);
      if (request?.kind !== 'events') continue;
      if (!last) {
        this.#deps.send({ kind: 'results', id }, text);
        continue;
      }
      this.#forget(request);
      // Logs are sent before the last results, so that their receiver has seen them.
      this.#sendTelemetry();
      if (request.lastPoison !== request.count - 1) this.#poisonInRow = 0;
      this.#deps.send({ kind: 'results', id, poisonInRow: this.#poisonInRow }, text);
    }
  }

  #forget(request: EventsRequest): void {
    clearInterval(request.timer);
    this.#requests.delete(request.id);
    this.#telemetry.endOf(request.id);
    if (this.#serving === request) this.#serving = undefined;
  }

  #sendTelemetry(): void {
    const gathered = this.#telemetry.take();
    if (gathered) this.#deps.send({ kind: 'telemetry', instance: this.#deps.instance }, JSON.stringify(gathered));
  }
}

function entryOf(command: EntryCommand, request: number, limitMs: number, ...args: string[]): Entry {
  return { command, request, limitMs, args: [request, ...args] };
}
