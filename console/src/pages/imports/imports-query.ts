import type { HistoricalMigrationRecord } from '../../../../src/wire/contract/historical-migrations.ts';
import type { PreflightResult } from '../../../../src/wire/contract/import-preflight.ts';
import type {
  ImportRunRecord,
  ImportRunsRecord,
  ImportStageRecord,
} from '../../../../src/wire/contract/import-runs.ts';
import type { ImportUndoPlan } from '../../../../src/wire/contract/import-undo.ts';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { PluginConfigRecord } from '../../../../src/wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../../../../src/wire/contract/plugins.ts';
import { apiPages, apiQuery, projectPath, type NextPage } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { SettingValues } from '../../components/schema-values.ts';

export type Run = ImportRunRecord;
export type Stage = ImportStageRecord;
export type ListedRun = ImportRunsRecord['results'][number];
export type RunState = Run['state'];
export type ImportConfig = PluginConfigRecord;
export type Plugin = PluginRecord;
export type Preflight = PreflightResult;
export type UndoPlan = ImportUndoPlan;
export type Agreement = HistoricalMigrationRecord;

const pageSize = 100;

export function configsPath(projectId: number): string {
  return projectPath(projectId, 'pipeline_import_apps_configs');
}

export function configPath(projectId: number, configId: number): string {
  return `${configsPath(projectId)}/${configId}`;
}

/** In place of the id of a config: runs of the command line. */
export const ofCommands = 0;

export interface RunPlace {
  readonly projectId: number;
  readonly configId: number;
  readonly runId: string;
}

export function runPath({ projectId, configId, runId }: RunPlace): string {
  return `${configPath(projectId, configId)}/runs/${encodeURIComponent(runId)}`;
}

export function runsPath(projectId: number): string {
  return projectPath(projectId, 'import_runs');
}

type RunsPage = NextPage<ListedRun> & Pick<ImportRunsRecord, 'by_state'>;

/** Runs of all imports, newest first, page after page. */
export function runsQuery(
  projectId: number,
  filter: { readonly state?: string; readonly source?: string; readonly config?: string | number } = {},
) {
  const query = { state: filter.state, source: filter.source, plugin_config: filter.config, limit: pageSize };
  return apiPages<ListedRun, RunsPage>(runsPath(projectId), query);
}

export function configsQuery(projectId: number) {
  return apiPages<ImportConfig>(configsPath(projectId), { limit: pageSize });
}

export function configQuery(projectId: number, configId: number) {
  return apiQuery<ImportConfig>(configPath(projectId, configId));
}

/** Transformations of the project, on or off. */
export function transformationsQuery(projectId: number) {
  return apiQuery<Page<PluginConfigRecord>>(projectPath(projectId, 'pipeline_transformation_configs'), { limit: 1000 });
}

export function settingsQuery(projectId: number, configId: number) {
  return apiQuery<SettingValues>(`${configPath(projectId, configId)}/settings`);
}

export function runQuery(place: RunPlace) {
  return apiQuery<Run>(runPath(place));
}

/** Import apps that can be chosen as a source. */
export function sourcesQuery(projectId: number) {
  return apiQuery<{ readonly results: readonly Plugin[] }>(projectPath(projectId, 'plugins'), {
    kind: 'import-app',
    limit: pageSize,
  });
}

export function startRun(projectId: number, configId: number, body: object): Promise<Run> {
  return request<Run>(`${configPath(projectId, configId)}/runs`, { method: 'POST', body });
}

export type Verb = 'pause' | 'resume' | 'cancel' | 'retry_rejected' | 'verify' | 'promote' | 'undo';

export function steerRun(place: RunPlace, verb: Verb, body?: object): Promise<Run> {
  return request<Run>(`${runPath(place)}/${verb}`, { method: 'POST', ...(body === undefined ? {} : { body }) });
}

export function dryUndo(place: RunPlace): Promise<UndoPlan> {
  return request<UndoPlan>(`${runPath(place)}/undo`, { method: 'POST', body: { dry_run: true } });
}
