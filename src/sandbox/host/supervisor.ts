import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../base/retry.ts';
import type { Log } from '../../telemetry/log.ts';
import { SandboxError, type SandboxErrorKind } from '../sandbox.ts';
import type { Frame } from '../../base/frames.ts';
import type { ChildOptions, FromChild, ToChild } from '../wire/messages.ts';
import { startPluginProcess, type Ending, type PluginProcess } from './plugin-process.ts';

export interface SupervisorOptions {
  readonly child: ChildOptions;
  readonly processBytesMax: number;
  readonly log: Log;
}

/** How a request ended: with an answer, or with the isolate or process that was to give it. */
export type Answer =
  | { readonly kind: 'done'; readonly ok: boolean; readonly text: string; readonly guiltyInRow: number }
  | {
      readonly kind: 'lost';
      readonly cause: Extract<SandboxErrorKind, 'memory' | 'crashed' | 'time' | 'aborted'>;
      /** It was at work for this request's instance. */
      readonly suspect: boolean;
    };

type Asking = Extract<ToChild, { readonly id: number }>;
type WithoutId<M> = M extends unknown ? Omit<M, 'id'> : never;

interface Request {
  readonly instance: number;
  readonly onResults: ((text: string) => void) | undefined;
  readonly resolve: (answer: Answer) => void;
}

export interface SupervisorEvents {
  /** The isolate is no more, alone or with its process. */
  readonly onGone: (instance: number) => void;
  /** All of them. */
  readonly onAllGone: () => void;
  readonly onOp: (header: Extract<FromChild, { kind: 'op' }>, text: string) => void;
  readonly onNotes: (instance: number, text: string) => void;
}

const watchMs = 20;
const steadyMs = 30_000;
const firstPauseMs = 20;
const longestPauseMs = 2000;

/** Keeps a process for the plugins while there is one wanted, and carries requests to it. */
export class Supervisor {
  restarts = 0;
  readonly #options: SupervisorOptions;
  readonly #events: SupervisorEvents;
  readonly #requests = new Map<number, Request>();
  #process: PluginProcess | undefined;
  #starting: Promise<PluginProcess> | undefined;
  #bundle = '';
  #lastId = 0;
  #watching: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #failures = 0;
  #closed = false;

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
    await this.#running();
  }

  /**
   * Sends a request; the answer tells when it was lost, too. `onResults` gets what is there already.
   * The process is the one of now: an instance that was opened in an earlier one is lost.
   */
  ask(
    message: WithoutId<Asking>,
    body: string,
    onResults?: (text: string) => void,
  ): { id: number; answer: Promise<Answer> } {
    const id = ++this.#lastId;
    const process = this.#process;
    if (!process) {
      return { id, answer: Promise.resolve({ kind: 'lost', cause: 'crashed', suspect: false }) };
    }
    const answer = new Promise<Answer>((resolve) => {
      this.#requests.set(id, { instance: message.instance, onResults, resolve });
    });
    process.send({ ...message, id } as ToChild, body);
    this.#watch();
    return { id, answer };
  }

  async answers(withinMs: number): Promise<boolean> {
    if (this.#process === undefined) return true;
    // Nobody has this number: the process answers by itself.
    const { answer } = this.ask({ kind: 'close', instance: 0 }, '');
    const answered = new AbortController();
    const late = delay(withinMs, 'late', { signal: answered.signal }).catch(() => 'answered');
    const first = await Promise.race([answer, late]);
    answered.abort();
    return first !== 'late' || this.#process?.isComputing() !== false;
  }

  /** Sends what needs no answer; nobody is there to take it when the process just ended. */
  tell(message: ToChild, body = ''): void {
    this.#process?.send(message, body);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watching);
    // A process that was just being started is to be ended, too.
    await this.#starting?.catch(() => undefined);
    await this.#process?.kill();
  }

  #running(): Promise<PluginProcess> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#process) return Promise.resolve(this.#process);
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<PluginProcess> {
    if (this.#failures > 0) {
      const pauseMs = backoffMs(this.#failures - 1, firstPauseMs, longestPauseMs);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    if (this.#closed) throw closedError();
    this.#startedAt = performance.now();
    const process: PluginProcess = startPluginProcess({
      options: this.#options.child,
      processBytesMax: this.#options.processBytesMax,
      bundle: this.#bundle,
      log: this.#options.log,
      onFrame: (frame) => this.#take(frame),
      onEnd: (ending) => this.#ended(process, ending),
    });
    this.#process = process;
    return process;
  }

  #take({ header, body }: Frame<FromChild>): void {
    switch (header.kind) {
      case 'ready':
        this.#bundle = body.toString('utf8');
        break;
      case 'results': {
        this.#requests.get(header.id)?.onResults?.(body.toString('utf8'));
        const { guiltyInRow } = header;
        if (guiltyInRow !== undefined) this.#resolve(header.id, { kind: 'done', ok: true, text: '', guiltyInRow });
        break;
      }
      case 'done':
        this.#resolve(header.id, { kind: 'done', ok: header.ok, text: body.toString('utf8'), guiltyInRow: 0 });
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
      case 'notes':
        this.#events.onNotes(header.instance, body.toString('utf8'));
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

  #ended(process: PluginProcess, ending: Ending): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    clearInterval(this.#watching);
    this.#watching = undefined;
    if (!this.#closed) {
      const steady = performance.now() - this.#startedAt > steadyMs;
      this.#failures = steady ? 1 : this.#failures + 1;
      this.restarts++;
      const { cause, detail } = ending;
      this.#options.log.warn({ cause, detail }, 'the process of the plugins ended and is started again when needed');
    }
    this.#events.onAllGone();
    const cause = ending.cause === 'closed' ? 'aborted' : ending.cause;
    this.#lose(
      () => true,
      cause,
      (request) => request.instance === ending.instance,
    );
  }

  /** Looks after the process as long as it has something to do. */
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
  return new SandboxError('aborted', 'expected the sandbox to be open, it has been closed', { method: 'setupPlugin' });
}
