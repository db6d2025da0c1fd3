import { newId } from '../../base/ids.ts';
import type { Capabilities } from '../../wire/contract/plugins.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { recordErrors } from '../../plugins/services/errors.ts';
import type { LogLine, SandboxInstance } from '../../plugins/sandbox/sandbox.ts';
import { missingOf, openApp, type OpenAppDeps } from './open-app.ts';
import { asError, HopelessError, isWorthRetry } from './outcome.ts';
import { reportFailure, reportSuccess, shownError, toPluginFailure } from './report.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** The published delays for a setup that requests another attempt. */
const setupDelaysMs = [5000, 10_000, 20_000, 40_000, 80_000] as const;
const opensAtOnceMax = 4;

/** The config's plugin cannot be set up. The failure is already recorded. */
export class AppSetupError extends Error {
  override name = 'AppSetupError';
  /** Milliseconds until the next attempt. `undefined` means no attempt before the config changes. */
  readonly retryInMs: number | undefined;

  constructor(message: string, retryInMs: number | undefined, options: ErrorOptions) {
    super(message, options);
    this.retryInMs = retryInMs;
  }
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'opening'; readonly done: Promise<void> }
  | { readonly kind: 'ready'; readonly instance: SandboxInstance }
  | { readonly kind: 'refused'; readonly error: Error; readonly retryAt: number | undefined };

interface Entry {
  readonly row: AppRow;
  readonly instanceId: string;
  state: State;
  setups: number;
  users: number;
  isRetired: boolean;
}

export interface ScheduledApp {
  readonly configId: number;
  readonly projectId: number;
  /** ISO 8601 with microseconds. */
  readonly updatedAt: string;
  readonly tasks: readonly string[];
}

/**
 * Holds the instances of enabled configs whose plugins do more than transform events: scheduled tasks, jobs, onEvent or
 * exportEvents. Plugins with tasks or jobs are set up immediately, the others on first use. A change of the config
 * replaces its instance; a run in progress finishes on the old one.
 */
export class AppInstances {
  readonly #deps: OpenAppDeps;
  readonly #entries = new Map<number, Entry>();
  readonly #closing = new Set<Promise<void>>();
  readonly #capabilities = new Map<number, Capabilities>();
  #revision: number | undefined = undefined;
  #opening = 0;
  #refreshing: Promise<void> = Promise.resolve();

  constructor(deps: OpenAppDeps) {
    this.#deps = deps;
  }

