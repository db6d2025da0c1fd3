import { MetadataUnreadError } from '../../stores/metadata/unread-error.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { TransformConfig } from './transform-configs.ts';
import type { Step } from './step.ts';

/** `onSetup` is called when the plugin's setup begins. */
export type MakeStep = (config: TransformConfig, onSetup: () => void) => Promise<Step>;

/** Delays of the published service for a setup that throws a RetryError. */
const retryDelaysMs = [5000, 10_000, 20_000, 40_000, 80_000] as const;
const builtInRetryMs = 60_000;

interface InstanceDeps {
  readonly isStale: boolean;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Formats an error without secrets. */
  readonly sentence: (error: unknown) => string;
  readonly onCloseError: (error: unknown) => void;
}

/** A running version of a config, or one that is starting. */
export class Instance {
  config: TransformConfig;
  readonly #makeStep: MakeStep;
  readonly #deps: InstanceDeps;
  state: 'starting' | 'ready' | 'failed' = 'starting';
  step: Step | undefined = undefined;
  /** Resolves when it is ready or has failed; never rejects. */
  started: Promise<void>;
  /** Resolves when the plugin's setup begins; until then it waits for its process. */
  setUp: Promise<void>;
  wasAwaited = false;
  /** Set when the store could not be read for it: the config is unknown, and no event may bypass it. */
  unread: MetadataUnreadError | undefined = undefined;
  /** The recorded error, so that only the first failure is written. */
  reported: string;
  /** Whether an error of the chain is from before this process: it is cleared once enough events have passed without failing. */
  isStale: boolean;
  /** Events that passed since it was started. */
  passed = 0;
  trouble = '';
  #result: string | undefined = undefined;
  #attempts = 0;
  #retryAt = Infinity;
  #isClosed = false;

  constructor(config: TransformConfig, makeStep: MakeStep, deps: InstanceDeps) {
    this.config = config;
    this.#makeStep = makeStep;
    this.#deps = deps;
    this.reported = config.error;
    this.isStale = deps.isStale;
    ({ started: this.started, setUp: this.setUp } = this.#begin());
  }

  restart(): void {
    this.state = 'starting';
    this.#retryAt = Infinity;
    if (this.unread !== undefined) this.wasAwaited = false;
    this.unread = undefined;
    ({ started: this.started, setUp: this.setUp } = this.#begin());
  }

  isRetryDue(): boolean {
    return this.state === 'failed' && this.#deps.now() >= this.#retryAt;
  }

  /** Returns the result of starting it, once: the reason of a failure, or empty. */
  takeResult(): string | undefined {
    const result = this.#result;
    this.#result = undefined;
    return result;
  }

  /** Updates the same version from the store, whose recorded error counts. */
  updateFrom(config: TransformConfig): this {
    if (this.reported === '' && config.error !== '') this.isStale = true;
    if (!config.isErrorOfChain) this.isStale = false;
    this.config = config;
    this.reported = config.error;
    return this;
  }

  /** Closes the step. One that is still starting is closed afterwards, without waiting for it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.state !== 'starting') await this.#closeStep();
  }

  #begin(): { readonly started: Promise<void>; readonly setUp: Promise<void> } {
    const { promise: setUp, resolve } = Promise.withResolvers<void>();
    return { started: this.#start(resolve), setUp };
  }

  async #start(onSetup: () => void): Promise<void> {
    try {
      this.step = await this.#makeStep(this.config, onSetup);
      this.state = 'ready';
      this.#attempts = 0;
      this.#result = '';
    } catch (error) {
      this.state = 'failed';
      if (error instanceof MetadataUnreadError) {
        this.unread = error;
        this.#retryAt = -Infinity;
        return;
      }
      this.#result = this.#deps.sentence(error);
      this.#retryAt = this.#deps.now() + this.#retryDelay(error);
      this.#attempts += 1;
    }
    if (this.#isClosed) await this.#closeStep();
  }

  #retryDelay(error: unknown): number {
    // What a built-in lacks (a database, for example) may appear; retrying costs nothing.
    if (this.config.pluginVersionId === null) return builtInRetryMs;
    return isWorthRetry(error) ? (retryDelaysMs[this.#attempts] ?? Infinity) : Infinity;
  }

  async #closeStep(): Promise<void> {
    const { step } = this;
    this.step = undefined;
    await step?.close().catch(this.#deps.onCloseError);
  }
}

/** Whether a retry may help: a RetryError requests it, and another plugin may have crashed the process. */
function isWorthRetry(error: unknown): boolean {
  return error instanceof SandboxError && (error.retry || error.kind === 'crashed');
}
