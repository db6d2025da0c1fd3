import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../../base/ids.ts';
import { assert } from '../../../base/assert.ts';
import { withoutMap } from '../../../base/inline-source-map.ts';
import type { JsonValue } from '../../../base/json.ts';
import {
  SandboxError,
  type CallTarget,
  type Described,
  type EventOutcome,
  type InstanceSpec,
  type SandboxEvent,
  type SandboxInstance,
  type InstanceServices,
  type LogLine,
} from '../sandbox.ts';
import { createAuthorPlaces, withAuthorPlaces, type AuthorPlaces } from './author-places.ts';
import { toSandboxError } from '../wire/errors.ts';
import { encodeEvents } from '../wire/events-text.ts';
import type { OpenBody, WireCause, WireTarget, WireTelemetry } from '../wire/messages.ts';
import { decodeResults } from '../wire/results-text.ts';
import { ownCrashesMax, runEvents, type SliceEnd } from './run-events.ts';
import { answerOp } from './answer-op.ts';
import type { Answer, Supervisor } from './supervisor.ts';

export interface ConfigInstanceDeps {
  readonly spec: InstanceSpec;
  readonly supervisor: Supervisor;
  readonly taskMs: number;
  readonly waitMs: number;
  /** A number for an isolate that is just being made. */
  readonly nextNumber: () => number;
  /** Room is needed for so many isolates more. Never rejects. */
  readonly makeRoom: (more: number) => Promise<void>;
  readonly now: () => number;
  /** Told each time that setupPlugin begins. */
  readonly onSetup: () => void;
  readonly onClosed: () => void;
}

interface Work {
  readonly events: readonly SandboxEvent[];
  /** Calls that are not answered yet. Never reject. */
  readonly serving: Set<Promise<unknown>>;
}

/** A crash that this was not to blame for costs it nothing, up to so many. */
const lossesMax = 5;

/**
 * A config at work: its isolate is made when there is something to do, and may be gone at any time.
 *
 * | from     | by         | to       | when                                                        |
 * | -------- | ---------- | -------- | ----------------------------------------------------------- |
 * | none     | ensureOpen | opening  | there is something to do, and the config is not closed      |
 * | opening  | its end    | open     | setupPlugin went well                                       |
 * | opening  | its end    | none     | it failed, or the isolate was lost too often on the way     |
 * | open     | gone       | none     | the isolate is no more, alone or with its process           |
 * | open     | evict      | evicting | it was idle, others need the room, or the config is closed  |
 * | evicting | its end    | none     | teardownPlugin is over: only now it may be set up again     |
 */
type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'open' }
  | { readonly kind: 'opening' | 'evicting'; readonly ended: Promise<void> };

const transitions: Readonly<Record<State['kind'], readonly State['kind'][]>> = {
  none: ['opening'],
  opening: ['open', 'none'],
  open: ['none', 'evicting'],
  evicting: ['none'],
};

export class ConfigInstance implements SandboxInstance {
  readonly spec: InstanceSpec;
  /** Of the isolate that is there or being made; 0: none. */
  number = 0;
  instanceId = '';
  lastUsed = 0;
  /** Requests at work. */
  busy = 0;
  readonly #deps: ConfigInstanceDeps;
  readonly #places: AuthorPlaces;
  /** By request, while it is at work. */
  readonly #work = new Map<number, Work>();
  #described: Described = { methods: [], scheduledTasks: [], jobs: [], metrics: {} };
  #state: State = { kind: 'none' };
  #isClosed = false;

  constructor(deps: ConfigInstanceDeps) {
    this.#deps = deps;
    this.spec = deps.spec;
    this.#places = createAuthorPlaces(deps.spec.code);
  }

  get described(): Described {
    return this.#described;
  }

  get isOpen(): boolean {
    return this.#state.kind === 'open';
  }

  /** The isolate went: it is made anew with the next use. */
  gone(): void {
    this.number = 0;
    if (this.isOpen) this.#become({ kind: 'none' });
  }

