import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { StoreReader } from '../../stores/events/eventstore.ts';
import type { ApiReply, ApiRequest } from '../http/api-route.ts';
import { removedText } from '../../imports/run/refuse-replace.ts';
import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Staging } from '../../imports/staging.ts';
import { runOverrides } from '../../imports/run/run-settings.ts';
import type { PlanText } from '../../imports/run/tracking-plan-of.ts';
import { sourceOf, type RunPlan } from '../../imports/run/steering.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findRemovedRun } from '../../stores/metadata/import-loads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange } from '../../stores/metadata/record-change.ts';
import { shownName } from '../../plugins/configs/config-record.ts';
import type { Work } from '../../plugins/configs/save-changes.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import type { ImportSourcePlugin } from '../../plugins/plugin.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import type { PreviewAnswer } from './preview-answer.ts';
import { requireConfig } from './plugin-configs-deps.ts';

export interface ImportRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** `undefined` if this process has no event store. */
  readonly store?: StoreReader | undefined;
  /** `undefined` if this process has no storage for files of imports. */
  readonly imports?: ImportPlaces | undefined;
}

export interface ImportPlaces {
  readonly staging: Staging;
  /** Directory with a subdirectory of uploads per project. `undefined` if uploads are in staging. */
  readonly uploadsDir: string | undefined;
  /** Maximum size of a file. */
  readonly uploadBytesMax: number;
  /** Maximum size of all files of a project. */
  readonly uploadsBytesMax: number;
  /** `undefined` if this process cannot read sources. */
  readonly preflight?: (order: PreflightOrder, signal: AbortSignal) => Promise<PreviewAnswer>;
  /** `undefined` if this process cannot read sources. */
  readonly preview?: (order: PreviewOrder, signal: AbortSignal) => Promise<PreviewAnswer>;
  /** Polling interval of progress streams, default 1 s. */
  readonly progressMs?: number;
}

/** The plan of a run and its config. */
export interface PreflightOrder extends RunPlan {
  readonly projectId: number;
  readonly configId: number;
}

/** The source to preview. */
export interface PreviewOrder extends Pick<RunPlan, 'options'> {
  readonly projectId: number;
  readonly source: ImportSourcePlugin;
  readonly settings: SettingValues;
  readonly records: number;
  /** The tracking plan that applies to the events; `undefined` if none does. */
  readonly plan: PlanText | undefined;
  /** Whether the project has a list of ids that are kept out, which the process reads itself: it may be long. */
  readonly keepsOut: boolean;
}

export const family = 'import-app';
export const configsBase = '/api/projects/:project_id/pipeline_import_apps_configs';
export const runsBase = `${configsBase}/:id/runs`;
export const runsTag = 'Import runs';

export interface RunParams {
  readonly id: number;
  readonly run: string;
}

/** @throws ApiError not_found, also for a run of another config */
export async function requireRun(db: Queries, projectId: number, { id, run }: RunParams): Promise<Run> {
  const found = await getRun(db, run, { projectId });
  if (found !== undefined && found.configId === id) return found;
  const removed = found === undefined ? await findRemovedRun(db, run, { projectId }) : undefined;
  if (removed?.configId === id) throw new ApiError('not_found', `The run was removed: ${removedText(removed)}.`);
  throw new ApiError('not_found', 'Not found.');
}

/** @throws ApiError not_found, or conflict if the config's app has no runs */
export async function requireSource(
  registry: Pick<PluginRegistry, 'get'>,
  work: Pick<Work, 'tx' | 'projectId' | 'now'>,
  id: number,
): Promise<{ readonly config: StoredConfig; readonly source: ImportSourcePlugin }> {
  const config = await requireConfig(work.tx, { ...work, family, id });
  const source = sourceOf(registry, config);
  if (source !== undefined) return { config, source };
  throw new ApiError('conflict', `"${config.plugin.name}" is not an import source: it has jobs, but no runs.`);
}

/** Owner of runs: a config or the command line. */
export interface RunOwner {
  /** 0 for the command line. */
  readonly id: number;
  readonly shown: string;
}

export const commandLine: RunOwner = { id: 0, shown: 'Command line' };

/** @throws ApiError not_found */
export async function requireOwner(
  work: Pick<Work, 'projectId' | 'now'> & { readonly tx: Queries },
  id: number,
): Promise<RunOwner> {
  if (id === commandLine.id) return commandLine;
  return ownerOf(await requireConfig(work.tx, { ...work, family, id }));
}

export function ownerOf(config: StoredConfig): RunOwner {
  return { id: config.id, shown: shownName(config) };
}

/** Records a user's action on a run in the activity log. Automatic actions of the service are in the run. */
export async function recordRun(
  { tx, actor, projectId, now }: Work,
  owner: RunOwner,
  activity: string,
  run: Run,
): Promise<void> {
  const { state, stage, options } = run;
  const replace = isReplacing(activity) ? options.replace : undefined;
  const after = { config_id: owner.id, state, stage, ...(replace !== undefined && { replace }) };
  const item = { scope: 'ImportRun', itemId: run.id, name: options.name ?? owner.shown } as const;
  await recordChange(tx, actor, { ...item, projectId, activity, after, now });
}

/** Whether the action started or resumed a run with `replace`. */
function isReplacing(type: string): boolean {
  return type === 'run' || type === 'resume';
}

/** Returns the fields of a run's body that override settings. */
export function payloadOf(body: object): JsonObject {
  const known: readonly string[] = runOverrides;
  return Object.fromEntries(Object.entries(body).filter(([key]) => known.includes(key))) as JsonObject;
}

/** @throws ApiError unavailable */
export function requirePlaces({ imports }: ImportRouteDeps): ImportPlaces {
  if (imports !== undefined) return imports;
  throw new ApiError(
    'unavailable',
    'This process does not store import files; send the request to one that runs imports.',
  );
}

/** GET routes also serve HEAD, which has no body: a stream would be read to its end for nothing. */
export function headOnly(request: ApiRequest, contentType: string): ApiReply | undefined {
  return request.method === 'HEAD' ? { status: 200, headers: { 'content-type': contentType } } : undefined;
}
