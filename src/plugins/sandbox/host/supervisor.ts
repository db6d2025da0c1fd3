import { setTimeout as delay } from 'node:timers/promises';
import { assert } from '../../../base/assert.ts';
import { backoffMs } from '../../../base/retry.ts';
import type { Log } from '../../../server/telemetry/log.ts';
import { SandboxError, type SandboxErrorKind } from '../sandbox.ts';
import type { Frame } from '../../../base/frames.ts';
import type { ChildOptions, FromChild, ToChild } from '../wire/messages.ts';
import { startPluginProcess, type Ending, type PluginProcess } from './plugin-process.ts';

interface SupervisorOptions {
  readonly child: ChildOptions;
  readonly processBytesMax: number;
  readonly log: Log;
}

/** How a request ended: with an answer, or with the loss of its isolate or process. */
export type Answer =
  | { readonly kind: 'done'; readonly ok: boolean; readonly text: string; readonly poisonInRow: number }
  | {
      readonly kind: 'lost';
      readonly cause: Extract<SandboxErrorKind, 'memory' | 'crashed' | 'time' | 'aborted'>;
      /** Whether this request's instance was running at that moment. */
      readonly suspect: boolean;
    };

type Asking = Extract<ToChild, { readonly id: number }>;
type WithoutId<M> = M extends unknown ? Omit<M, 'id'> : never;

interface Request {
  readonly instance: number;
  readonly hear: Hear;
  readonly resolve: (answer: Answer) => void;
}

/** Called before the answer to a request. */
interface Hear {
  readonly results?: (text: string) => void;
  readonly setup?: () => void;
}

interface SupervisorEvents {
  /** The isolate was lost, alone or with its process. */
  readonly onGone: (instance: number) => void;
  /** All isolates were lost. */
  readonly onAllGone: () => void;
  readonly onOp: (header: Extract<FromChild, { kind: 'op' }>, text: string) => void;
  readonly onTelemetry: (instance: number, text: string) => void;
}

const watchMs = 20;
const steadyMs = 30_000;
const firstPauseMs = 20;
const longestPauseMs = 2000;

/**
 * Keeps a plugin process running while one is needed, and sends requests to it.
 *
 * | from     | by      | to       | when                                                              |
 * | -------- | ------- | -------- | ----------------------------------------------------------------- |
 * | stopped  | ready   | starting | there is work; after failures with a growing delay                |
 * | starting | spawn   | running  | the process exists; messages wait until it listens                |
 * | starting | spawn   | stopped  | the system could not start one                                    |
 * | running  | its end | stopped  | crashed, stuck or too large: requests and isolates are lost       |
 * | any      | close   | closed   | permanently; the process is killed                                |
 */
type State =
  | { readonly kind: 'stopped' | 'closed' }
  | { readonly kind: 'starting'; readonly started: Promise<void> }
  | { readonly kind: 'running'; readonly process: PluginProcess };

const transitions: Readonly<Record<State['kind'], readonly State['kind'][]>> = {
  stopped: ['starting', 'closed'],
  starting: ['running', 'stopped', 'closed'],
  running: ['stopped', 'closed'],
  closed: [],
};

export class Supervisor {
  restarts = 0;
  readonly #options: SupervisorOptions;
  readonly #events: SupervisorEvents;
  readonly #requests = new Map<number, Request>();
  #state: State = { kind: 'stopped' };
  #bundle = '';
  #lastId = 0;
  #watching: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #failures = 0;

  constructor(options: SupervisorOptions, events: SupervisorEvents) {
    this.#options = options;
    this.#events = events;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get rssBytes(): number {
    return this.#process?.rssBytes() ?? 0;
  }