  /** Follows the configs and sets up due instances. Call it every second; it is cheap when nothing changed. */
  async follow(): Promise<void> {
    const revision = await readConfigRevision(this.#deps.db);
    if (revision !== this.#revision) {
      await this.#refresh();
      this.#revision = revision;
    }
    this.#openDue();
  }

  /** Returns the instances that are set up and have scheduled tasks. */
  scheduled(): readonly ScheduledApp[] {
    return [...this.#entries.values()].flatMap(({ row, state }) =>
      state.kind === 'ready' && row.capabilities.scheduled_tasks.length > 0
        ? [{ ...row, tasks: row.capabilities.scheduled_tasks }]
        : [],
    );
  }

  /**
   * Runs `work` on the config's instance, or on a temporary one when the config keeps none (for example because it is disabled).
   * @throws AppSetupError, or any error of opening the instance or of `work`
   */
  async use<Result>(config: StoredConfig, work: (instance: SandboxInstance) => Promise<Result>): Promise<Result> {
    const entry = await this.#entryOf(config);
    if (entry === undefined) return this.#useOnce(config, work);
    entry.users += 1;
    try {
      return await work(await this.#instanceOf(entry));
    } finally {
      entry.users -= 1;
      this.#closeIfDone(entry);
    }
  }

  /** Tears down all instances; runs in progress must have ended before. */
  async close(): Promise<void> {
    await this.#refreshing;
    for (const entry of this.#entries.values()) this.#retire(entry);
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  async #entryOf(config: StoredConfig): Promise<Entry | undefined> {
    if (!config.enabled || config.deleted) return undefined;
    const isCurrent = (entry: Entry | undefined): boolean =>
      entry?.row.updatedAt === config.updatedAt && entry.row.versionId === config.plugin.versionId;
    if (!isCurrent(this.#entries.get(config.id))) await this.#refresh();
    const entry = this.#entries.get(config.id);
    return isCurrent(entry) ? entry : undefined;
  }

  async #useOnce<Result>(config: StoredConfig, work: (instance: SandboxInstance) => Promise<Result>): Promise<Result> {
    const instance = await openApp(this.#deps, config);
    try {
      return await work(instance);
    } finally {
      await this.#tearDown(config.id, instance);
    }
  }

  /** Refreshes run one after the other, so that an older read is never applied last. */
  #refresh(): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#apply());
    this.#refreshing = refreshed.catch(() => undefined);
    return refreshed;
  }

  async #apply(): Promise<void> {
    const rows = await listApps(this.#deps.db, this.#capabilities);
    const wanted = new Map(rows.map((row) => [row.configId, row]));
    for (const [configId, entry] of this.#entries) {
      const row = wanted.get(configId);
      if (row?.updatedAt === entry.row.updatedAt && row.versionId === entry.row.versionId) continue;
      this.#entries.delete(configId);
      this.#retire(entry);
    }
    for (const row of rows) {
      if (this.#entries.has(row.configId)) continue;
      const fresh = { state: { kind: 'idle' }, setups: 0, users: 0, isRetired: false } as const;
      this.#entries.set(row.configId, { row, instanceId: newId(), ...fresh });
    }
  }

  #openDue(): void {
    const now = this.#deps.clock.now();
    for (const entry of this.#entries.values()) {
      if (this.#opening >= opensAtOnceMax) return;
      const { state, row } = entry;
      const isEager = row.capabilities.scheduled_tasks.length > 0 || row.capabilities.jobs.length > 0;
      const isDue = state.kind === 'idle' ? isEager : state.kind === 'refused' && (state.retryAt ?? Infinity) <= now;
      if (isDue) this.#open(entry);
    }
  }

  async #instanceOf(entry: Entry): Promise<SandboxInstance> {
    const { clock } = this.#deps;
    if (entry.state.kind === 'idle') this.#open(entry);
    else if (entry.state.kind === 'refused' && (entry.state.retryAt ?? Infinity) <= clock.now()) this.#open(entry);
    if (entry.state.kind === 'opening') await entry.state.done;
    // The compiler does not see that the state can change during the await.
    const state = entry.state as State;
    if (state.kind === 'ready') return state.instance;
    const error = state.kind === 'refused' ? state.error : new Error('the instance was closed');
    const retryAt = state.kind === 'refused' ? state.retryAt : undefined;
    const retryInMs = retryAt === undefined ? undefined : Math.max(0, retryAt - clock.now());
    throw new AppSetupError(error.message, retryInMs, { cause: error });
  }

  #open(entry: Entry): void {
    this.#opening += 1;
    const done = this.#setUp(entry).finally(() => {
      this.#opening -= 1;
      this.#closeIfDone(entry);
    });
    entry.state = { kind: 'opening', done };
  }

  /** Never rejects: a failure becomes the entry's state. */
  async #setUp(entry: Entry): Promise<void> {
    const { db, clock } = this.#deps;
    const { configId } = entry.row;
    entry.setups += 1;
    let config: StoredConfig | undefined;
    try {
      config = await findAnyConfig(db, configId, clock.now());
      if (config === undefined) throw new HopelessError('the config was deleted');
      const instance = await openApp(this.#deps, config);
      entry.state = { kind: 'ready', instance };
      entry.setups = 0;
      await db.transaction().execute((tx) => reportSuccess(tx, configId, 'setup', clock.now()));
      this.#say(config, entry, 'INFO', `set up (version ${config.plugin.version})`);
    } catch (thrown) {
      const error = asError(thrown);
      if (entry.state.kind === 'ready')
        this.#deps.log.error({ err: error, config: configId }, 'failed to record plugin setup');
      else await this.#refuse(entry, config, error);
    }
  }

  async #refuse(entry: Entry, config: StoredConfig | undefined, error: Error): Promise<void> {
    const { db, clock, log } = this.#deps;
    const now = clock.now();
    const delayMs = setupDelaysMs[entry.setups - 1];
    const retryAt = isWorthRetry(error, 1) && delayMs !== undefined ? now + delayMs : undefined;
    const text = shownError(error, config);
    entry.state = { kind: 'refused', error: new Error(text, { cause: error }), retryAt };
    // A missing setting already shows on the record, and a deleted config has nothing to report.
    if (config === undefined || missingOf(config) !== '') return;
    const next = retryAt === undefined ? 'not retried until the config changes' : 'retrying soon';
    try {
      await db.transaction().execute(async (tx) => {
        await reportFailure(tx, config.id, { what: 'setup', text: `${text} (${next})`, now });
        await recordErrors(tx, [toPluginFailure(config, { error }, { method: 'setupPlugin', now })]);
      });
      this.#say(config, entry, 'ERROR', `setup failed: ${text} (${next})`);
    } catch (trouble) {
      log.error({ err: trouble, config: config.id }, 'failed to record plugin setup failure');
    }
  }