  /** Makes the isolate when there is none, setupPlugin included. @throws SandboxError */
  async ensureOpen(): Promise<void> {
    this.lastUsed = this.#deps.now();
    if (this.isOpen) return;
    for (let state = this.#state; state.kind !== 'open'; state = this.#state) {
      if (this.#isClosed) throw this.#error('aborted', 'setupPlugin', 'the instance has been closed');
      if (state.kind === 'none') this.#become({ kind: 'opening', ended: this.#open() });
      else await state.ended;
    }
    // Others that came at the same time may have been one too many.
    void this.#deps.makeRoom(0);
  }

  async processEvents(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]> {
    const outcomes = await this.#while(() =>
      runEvents(events, {
        method: this.#processMethod(),
        ensureOpen: () => this.ensureOpen(),
        run: (slice, found, isFirst) => this.#runSlice(slice, found, isFirst),
      }),
    );
    return outcomes.map((each) =>
      each.kind === 'failed' ? { kind: 'failed', error: withAuthorPlaces(each.error, this.#places) } : each,
    );
  }

  /** What the plugin has logged and counted. */
  forward(telemetry: string): void {
    forwardTelemetry(this.spec.services, this.instanceId, this.#places, telemetry);
  }

  async call(target: CallTarget, options: { signal?: AbortSignal; timeoutMs?: number } = {}): Promise<JsonValue> {
    return await this.#while(async () => {
      for (let losses = 0; ; losses++) {
        await this.ensureOpen();
        const result = await this.#callOnce(target, options, losses >= lossesMax);
        if (result) return result.value;
      }
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.evict();
    this.#deps.onClosed();
  }

  /** Tears the isolate down; the next use makes another one. From now on it does not count as open. */
  async evict(): Promise<void> {
    if (this.#state.kind === 'opening') await this.#state.ended.catch(() => undefined);
    if (this.isOpen) this.#become({ kind: 'evicting', ended: this.#tearDown() });
    const state: State = this.#state;
    if (state.kind === 'evicting') await state.ended;
  }

  /**
   * Does what the isolate asks of the service, for the event that it says it asks for, checked against what is really at work.
   * The work on that is not at its end before this is, whether the plugin waits or not.
   */
  async serve(op: string, args: readonly unknown[], cause: WireCause | null): Promise<unknown> {
    const work = cause === null ? undefined : this.#work.get(cause.id);
    const event = cause === null ? undefined : work?.events[cause.index];
    const answer = answerOp(op, args, {
      services: this.spec.services,
      cause: event && cause ? { event, nth: cause.nth } : undefined,
    });
    if (!work) return await answer;
    const done = Promise.allSettled([answer]);
    work.serving.add(done);
    try {
      return await answer;
    } finally {
      work.serving.delete(done);
    }
  }

  #become(state: State): void {
    assert(
      transitions[this.#state.kind].includes(state.kind),
      `no isolate that is ${this.#state.kind} to be ${state.kind}`,
    );
    this.#state = state;
  }

  async #open(): Promise<void> {
    try {
      await this.#deps.makeRoom(1);
      await this.#openIsolate();
      this.#become({ kind: 'open' });
    } catch (error) {
      this.#become({ kind: 'none' });
      throw error;
    }
  }

  async #tearDown(): Promise<void> {
    const { number } = this;
    await this.#deps.supervisor.ask({ kind: 'close', instance: number }, '').answer;
    if (this.number === number) this.number = 0;
    this.#become({ kind: 'none' });
  }

  /** Again when the isolate is lost while another config was at work, up to a limit. */
  async #openIsolate(): Promise<void> {
    const { supervisor, nextNumber, onSetup } = this.#deps;
    let ownCrashes = 0;
    for (let losses = 0; ; losses++) {
      await supervisor.ready();
      const number = nextNumber();
      this.number = number;
      this.instanceId = newId();
      const request = { kind: 'open', instance: number } as const;
      const { answer } = supervisor.ask(request, JSON.stringify(openBody(this.spec)), { setup: onSetup });
      const end = await answer;
      if (end.kind === 'done') {
        if (!end.ok) {
          this.number = 0;
          throw withAuthorPlaces(toSandboxError(JSON.parse(end.text)), this.#places);
        }
        this.#described = JSON.parse(end.text) as Described;
        if (this.number === number) return;
      }
      const cause = end.kind === 'lost' ? end.cause : 'crashed';
      if (end.kind === 'lost' && end.suspect) ownCrashes = cause === 'crashed' ? ownCrashes + 1 : ownCrashesMax;
      if (ownCrashes >= ownCrashesMax || losses >= lossesMax)
        throw this.#error(cause, 'setupPlugin', lostSentence(cause));
    }
  }

  async #runSlice(
    events: readonly SandboxEvent[],
    outcomes: (EventOutcome | undefined)[],
    isFirst: boolean,
  ): Promise<SliceEnd> {
    let nonsense: SandboxError | undefined;
    const onResults = (text: string): void => {
      try {
        decodeResults(text, events, outcomes);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        nonsense = error;
      }
    };
    const { id, answer } = this.#deps.supervisor.ask(
      { kind: 'events', instance: this.number, count: events.length, isFirst },
      encodeEvents(events),
      { results: onResults },
    );
    const end = await this.#finish(id, events, answer);
    if (end.kind === 'done') return { kind: 'done', poisonInRow: end.poisonInRow, nonsense };
    this.#takeBack(events.filter((_, index) => outcomes[index] === undefined));
    return { ...end, message: lostSentence(end.cause) };
  }

