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

interface ConfigInstanceDeps {
  readonly spec: InstanceSpec;
  readonly supervisor: Supervisor;
  readonly taskMs: number;
  readonly waitMs: number;
  /** Returns a number for a new isolate. */
  readonly nextNumber: () => number;
  /** Makes room for this many more isolates. Never rejects. */
  readonly makeRoom: (more: number) => Promise<void>;
  readonly now: () => number;
  /** Called each time setupPlugin begins. */
  readonly onSetup: () => void;
  readonly onClosed: () => void;
}

interface Work {
  readonly events: readonly SandboxEvent[];
  /** Pending calls, which never reject. */
  readonly serving: Set<Promise<unknown>>;
}

/** Losses caused by other configs that are not counted against it. */
const lossesMax = 5;

/**
 * A running config: its isolate is created when there is work, and may disappear at any time.
 *
 * | from     | by         | to       | when                                                        |
 * | -------- | ---------- | -------- | ----------------------------------------------------------- |
 * | none     | ensureOpen | opening  | there is work, and the config is not closed                 |
 * | opening  | its end    | open     | setupPlugin succeeded                                       |
 * | opening  | its end    | none     | it failed, or the isolate was lost too often                |
 * | open     | gone       | none     | the isolate was lost, alone or with its process             |
 * | open     | evict      | evicting | it was idle, others need the room, or the config is closed  |
 * | evicting | its end    | none     | teardownPlugin ended; only now it may be set up again       |
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
  /** Number of the current isolate; 0 without one. */
  number = 0;
  instanceId = '';
  lastUsed = 0;
  /** Running requests. */
  busy = 0;
  readonly #deps: ConfigInstanceDeps;
  readonly #places: AuthorPlaces;
  /** Work by request, while it runs. */
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

  /** The isolate was lost; the next use creates another one. */
  gone(): void {
    this.number = 0;
    if (this.isOpen) this.#become({ kind: 'none' });
  }

  /** Creates the isolate if needed, including setupPlugin. @throws SandboxError */
  async ensureOpen(): Promise<void> {
    this.lastUsed = this.#deps.now();
    if (this.isOpen) return;
    for (let state = this.#state; state.kind !== 'open'; state = this.#state) {
      if (this.#isClosed) throw this.#error('aborted', 'setupPlugin', 'the instance has been closed');
      if (state.kind === 'none') this.#become({ kind: 'opening', ended: this.#open() });
      else await state.ended;
    }
    // Concurrent openings may have exceeded the limit.
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

  /** Forwards the plugin's logs and metrics. */
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

  /** Tears the isolate down; the next use creates another one. It no longer counts as open. */
  async evict(): Promise<void> {
    if (this.#state.kind === 'opening') await this.#state.ended.catch(() => undefined);
    if (this.isOpen) this.#become({ kind: 'evicting', ended: this.#tearDown() });
    const state: State = this.#state;
    if (state.kind === 'evicting') await state.ended;
  }

  /**
   * Serves a call of the isolate for the event that it names, checked against the running work. That work does not end before the
   * call does, whether the plugin waits for it or not.
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

  /** Retries up to a limit when the isolate is lost while another config was running. */
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

  /** Returns `undefined` if the isolate was lost while another config was running, so that the call must be repeated. */
  async #callOnce(
    target: CallTarget,
    { signal, timeoutMs = this.#deps.taskMs }: { signal?: AbortSignal; timeoutMs?: number },
    last: boolean,
  ): Promise<{ readonly value: JsonValue } | undefined> {
    const { supervisor } = this.#deps;
    const instance = this.number;
    const name = 'name' in target ? target.name : target.kind;
    if (signal?.aborted === true) throw this.#error('aborted', name, 'it was cancelled before it began');
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

  /** Undoes storage writes of events that were lost midway and are processed again or fail. */
  #takeBack(events: readonly SandboxEvent[]): void {
    for (const event of events) this.spec.services.storage.takeBack?.(event);
  }

  /** Returns the answer after all of the work's calls to the service have ended or timed out. */
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
    return 'it exceeded its memory limit; make it hold less at a time, or raise MILLRACE_SANDBOX_MEMORY_BYTES_MAX';
  }
  if (cause === 'time') return 'it kept computing and could not be interrupted; make it do less at a time';
  if (cause === 'aborted') return 'the service is stopping';
  return 'its process crashed';
}

/** Forwards a plugin's logs and metrics to its services. The process has limited and checked them. */
function forwardTelemetry(services: InstanceServices, instanceId: string, places: AuthorPlaces, text: string): void {
  const { logs, metrics } = JSON.parse(text) as WireTelemetry;
  for (const [time, source, level, message] of logs) {
    services.log({ time, level: level as LogLine['level'], source, message: places(message), instanceId });
  }
  for (const [name, kind, value] of metrics) services.metric(name, kind as 'sum' | 'min' | 'max', value);
}
