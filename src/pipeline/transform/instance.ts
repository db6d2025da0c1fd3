import { MetadataUnreadError } from '../../stores/metadata/unread-error.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { TransformConfig } from './transform-configs.ts';
import type { Step } from './step.ts';

/** `onSetup` is told when the plugin's own set-up begins. */
export type MakeStep = (config: TransformConfig, onSetup: () => void) => Promise<Step>;

/** As the published service does, for a setup that asks to be tried again. */
const retryDelaysMs = [5000, 10_000, 20_000, 40_000, 80_000] as const;
const builtInRetryMs = 60_000;

interface InstanceDeps {
  readonly isStale: boolean;
  /** ms since the epoch. */
  readonly now: () => number;
  /** An error as it may be shown. */
  readonly sentence: (error: unknown) => string;
  readonly onCloseError: (error: unknown) => void;
}

/** One version of a config at work, or on its way there. */
export class Instance {
  config: TransformConfig;
  readonly #makeStep: MakeStep;
  readonly #deps: InstanceDeps;
  state: 'making' | 'ready' | 'refused' = 'making';
  step: Step | undefined = undefined;
  /** Resolves when it is ready or refused; never rejects. */
  made: Promise<void>;
  /** Resolves when the plugin's own set-up begins; until then it waits for the machine. */
  setUp: Promise<void>;
  wasAwaited = false;
  /** The store could not be read for it: nothing is known of the config, and no event may pass it. */
  unread: MetadataUnreadError | undefined = undefined;
  /** The error on record, so that only the first failure is written. */
  reported: string;
  /** An error of the chain that dates from before this process: it is over once enough events have passed without failing. */
  isStale: boolean;
  /** Events that passed since it was made. */
  passed = 0;
  trouble = '';
  #news: string | undefined = undefined;
  #attempts = 0;
  #retryAt = Infinity;
  #isClosed = false;

  constructor(config: TransformConfig, makeStep: MakeStep, deps: InstanceDeps) {
    this.config = config;
    this.#makeStep = makeStep;
    this.#deps = deps;
    this.reported = config.error;
    this.isStale = deps.isStale;
    ({ made: this.made, setUp: this.setUp } = this.#begin());
  }

  make(): void {
    this.state = 'making';
    this.#retryAt = Infinity;
    if (this.unread !== undefined) this.wasAwaited = false;
    this.unread = undefined;
    ({ made: this.made, setUp: this.setUp } = this.#begin());
  }

  isRetryDue(): boolean {
    return this.state === 'refused' && this.#deps.now() >= this.#retryAt;
  }

  /** What came of making it, once: the reason why not, or empty. */
  takeNews(): string | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }

  /** The same version as it stands in the store now: what is on record there counts. */
  seenAs(config: TransformConfig): this {
    if (this.reported === '' && config.error !== '') this.isStale = true;
    if (!config.isErrorOfChain) this.isStale = false;
    this.config = config;
    this.reported = config.error;
    return this;
  }

  /** What is still being made is closed when it is there; nobody waits for that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.state !== 'making') await this.#closeStep();
  }

  #begin(): { readonly made: Promise<void>; readonly setUp: Promise<void> } {
    const { promise: setUp, resolve } = Promise.withResolvers<void>();
    return { made: this.#make(resolve), setUp };
  }

  async #make(onSetup: () => void): Promise<void> {
    try {
      this.step = await this.#makeStep(this.config, onSetup);
      this.state = 'ready';
      this.#attempts = 0;
      this.#news = '';
    } catch (error) {
      this.state = 'refused';
      if (error instanceof MetadataUnreadError) {
        this.unread = error;
        this.#retryAt = -Infinity;
        return;
      }
      this.#news = this.#deps.sentence(error);
      this.#retryAt = this.#deps.now() + this.#retryDelay(error);
      this.#attempts += 1;
    }
    if (this.#isClosed) await this.#closeStep();
  }

  #retryDelay(error: unknown): number {
    // What a built-in misses (a database, say) may come; asking costs nothing.
    if (this.config.pluginVersionId === null) return builtInRetryMs;
    return isWorthRetry(error) ? (retryDelaysMs[this.#attempts] ?? Infinity) : Infinity;
  }

  async #closeStep(): Promise<void> {
    const { step } = this;
    this.step = undefined;
    await step?.close().catch(this.#deps.onCloseError);
  }
}

/** A RetryError says so itself; a process that ended under it was perhaps ended by somebody else. */
function isWorthRetry(error: unknown): boolean {
  return error instanceof SandboxError && (error.retry || error.kind === 'crashed');
}