  /** Undefined: the isolate was lost while another config was at work, so the call is to be made again. */
  async #callOnce(
    target: CallTarget,
    { signal, timeoutMs = this.#deps.taskMs }: { signal?: AbortSignal; timeoutMs?: number },
    last: boolean,
  ): Promise<{ readonly value: JsonValue } | undefined> {
    const { supervisor } = this.#deps;
    const instance = this.number;
    const name = 'name' in target ? target.name : target.kind;
    if (signal?.aborted === true) throw this.#error('aborted', name, 'it was given up before it began');
    const events = 'events' in target ? target.events : [];
    const wire = wireTarget(target);
    const { id, answer } = supervisor.ask({ kind: 'call', instance, target: wire, timeoutMs }, bodyOf(target));
    const abort = (): void => supervisor.tell({ kind: 'abort', id, instance });
    signal?.addEventListener('abort', abort, { once: true });
    const end = await this.#finish(id, events, answer);
    signal?.removeEventListener('abort', abort);
    if (end.kind === 'lost') {
      this.#takeBack(events);
      if (!end.suspect && !last && end.cause !== 'aborted') return undefined;
      throw this.#error(end.cause, name, lostSentence(end.cause));
    }
    if (!end.ok) throw withAuthorPlaces(toSandboxError(JSON.parse(end.text)), this.#places);
    return { value: JSON.parse(end.text) as JsonValue };
  }

  /** Of events that were lost at work, and are processed again or fail. */
  #takeBack(events: readonly SandboxEvent[]): void {
    for (const event of events) this.spec.services.storage.takeBack?.(event);
  }

  /** The answer, once everything that the service was asked for on the way has been done, or takes too long. */
  async #finish(id: number, events: readonly SandboxEvent[], answer: Promise<Answer>): Promise<Answer> {
    const work: Work = { events, serving: new Set() };
    this.#work.set(id, work);
    const end = await answer;
    this.#work.delete(id);
    if (work.serving.size > 0)
      await Promise.race([Promise.all(work.serving), delay(this.#deps.waitMs, undefined, { ref: false })]);
    return end;
  }

  async #while<T>(work: () => Promise<T>): Promise<T> {
    this.busy++;
    try {
      return await work();
    } finally {
      this.busy--;
      this.lastUsed = this.#deps.now();
    }
  }

  #processMethod(): string {
    return this.#described.methods.includes('processEvent') ? 'processEvent' : 'processEventBatch';
  }

  #error(kind: SandboxError['kind'], method: string, message: string): SandboxError {
    return new SandboxError(kind, message, { method });
  }
}

function openBody(spec: InstanceSpec): OpenBody {
  const attachments = [...spec.attachments].map(
    ([key, { contentType, fileName, content }]) =>
      [
        key,
        { content_type: contentType, file_name: fileName, contents_base64: Buffer.from(content).toString('base64') },
      ] as const,
  );
  const { pluginName, label, configId, projectId, code, callCharsMax, requestsRefused, settings } = spec;
  return {
    pluginName,
    label,
    configId,
    projectId,
    code: withoutMap(code),
    callCharsMax,
    requestsRefused,
    config: settings,
    attachments: Object.fromEntries(attachments),
  };
}

function wireTarget(target: CallTarget): WireTarget {
  if ('name' in target) return { kind: target.kind, name: target.name };
  return 'more' in target && target.more === true ? { kind: target.kind, more: true } : { kind: target.kind };
}

function bodyOf(target: CallTarget): string {
  if (target.kind === 'job') return target.payload === null ? '' : JSON.stringify(target.payload);
  return 'events' in target ? encodeEvents(target.events) : '';
}

export function lostSentence(cause: 'memory' | 'crashed' | 'time' | 'aborted'): string {
  if (cause === 'memory') {
    return 'it took more memory than it may; make it hold less at a time, or raise MILLRACE_SANDBOX_MEMORY_BYTES_MAX';
  }
  if (cause === 'time') return 'it computed on and could not be interrupted; make it do less at a time';
  if (cause === 'aborted') return 'the service is stopping';
  return 'the process that it runs in crashed under it';
}

/** What a plugin logged and counted goes to its services. The process has bounded and checked it. */
function forwardTelemetry(services: InstanceServices, instanceId: string, places: AuthorPlaces, text: string): void {
  const { logs, metrics } = JSON.parse(text) as WireTelemetry;
  for (const [time, source, level, message] of logs) {
    services.log({ time, level: level as LogLine['level'], source, message: places(message), instanceId });
  }
  for (const [name, kind, value] of metrics) services.metric(name, kind as 'sum' | 'min' | 'max', value);
}
