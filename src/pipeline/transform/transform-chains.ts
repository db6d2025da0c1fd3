import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { chainSource, setConfigError } from '../../plugins/configs/set-config-error.ts';
import { recordErrors, type PluginFailure } from '../../plugins/services/errors.ts';
import { jsonWithoutSecrets, withoutSecrets } from '../../plugins/mask-secrets.ts';
import type { Trace } from '../live/show-event.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { ChainCounts } from './chain-counts.ts';
import type { ChainEvent } from './chain-event.ts';
import { EventTraces } from './event-traces.ts';
import { runChain, runDirect, type ChainTally } from './run-chain.ts';
import { configReads, type ConfigReads } from './config-reads.ts';
import type { TransformConfig } from './transform-configs.ts';
import { Instance, type MakeStep } from './instance.ts';
import { addConfigCounts, type ConfigCounts } from '../../plugins/services/config-metrics.ts';
import type { DirectStep, Step } from './step.ts';

/** Events without a failure after which an old error is cleared. */
const passedMin = 100;
const errorLengthMax = 500;
/** How long events wait for a plugin's setup before they bypass it. */
const readyMsMax = 5000;
/** How long they wait before that for the plugin process to start. */
const startMsMax = 60_000;
/** Waits are divided into pieces, so that time in which this process is suspended does not count against the plugin. */
const pieceMs = 250;

/** Changes of a window to the chains, written in its transaction. */
export interface ChainChanges {
  readonly counts: readonly ConfigCounts[];
  readonly failures: readonly PluginFailure[];
  /** By config: the error to record (`""`: to clear), and the version of the config that it concerns (`updated_at`). */
  readonly errors: ReadonlyMap<number, { readonly error: string; readonly updatedAt: string }>;
}

interface Chain {
  readonly instances: readonly Instance[];
  readonly steps: readonly Step[];
  /** The same steps if none of them is asynchronous. */
  readonly direct: readonly DirectStep[] | undefined;
  /** Enabled instances that cannot run at present. */
  readonly waiting: readonly Instance[];
}

interface ChainDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  readonly makeStep: MakeStep;
  /** Writes the first failure of each kind per window to the config's log, without secrets. */
  readonly logFailure?: (config: TransformConfig, message: string) => void;
  /** Default 5,000. */
  readonly readyMs?: number;
  /** When aborted, the work ends without waiting. */
  readonly signal?: AbortSignal;
  /** Default: a query each time. */
  readonly reads?: ConfigReads;
  /** Projects whose events are processed here. Default: all. */
  readonly serves?: (project: Pick<TransformConfig, 'projectId' | 'spread'>) => boolean;
  /** Must come first in a transaction: rejects when another worker processes these events now. Default: none does. */
  readonly hold?: (tx: Queries) => Promise<void>;
}

/**
 * The transformations of all projects. `refresh` before each window applies changes of configuration together: every event of a
 * window passes the same chain. A config that cannot run is skipped, with the reason recorded, and is retried after its next
 * change, or automatically if a retry may help.
 */
export class TransformChains {
  readonly #deps: ChainDeps;
  readonly #reads: ConfigReads;
  readonly #counts: ChainCounts;
  readonly #traces: EventTraces;
  #revision = -1;
  #isFirstLoad = true;
  #configs: readonly TransformConfig[] = [];
  #instances = new Map<number, Instance>();
  #chains = new Map<number, Chain>();
  #errors = new Map<number, { readonly error: string; readonly updatedAt: string }>();

  constructor(deps: ChainDeps) {
    this.#deps = deps;
    this.#reads = deps.reads ?? configReads(deps.db);
    this.#counts = new ChainCounts(deps.clock);
    this.#traces = new EventTraces((step, error) => this.#sentenceOf(step, error));
  }

  /** Applies changed configuration. Returns the revision, which changes with every such change. @throws if the store is unavailable */
  async refresh(): Promise<number> {
    const revision = await this.#reads.revision();
    const isNew = revision !== this.#revision;
    if (isNew) await this.#load(revision);
    const retried = this.#retry();
    const hasNew = await this.#waitForNew();
    if (isNew || retried || hasNew) this.#arrange();
    this.#revision = revision;
    this.#isFirstLoad = false;
    return revision;
  }

  /** Every enabled config that transforms or observes events. */
  get configs(): readonly TransformConfig[] {
    return this.#configs;
  }

  /** Whether any transformation runs in the project. */
  has(projectId: number): boolean {
    const chain = this.#chains.get(projectId);
    return chain !== undefined && chain.steps.length > 0;
  }

