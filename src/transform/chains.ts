import { isoMicros, type Clock } from '../base/clock.ts';
import { readConfigRevision } from '../metadata/config-revision.ts';
import type { Metadata } from '../metadata/database.ts';
import type { Queries } from '../metadata/queries.ts';
import { setConfigError } from '../plugin-configs/set-error.ts';
import { missingRequired, withDefaults } from '../plugins/check-settings.ts';
import { withoutSecrets } from '../plugins/mask-secrets.ts';
import { trialHost } from '../plugins/trial-host.ts';
import type { Plugin, TransformEvent, Transformation } from '../plugins/plugin.ts';
import type { Log } from '../telemetry/log.ts';
import { runChain, type ChainResult, type ChainStep, type ChainTally } from './chain.ts';
import { loadTransformConfigs, type TransformConfig } from './configs.ts';
import { addConfigCounts, type ConfigCounts } from './metrics-rows.ts';

const noGeoIp = { geoip: undefined, geoipProblem: '' };
const hourMs = 3_600_000;
/** Events without a failure after which old trouble is over. */
const passedMin = 100;
const errorLengthMax = 500;

export type FindPlugin = (slug: string) => Plugin | undefined;

/** A config that runs. */
interface Instance extends ChainStep {
  readonly config: TransformConfig;
  readonly plugin: Plugin;
  /** Trouble that is on record, so that only the first failure is written. */
  reported: string;
  /** That trouble dates from before this process: it is over once enough events have passed without failing. */
  isStale: boolean;
  /** Events that passed since it was loaded. */
  passed: number;
}

/** What a window did with the chains, to be written in its transaction. */
export interface ChainChanges {
  readonly counts: readonly ConfigCounts[];
  /** By config: the failure that is not on record yet (`""`: one that is over), and of which version of the config (`updated_at`). */
  readonly errors: ReadonlyMap<number, { readonly error: string; readonly updatedAt: string }>;
}

/**
 * The transformations of all projects. `refresh` before each window takes up changes of configuration; a config that
 * cannot run is left out, with the reason on record, and comes back with its next change.
 */
export class TransformChains {
  readonly #db: Metadata;
  readonly #findPlugin: FindPlugin;
  readonly #clock: Clock;
  readonly #log: Log;
  #revision = -1;
  #isFirstLoad = true;
  #instances = new Map<number, Instance>();
  /** Versions of configs that could not be made, so that each is tried and reported once. */
  #refused = new Map<number, string>();
  #byProject = new Map<number, Instance[]>();
  #counts = new Map<number, ConfigCounts>();
  #errors = new Map<number, { readonly error: string; readonly updatedAt: string }>();