  #say(config: StoredConfig, { instanceId }: Entry, level: LogLine['level'], message: string): void {
    const line = { time: this.#deps.clock.now(), level, source: 'SYSTEM', message, instanceId } as const;
    this.#deps.services(config).log(line);
  }

  #retire(entry: Entry): void {
    entry.isRetired = true;
    this.#closeIfDone(entry);
  }

  #closeIfDone(entry: Entry): void {
    if (!entry.isRetired || entry.users > 0 || entry.state.kind === 'idle') return;
    const { state } = entry;
    if (state.kind === 'opening') {
      this.#keepUntilDone(state.done);
      return;
    }
    entry.state = { kind: 'idle' };
    if (state.kind === 'ready') this.#keepUntilDone(this.#tearDown(entry.row.configId, state.instance));
  }

  async #tearDown(configId: number, instance: SandboxInstance): Promise<void> {
    try {
      await instance.close();
    } catch (error) {
      this.#deps.log.warn({ err: error, config: configId }, 'plugin teardown failed');
    }
  }

  #keepUntilDone(work: Promise<void>): void {
    const kept = work.finally(() => this.#closing.delete(kept));
    this.#closing.add(kept);
  }
}

/** An enabled config whose installed plugin does more than transform events. */
interface AppRow {
  readonly configId: number;
  readonly projectId: number;
  readonly versionId: number;
  /** ISO 8601 with microseconds. */
  readonly updatedAt: string;
  readonly capabilities: Capabilities;
}

/** `parsed` caches capabilities by version; versions never change. */
async function listApps(db: Queries, parsed: Map<number, Capabilities>): Promise<AppRow[]> {
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugin_versions as v', 'v.id', 'c.plugin_version_id')
    .select(['c.id', 'c.project_id', 'c.updated_at', 'v.id as version_id', 'v.capabilities'])
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .orderBy('c.id')
    .execute();
  const apps = rows.map((row) => {
    const capabilities = parsed.get(row.version_id) ?? (JSON.parse(row.capabilities) as Capabilities);
    parsed.set(row.version_id, capabilities);
    return {
      configId: row.id,
      projectId: row.project_id,
      versionId: row.version_id,
      updatedAt: row.updated_at,
      capabilities,
    };
  });
  const used = new Set(apps.map(({ versionId }) => versionId));
  for (const versionId of parsed.keys()) if (!used.has(versionId)) parsed.delete(versionId);
  return apps.filter(({ capabilities }) => hasWork(capabilities));
}

function hasWork({ scheduled_tasks: tasks, jobs, methods }: Capabilities): boolean {
  return tasks.length > 0 || jobs.length > 0 || methods.includes('onEvent') || methods.includes('exportEvents');
}