  /** Whether the project's chain is asynchronous and needs `run`; otherwise `runNow` is enough. */
  mustWait(projectId: number): boolean {
    const chain = this.#chains.get(projectId);
    return chain !== undefined && (chain.direct === undefined || this.#traces.isTracing);
  }

  /** Runs events of one project, in order. */
  async run(projectId: number, events: readonly ChainEvent[]): Promise<void> {
    const chain = this.#chains.get(projectId);
    if (chain === undefined) return;
    this.#countWaiting(chain, events.length);
    if (this.#traces.isTracing) await this.#traces.run(chain.steps, events, this.#tally);
    else await runChain(chain.steps, events, this.#tally);
  }

  runNow(projectId: number, events: readonly ChainEvent[]): void {
    const chain = this.#chains.get(projectId);
    if (chain?.direct === undefined) return;
    this.#countWaiting(chain, events.length);
    runDirect(chain.direct, events, this.#tally);
  }

  /** Records the result of each transformation for the event, until the changes are taken. */
  trace(event: ChainEvent): void {
    this.#traces.trace(event);
  }

  traceOf(event: ChainEvent): Trace | undefined {
    return this.#traces.of(event);
  }

  /** Masks the secrets of the project's configs in the JSON of an event. */
  masked(projectId: number, text: string): string {
    return this.#configs
      .filter((config) => config.projectId === projectId)
      .reduce((safe, { fields, settings }) => jsonWithoutSecrets(safe, fields, settings), text);
  }

  /** Counts events that bypass the whole chain. */
  skip(projectId: number, count = 1): void {
    for (const { config } of this.#chains.get(projectId)?.instances ?? []) this.#counts.of(config).skipped += count;
  }

  /** Takes the changes since the last call. */
  takeChanges(): ChainChanges {
    this.#traces.clear();
    const { counts, failures } = this.#counts.take();
    for (const { configId, succeeded, dropped } of counts) this.#notePassed(configId, succeeded + dropped);
    for (const instance of this.#instances.values()) this.#noteTrouble(instance);
    const changes = { counts, failures, errors: this.#errors };
    this.#errors = new Map();
    return changes;
  }

  /** Drops what is not stored. */
  reset(): void {
    this.takeChanges();
    this.#revision = -1;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#instances.values()].map((instance) => instance.close()));
    this.#instances.clear();
    this.#chains.clear();
  }

  /** Updates the running instances to the configs in the store. */
  async #load(revision: number): Promise<void> {
    const { serves } = this.#deps;
    const configs = await this.#reads.configs(revision);
    this.#configs = serves === undefined ? configs : configs.filter(serves);
    const instances = new Map<number, Instance>();
    const gone = new Map(this.#instances);
    for (const config of this.#configs) {
      if (!config.isStep) continue;
      const running = this.#instances.get(config.id);
      const isSame = running?.config.version === config.version;
      instances.set(config.id, isSame ? running.updateFrom(config) : this.#start(config));
      if (isSame) gone.delete(config.id);
    }
    this.#instances = instances;
    // They contain no events: the only user is the window to be computed next.
    for (const instance of gone.values()) void instance.close();
  }

  #start(config: TransformConfig): Instance {
    return new Instance(config, this.#deps.makeStep, {
      // A failure before this process may have ended the previous one: the error stays until events have passed.
      isStale: this.#isFirstLoad && config.error !== '' && config.isErrorOfChain,
      now: () => this.#deps.clock.now(),
      sentence: (error) => sentence(error, config),
      onCloseError: (error) => this.#deps.log.warn({ configId: config.id, err: error }, 'failed to close a plugin'),
    });
  }

  #retry(): boolean {
    const due = [...this.#instances.values()].filter((instance) => instance.isRetryDue());
    for (const instance of due) instance.restart();
    return due.length > 0;
  }

  /** Waits briefly for starting instances. Returns whether any result is new. */
  async #waitForNew(): Promise<boolean> {
    const all = [...this.#instances.values()];
    const fresh = all.filter((instance) => instance.state === 'starting' && !instance.wasAwaited);
    await Promise.all(fresh.map((instance) => this.#waitForStart(instance)));
    for (const instance of fresh) instance.wasAwaited = true;
    const { unread } = all.find((instance) => instance.unread !== undefined) ?? {};
    if (unread !== undefined) throw unread;
    let any = fresh.length > 0;
    for (const instance of all) {
      const result = instance.takeResult();
      if (result === undefined) continue;
      any = true;
      await this.#record(instance, result);
    }
    return any;
  }

  async #waitForStart({ started, setUp }: Instance): Promise<void> {
    const { readyMs = readyMsMax, signal } = this.#deps;
    await atMost(startMsMax, Promise.race([started, setUp]), signal);
    await atMost(readyMs, started, signal);
  }

  /** Builds the chains from the instances that can run now. */
  #arrange(): void {
    this.#chains = new Map();
    for (const [projectId, instances] of Map.groupBy(this.#instances.values(), ({ config }) => config.projectId)) {
      const steps = instances.flatMap(({ step }) => step ?? []);
      const direct = steps.filter((step) => step.kind === 'direct');
      this.#chains.set(projectId, {
        instances,
        steps,
        direct: direct.length === steps.length ? direct : undefined,
        waiting: instances.filter(({ step }) => step === undefined),
      });
    }
  }

  readonly #tally: ChainTally = {
    succeeded: (step) => {
      this.#countsOf(step).succeeded += 1;
    },
    dropped: (step) => {
      this.#countsOf(step).dropped += 1;
    },
    skipped: (step) => {
      this.#countsOf(step).skipped += 1;
    },
    took: (step, ms) => {
      this.#countsOf(step).micros += ms * 1000;
    },
    failed: (step, error, event) => {
      const instance = this.#instances.get(step.configId);
      if (instance === undefined) return;
      const { config } = instance;
      const stack = error instanceof SandboxError ? error.pluginStack : '';
      const message = sentence(error, config);
      const text = { message, stack: withoutSecrets(stack, config.fields, config.settings) };
      const isNew = this.#counts.failed(config, error, text, event);
      if (isNew) this.#deps.logFailure?.(config, message);
      instance.isStale = false;
      if (instance.reported === '') this.#report(instance, message);
    },
  };

  #sentenceOf({ configId }: Step, error: unknown): string {
    const config = this.#instances.get(configId)?.config;
    return config === undefined ? 'failed' : sentence(error, config);
  }

  #countsOf({ configId }: Step): ConfigCounts {
    return this.#counts.of(this.#instances.get(configId)?.config ?? { id: configId, projectId: 0 });
  }

  #countWaiting(chain: Chain, events: number): void {
    for (const { config } of chain.waiting) this.#counts.of(config).skipped += events;
  }

  #notePassed(configId: number, passed: number): void {
    const instance = this.#instances.get(configId);
    if (instance === undefined) return;
    instance.passed += passed;
    if (!instance.isStale || instance.passed < passedMin) return;
    instance.isStale = false;
    this.#report(instance, '');
  }