  /** Resolves when there is a process to send to. */
  async ready(): Promise<void> {
    if (this.#state.kind === 'closed') throw closedError();
    if (this.#state.kind === 'stopped') this.#become({ kind: 'starting', started: this.#start() });
    const state: State = this.#state;
    if (state.kind === 'starting') await state.started;
  }

  /**
   * Sends a request; the answer also reports a loss. `hear` receives earlier messages. The request goes to the present process: an
   * instance of an earlier one is lost.
   */
  ask(message: WithoutId<Asking>, body: string, hear: Hear = {}): { id: number; answer: Promise<Answer> } {
    const id = ++this.#lastId;
    const process = this.#process;
    if (!process) {
      return { id, answer: Promise.resolve({ kind: 'lost', cause: 'crashed', suspect: false }) };
    }
    const answer = new Promise<Answer>((resolve) => {
      this.#requests.set(id, { instance: message.instance, hear, resolve });
    });
    process.send({ ...message, id } as ToChild, body);
    this.#watch();
    return { id, answer };
  }

  async answers(withinMs: number): Promise<boolean> {
    if (this.#process === undefined) return true;
    // No instance has this number: the process answers on its own.
    const { answer } = this.ask({ kind: 'close', instance: 0 }, '');
    const answered = new AbortController();
    const late = delay(withinMs, 'late', { signal: answered.signal }).catch(() => 'answered');
    const first = await Promise.race([answer, late]);
    answered.abort();
    return first !== 'late' || this.#process?.isComputing() !== false;
  }

  /** Sends a message without an answer; it is lost if the process just ended. */
  tell(message: ToChild, body = ''): void {
    this.#process?.send(message, body);
  }

  async close(): Promise<void> {
    const before = this.#state;
    if (before.kind === 'closed') return;
    this.#become({ kind: 'closed' });
    clearInterval(this.#watching);
    if (before.kind === 'starting') await before.started.catch(() => undefined);
    if (before.kind === 'running') await before.process.kill();
  }

  get #process(): PluginProcess | undefined {
    return this.#state.kind === 'running' ? this.#state.process : undefined;
  }

  #become(state: State): void {
    assert(
      transitions[this.#state.kind].includes(state.kind),
      `no process that is ${this.#state.kind} to be ${state.kind}`,
    );
    this.#state = state;
  }

  async #start(): Promise<void> {
    await delay(this.#failures === 0 ? 0 : backoffMs(this.#failures - 1, firstPauseMs, longestPauseMs));
    if (this.#state.kind === 'closed') throw closedError();
    this.#startedAt = performance.now();
    try {
      const process = startPluginProcess({
        options: this.#options.child,
        processBytesMax: this.#options.processBytesMax,
        bundle: this.#bundle,
        log: this.#options.log,
        onFrame: (frame) => this.#take(frame),
        onEnd: (ending) => this.#ended(ending),
      });
      this.#become({ kind: 'running', process });
    } catch (error) {
      this.#become({ kind: 'stopped' });
      throw error;
    }
  }

  #take({ header, body }: Frame<FromChild>): void {
    switch (header.kind) {
      case 'ready':
        this.#bundle = body.toString('utf8');
        break;
      case 'setup':
        this.#requests.get(header.id)?.hear.setup?.();
        break;
      case 'results': {
        this.#requests.get(header.id)?.hear.results?.(body.toString('utf8'));
        const { poisonInRow } = header;
        if (poisonInRow !== undefined) this.#resolve(header.id, { kind: 'done', ok: true, text: '', poisonInRow });
        break;
      }
      case 'done':
        this.#resolve(header.id, { kind: 'done', ok: header.ok, text: body.toString('utf8'), poisonInRow: 0 });
        break;
      case 'gone':
        this.#events.onGone(header.instance);
        this.#lose(
          (request) => request.instance === header.instance,
          header.cause,
          () => true,
        );
        break;
      case 'op':
        this.#events.onOp(header, body.toString('utf8'));
        break;
      case 'warning':
        this.#options.log.warn(header.message);
        break;
      case 'telemetry':
        this.#events.onTelemetry(header.instance, body.toString('utf8'));
    }
  }

  #resolve(id: number, answer: Answer): void {
    const request = this.#requests.get(id);
    this.#requests.delete(id);
    request?.resolve(answer);
  }

  #lose(
    which: (request: Request) => boolean,
    cause: 'memory' | 'time' | 'crashed' | 'aborted',
    suspect: (request: Request) => boolean,
  ): void {
    for (const [id, request] of this.#requests) {
      if (which(request)) this.#resolve(id, { kind: 'lost', cause, suspect: suspect(request) });
    }
  }

  #ended(ending: Ending): void {
    clearInterval(this.#watching);
    this.#watching = undefined;
    if (this.#state.kind !== 'closed') {
      this.#become({ kind: 'stopped' });
      const steady = performance.now() - this.#startedAt > steadyMs;
      this.#failures = steady ? 1 : this.#failures + 1;
      this.restarts++;
      const { cause, detail } = ending;
      this.#options.log.warn({ cause, detail }, 'plugin process ended; it restarts when needed');
    }
    this.#events.onAllGone();
    const cause = ending.cause === 'closed' ? 'aborted' : ending.cause;
    this.#lose(
      () => true,
      cause,
      (request) => request.instance === ending.instance,
    );
  }

  /** Watches the process while it has work. */
  #watch(): void {
    this.#watching ??= setInterval(() => {
      this.#process?.watch();
      if (this.#requests.size > 0) return;
      clearInterval(this.#watching);
      this.#watching = undefined;
    }, watchMs);
  }
}

function closedError(): SandboxError {
  return new SandboxError('aborted', 'expected the sandbox to be open, but it has been closed', {
    method: 'setupPlugin',
  });
}
