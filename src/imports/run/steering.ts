import { ApiError } from '../../wire/contract/errors.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { healthOf } from '../../plugins/configs/config-health.ts';
import { attachedKeys, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import { chosenTransform } from './chosen-transform.ts';
import { importFields, runOptionsOf, transformIdOf } from './run-settings.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import { importRunJobs, isImportSource, SettingsError, type ImportSourcePlugin } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import { resumeChangesOf } from './resume-changes.ts';
import { latestOpenRun, latestRun, latestRunFor, type RunsOf } from './latest-runs.ts';
import { createRun, getRunSecrets } from './run-store.ts';
import { refuseReplace } from './refuse-replace.ts';
import {
  cancelRun,
  pauseRun,
  ReplaceLateError,
  RulesLateError,
  resumeRun,
  RunTransitionError,
  verifyAgain,
} from './run-transitions.ts';
import { allowedActions, type Run, type RunAction, type RunOptions } from './run.ts';
import type { SourceHost } from '../source.ts';

interface SteeringDeps {
  readonly registry: Pick<PluginRegistry, 'get'>;
}

/** A job of a config, in the transaction that starts it. */
interface SteeredJob {
  readonly tx: Queries;
  readonly config: StoredConfig;
  readonly type: string;
  readonly payload: JsonObject;
  /** ms since the epoch. */
  readonly now: number;
}

type ImportJob = keyof typeof importRunJobs;

/**
 * Performs a job of an import source. The job returns `false` if the config has no import source: a runner does it then.
 * @throws ApiError if the settings cannot work, or no run of the config is in a suitable state
 */
export function createSteering({ registry }: SteeringDeps): (job: SteeredJob) => Promise<boolean> {
  return async (job) => {
    const source = sourceOf(registry, job.config);
    if (source === undefined) return false;
    await steerRun(source, job);
    return true;
  };
}

/** Returns the import source of a config; `undefined` if it has none. */
export function sourceOf(
  registry: Pick<PluginRegistry, 'get'>,
  { plugin }: Pick<StoredConfig, 'plugin'>,
): ImportSourcePlugin | undefined {
  const code = plugin.versionId === null ? registry.get(plugin.slug) : undefined;
  return code !== undefined && isImportSource(code) ? code : undefined;
}

async function steerRun(source: ImportSourcePlugin, job: SteeredJob): Promise<Run> {
  const { tx, config, payload, now } = job;
  const type = importJob(job.type);
  if (payload['replace'] !== undefined) throw new ApiError('invalid_input', replaceElsewhere, { attr: 'job__payload' });
  const of = { projectId: config.projectId, configId: config.id };
  const latest = async (action: Steered): Promise<string> => (await requireRunFor(tx, of, action)).id;
  switch (type) {
    case 'run':
    case 'check':
      return (
        (await resumeEarlier(tx, of, type, payload)) ??
        startRun(source, { tx, config, payload: lastOf(type, payload), now })
      );
    case 'pause':
      return guarded(async () => pauseRun(tx, await latest('pause')));
    case 'resume':
      return guarded(async () => resumeRun(tx, await latest('resume'), resumeChangesOf(payload)));
    case 'cancel':
      return guarded(async () => cancelRun(tx, await latest('cancel'), now));
    case 'verify':
      return guarded(async () => verifyAgain(tx, await latest('verify')));
  }
}

/** The scope for jobs does not include undoing stored events. */
const replaceElsewhere =
  'A job takes no "replace": it goes into the body of POST …/runs/ or …/resume/, with a key of the scope import_undo:write.';

function importJob(type: string): ImportJob {
  if (Object.hasOwn(importRunJobs, type)) return type as ImportJob;
  const detail = `Unknown job type "${type.slice(0, 100)}". The jobs are: ${Object.keys(importRunJobs).join(', ')}.`;
  throw new ApiError('invalid_input', detail, { attr: 'job__type' });
}

function lastOf(type: 'run' | 'check', payload: JsonObject): JsonObject {
  return type === 'check' ? { ...payload, last: 'check' } : payload;
}

/**
 * Returns the latest open run if the job refers to it: one that is queued, running, paused or failed. A job with its own range or limit
 * needs another run, which must wait while this one is active.
 */
async function resumeEarlier(
  tx: Queries,
  of: RunsOf,
  type: 'run' | 'check',
  payload: JsonObject,
): Promise<Run | undefined> {
  const open = await latestOpenRun(tx, of);
  if (open === undefined) return type === 'run' ? loadChecked(tx, await latestRun(tx, of), payload) : undefined;
  const hasOwnOptions = Object.keys(payload).some((key) => !resumable.has(key));
  const isActive = open.state === 'queued' || open.state === 'running';
  if (hasOwnOptions && isActive) {
    const detail = `Run ${open.id} of this config is ${open.state}. Cancel it first, or start another one through runs/.`;
    throw new ApiError('conflict', detail);
  }
  if (hasOwnOptions) return undefined;
  if (isActive) return open;
  return guarded(() => resumeRun(tx, open.id, resumeChangesOf(lastOf(type, payload))));
}

const resumable: ReadonlySet<string> = new Set(['rejected_max', 'events_per_second', 'last', 'again']);

/** After a full check `run` continues with its load. A trial must be promoted instead. */
async function loadChecked(tx: Queries, run: Run | undefined, payload: JsonObject): Promise<Run | undefined> {
  if (run === undefined || run.state !== 'completed' || !allowedActions(run).includes('resume')) return undefined;
  if (run.options.limit !== undefined || Object.keys(payload).some((key) => !resumable.has(key))) return undefined;
  return guarded(() => resumeRun(tx, run.id, resumeChangesOf(payload)));
}

/** An undo is requested with the id of a run. */
type Steered = Exclude<RunAction, 'undo'>;

async function requireRunFor(tx: Queries, of: RunsOf, action: Steered): Promise<Run> {
  const found = await latestRunFor(tx, of, action);
  if (found !== undefined) return found;
  const newest = await latestRun(tx, of);
  const there = newest === undefined ? 'it has no runs' : `its latest run is ${newest.state}`;
  throw new ApiError('conflict', `Expected a run of this config for which "${action}" is possible; ${there}.`);
}

interface RunOrder {
  readonly tx: Queries;
  readonly config: StoredConfig;
  /** As `runOptionsOf` takes it. */
  readonly payload: JsonObject;
  /** ms since the epoch. */
  readonly now: number;
  /** A schedule starts it. */
  readonly scheduled?: true;
}

/** @throws ApiError when the settings cannot work */
export async function startRun(source: ImportSourcePlugin, { tx, ...order }: RunOrder): Promise<Run> {
  const plan = await planRun(source, { tx, ...order });
  await refuseReplace(tx, { projectId: order.config.projectId }, plan.options.replace);
  return createRun(tx, { ...ownerOf(order.config), ...plan, now: order.now });
}

/** The options and secrets of a new run. */
export interface RunPlan {
  readonly options: RunOptions;
  /** Keys of the target. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** @throws ApiError when the settings cannot work */
export async function planRun(
  source: ImportSourcePlugin,
  { tx, config, payload, now, scheduled }: RunOrder,
): Promise<RunPlan> {
  refuseUnfit(config);
  refuseSettings(source, config, now);
  const { options, transform: id } = optionsOf(source, config, payload);
  const { projectId } = config;
  const transform =
    id === undefined ? undefined : await chosenTransform(tx, { projectId, id, now, target: options.target });
  const more = { ...(transform && { transform }), ...(scheduled && { scheduled }) };
  return { options: { ...options, ...more }, secrets: targetSecrets(config) };
}

/**
 * Starts the full form of a trial, once only: the trial's options for records without its limit. Target and speed come from the present
 * settings, so that a trial may have gone to a test project.
 * @throws ApiError
 */
export async function promoteRun(
  source: ImportSourcePlugin,
  { tx, config, trial, now }: Omit<RunOrder, 'payload'> & { readonly trial: Run },
): Promise<Run> {
  if (trial.options.limit === undefined || !['completed', 'undone'].includes(trial.state)) {
    const was = trial.options.limit === undefined ? 'a run without a limit' : `one that is ${trial.state}`;
    throw new ApiError('conflict', `Expected a trial (a run with a limit) that is completed, got ${was}.`);
  }
  const twin = await tx
    .selectFrom('import_runs')
    .select('id')
    .where('promoted_from', '=', trial.id)
    .where('state', 'not in', ['cancelled', 'undone'])
    .executeTakeFirst();
  if (twin !== undefined) throw new ApiError('conflict', `The trial has already been promoted: run ${twin.id}.`);
  refuseUnfit(config);
  refuseSettings(source, config, now);
  const { limit: _limit, ...kept } = trial.options;
  const { target, eventsPerSecond } = optionsOf(source, config, recordsOf(trial.options)).options;
  const options: RunOptions = { ...kept, target, eventsPerSecond, last: 'report' };
  const promoted = { promotedFrom: trial.id, secrets: await secretsFor(tx, config, trial, options), now };
  return createRun(tx, { ...ownerOf(config), options, ...promoted });
}

/** Returns the config's present secrets; those of the trial if its target is the same and the settings have none. */
async function secretsFor(
  tx: Queries,
  config: StoredConfig,
  trial: Run,
  { target }: RunOptions,
): Promise<Readonly<Record<string, string>>> {
  const own = targetSecrets(config);
  const isSame = JSON.stringify(trial.options.target) === JSON.stringify(target);
  return isSame ? { ...(await getRunSecrets(tx, trial.id)), ...own } : own;
}

/** Returns a run's options for records, in the form of a payload. */
function recordsOf({ format, formatOptions, names, choice }: RunOptions): JsonObject {
  return {
    format,
    format_options: { ...formatOptions },
    ...(names === undefined ? {} : { names }),
    ...(choice === undefined ? {} : { choose: choice }),
  };
}

function ownerOf({ projectId, id, plugin }: StoredConfig) {
  return { projectId, configId: id, source: plugin.slug };
}

function refuseUnfit(config: StoredConfig): void {
  if (config.deleted) throw new ApiError('conflict', 'The config is in the bin; restore it first.');
  const missing = missingRequired(config.plugin.fields, config.settings, attachedKeys(config));
  if (missing.length > 0) throw new ApiError('invalid_input', `The config cannot run: ${healthOf(config)}.`);
}

/** `transform`: the id of its config. */
function optionsOf(
  source: ImportSourcePlugin,
  { settings }: StoredConfig,
  payload: JsonObject,
): { readonly options: RunOptions; readonly transform: number | undefined } {
  try {
    return { options: runOptionsOf(source, settings, payload), transform: transformIdOf(settings, payload) };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const fields = [...source.fields, ...importFields(source)];
    throw new ApiError('invalid_input', withoutSecrets(error.message, fields, settings), { cause: error });
  }
}

const secretSettings = { apiKey: 'target_api_key', personalApiKey: 'target_personal_api_key' } as const;

/** Stored with the run, so that changed settings do not send half of it elsewhere. */
function targetSecrets({ settings }: StoredConfig): Readonly<Record<string, string>> {
  const given = Object.entries(secretSettings).map(([name, key]) => [name, settings[key]] as const);
  return Object.fromEntries(
    given.filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string' && pair[1] !== ''),
  ) as Readonly<Record<string, string>>;
}

/** Turns a refused transition into a conflict that names the allowed actions. */
export async function guarded<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof RunTransitionError || error instanceof ReplaceLateError || error instanceof RulesLateError)
      throw new ApiError('conflict', `${error.message}.`, { cause: error });
    throw error;
  }
}

/**
 * Refuses settings with which the source cannot be created, immediately and before anything is fetched. What only the other side knows
 * (an invalid key, a missing file) the run finds out.
 * @throws ApiError invalid_input that names the setting
 */
export function refuseSettings(source: ImportSourcePlugin, { settings }: StoredConfig, now: number): void {
  try {
    source.createSource(withDefaults(source.fields, settings), idleHost(now));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const detail = withoutSecrets(error.message, source.fields, settings);
    const attr = error.key === undefined ? null : `settings.${error.key}`;
    throw new ApiError('invalid_input', detail, { attr, cause: error });
  }
}

/** Returns a host for a source that is created but not used. */
function idleHost(now: number): SourceHost {
  const unused = (): Promise<never> =>
    Promise.reject(new Error('expected a source that is created only, got a request'));
  return {
    stream: unused,
    resolve: unused,
    allowedDirs: [],
    uploadsDir: '',
    tempDir: '',
    now: () => now,
  };
}