  #noteTrouble(instance: Instance): void {
    const { fields, settings } = instance.config;
    const trouble = withoutSecrets(instance.step?.trouble?.() ?? '', fields, settings).slice(0, errorLengthMax);
    if (trouble === instance.trouble) return;
    instance.trouble = trouble;
    this.#report(instance, trouble);
  }

  #report(instance: Instance, error: string): void {
    instance.reported = error;
    this.#errors.set(instance.config.id, { error, updatedAt: instance.config.updatedAt });
  }

  /** Records the result of starting an instance: a new version that starts clears the error of an older one. */
  async #record(instance: Instance, error: string): Promise<void> {
    const { config } = instance;
    if (error === '' && instance.isStale) return;
    instance.reported = error;
    if (config.error === error || (error === '' && !config.isErrorOfChain)) return;
    const { db, log, clock, hold } = this.#deps;
    if (error !== '') log.warn({ configId: config.id, error }, 'transformation failed to start');
    await db.transaction().execute(async (tx) => {
      await hold?.(tx);
      await setConfigError(tx, config.id, { error, source: chainSource }, clock.now());
    });
  }
}

/** Writes the changes of a window. Belongs in the transaction that moves the cursor. `now` in ms. */
export async function writeChainChanges(tx: Queries, changes: ChainChanges, now: number): Promise<void> {
  await addConfigCounts(tx, changes.counts);
  await recordErrors(tx, changes.failures);
  for (const [configId, { error, updatedAt }] of changes.errors) {
    const config = await tx
      .selectFrom('plugin_configs')
      .select('updated_at')
      .where('id', '=', configId)
      .executeTakeFirst();
    // If the config was changed since, another version failed than the one that runs now.
    if (config?.updated_at === updatedAt) await setConfigError(tx, configId, { error, source: chainSource }, now);
  }
}

function sentence(error: unknown, { fields, settings }: TransformConfig): string {
  const text = error instanceof Error ? error.message : String(error);
  return withoutSecrets(text, fields, settings).slice(0, errorLengthMax) || 'failed without a message';
}

/** Waits for the work, at most `ms`. Rejects when aborted. */
async function atMost(ms: number, work: Promise<unknown>, aborted: AbortSignal | undefined): Promise<void> {
  const over = new AbortController();
  const signal = aborted === undefined ? over.signal : AbortSignal.any([aborted, over.signal]);
  const wait = async (): Promise<void> => {
    for (let left = ms; left > 0; left -= pieceMs) await delay(Math.min(left, pieceMs), undefined, { signal });
  };
  try {
    await Promise.race([work, wait()]);
  } finally {
    over.abort();
  }
}