  constructor(parts: { db: Metadata; findPlugin: FindPlugin; clock: Clock; log: Log }) {
    this.#db = parts.db;
    this.#findPlugin = parts.findPlugin;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Takes up changed configuration. Returns the revision, which changes with every such change. */
  async refresh(): Promise<number> {
    const revision = await readConfigRevision(this.#db);
    if (revision === this.#revision) return revision;
    const configs = await loadTransformConfigs(this.#db);
    const instances = new Map<number, Instance>();
    const refused = new Map<number, string>();
    for (const config of configs) {
      const instance = await this.#take(config, refused);
      if (instance !== undefined) instances.set(config.id, instance);
    }
    this.#instances = instances;
    this.#refused = refused;
    this.#byProject = Map.groupBy(instances.values(), (instance) => instance.config.projectId);
    this.#revision = revision;
    this.#isFirstLoad = false;
    return revision;
  }

  /** Whether any transformation runs in the project. */
  has(projectId: number): boolean {
    return this.#byProject.has(projectId);
  }

  /** `source` makes a fresh copy of the event at each call. */
  run(projectId: number, source: () => TransformEvent): ChainResult {
    return runChain(this.#byProject.get(projectId) ?? [], source, this.#tally);
  }

  /** What happened since the last call. */
  takeChanges(): ChainChanges {
    const counts = [...this.#counts.values()];
    for (const { configId, succeeded, dropped } of counts) {
      const instance = this.#instances.get(configId);
      if (instance === undefined) continue;
      instance.passed += succeeded + dropped;
      if (!instance.isStale || instance.passed < passedMin) continue;
      instance.isStale = false;
      this.#report(instance, '');
    }
    const changes = { counts, errors: this.#errors };
    this.#counts = new Map();
    this.#errors = new Map();
    return changes;
  }

  /** Forgets what is not stored. */
  reset(): void {
    this.takeChanges();
    this.#revision = -1;
  }

  readonly #tally: ChainTally = {
    succeeded: (step) => {
      this.#countsOf(step).succeeded += 1;
    },
    dropped: (step) => {
      this.#countsOf(step).dropped += 1;
    },
    failed: (step, error) => {
      this.#countsOf(step).failed += 1;
      const instance = this.#instances.get(step.configId);
      if (instance === undefined) return;
      instance.isStale = false;
      if (instance.reported === '') this.#report(instance, sentence(error, instance.plugin, instance.config));
    },
  };

  #report(instance: Instance, error: string): void {
    instance.reported = error;
    this.#errors.set(instance.configId, { error, updatedAt: instance.config.updatedAt });
  }

  #countsOf({ configId }: ChainStep): ConfigCounts {
    const known = this.#counts.get(configId);
    if (known !== undefined) return known;
    const projectId = this.#instances.get(configId)?.config.projectId ?? 0;
    const now = this.#clock.now();
    const hour = isoMicros(now - (now % hourMs));
    const counts = { configId, projectId, hour, succeeded: 0, failed: 0, dropped: 0 };
    this.#counts.set(configId, counts);
    return counts;
  }

  /** The running instance of this version, else a new one; undefined when it cannot be made. */
  async #take(config: TransformConfig, refused: Map<number, string>): Promise<Instance | undefined> {
    const running = this.#instances.get(config.id);
    if (running?.config.version === config.version) {
      const isStale = running.isStale || (running.reported === '' && config.error !== '');
      return { ...running, reported: config.error, isStale };
    }
    if (this.#refused.get(config.id) === config.version) {
      refused.set(config.id, config.version);
      return undefined;
    }
    const plugin = this.#findPlugin(config.slug);
    const made = makeTransformation(config, plugin);
    if (typeof made === 'string' || plugin === undefined) {
      refused.set(config.id, config.version);
      await this.#record(config, typeof made === 'string' ? made : `there is no plugin "${config.slug}"`);
      return undefined;
    }
    const label = `${config.pluginName} (${config.id})`;
    const instance = { configId: config.id, label, transform: made, config, plugin, passed: 0 };
    if (this.#isFirstLoad) return { ...instance, reported: config.error, isStale: config.error !== '' };
    // A new version starts well; what an older one ran into is over.
    await this.#record(config, '');
    return { ...instance, reported: '', isStale: false };
  }

  async #record(config: TransformConfig, error: string): Promise<void> {
    if (config.error === error) return;
    if (error !== '') this.#log.warn({ configId: config.id, error }, 'a transformation cannot start');
    await this.#db.transaction().execute((tx) => setConfigError(tx, config.id, error, this.#clock.now()));
  }
}

/** Writes what a window did. Belongs into the transaction that moves the cursor. `now` in ms. */
export async function writeChainChanges(tx: Queries, changes: ChainChanges, now: number): Promise<void> {
  await addConfigCounts(tx, changes.counts);
  for (const [configId, { error, updatedAt }] of changes.errors) {
    const config = await tx
      .selectFrom('plugin_configs')
      .select('updated_at')
      .where('id', '=', configId)
      .executeTakeFirst();
    // Somebody has changed it since: what failed is not what runs now.
    if (config?.updated_at === updatedAt) await setConfigError(tx, configId, error, now);
  }
}

/** The transformation, or why there is none. */
function makeTransformation(config: TransformConfig, plugin: Plugin | undefined): Transformation | string {
  if (plugin === undefined || plugin.kind !== 'transformation') {
    return `expected the plugin "${config.slug}" to be a transformation of this version; upgrade or remove the config`;
  }
  const missing = missingRequired(plugin.fields, config.settings, config.attached).map((key) => `"${key}"`);
  if (missing.length > 0) return `missing required setting${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
  try {
    const made = plugin.create(withDefaults(plugin.fields, config.settings), trialHost(new Map(), noGeoIp));
    return typeof made === 'function' ? made : 'expected a transformation of single events';
  } catch (error) {
    return sentence(error, plugin, config);
  }
}

function sentence(error: unknown, plugin: Plugin, config: TransformConfig): string {
  const text = error instanceof Error ? error.message : String(error);
  return withoutSecrets(text, plugin.fields, config.settings).slice(0, errorLengthMax) || 'failed without a message';
}
