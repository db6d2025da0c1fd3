import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Static } from 'typebox';
import type { historicalSettingsSchema } from '../../../../src/wire/contract/historical-settings.ts';
import type { importFormatListSchema, importFormatSchema } from '../../../../src/wire/contract/import-formats.ts';
import type { PreflightResult } from '../../../../src/wire/contract/import-preflight.ts';
import type { importPreviewResultSchema } from '../../../../src/wire/contract/import-preview.ts';
import type {
  ImportRunRecord,
  ImportRunsRecord,
  ImportStageRecord,
} from '../../../../src/wire/contract/import-runs.ts';
import type { ImportScheduleRecord, ImportScheduleSet } from '../../../../src/wire/contract/import-schedules.ts';
import type { ImportUndoPlan } from '../../../../src/wire/contract/import-undo.ts';
import type { PluginConfigRecord } from '../../../../src/wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../../../../src/wire/contract/plugins.ts';
import { configsPath as pathOfConfigs } from '../../api/configs.ts';
import { readStream } from '../../api/event-stream.ts';
import { parseExact } from '../../api/exact-json.ts';
import { apiPages, apiQuery, type NextPage, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { waitForSignIn } from '../../api/wait-for-sign-in.ts';
import { isUnfinished } from '../../components/run-state-badge.tsx';
import { choiceSetting, readChoice } from './choice-fields.ts';
import { settingsBody, type SettingValues } from '../../components/schema-values.ts';

export type Run = ImportRunRecord;
export type Stage = ImportStageRecord;
export type ListedRun = ImportRunsRecord['results'][number];
export type RunState = Run['state'];
export type ImportConfig = PluginConfigRecord;
export type Plugin = PluginRecord;
export type Preflight = PreflightResult;
export type UndoPlan = ImportUndoPlan;

const pageSize = 100;

export function configsPath(projectId: number): string {
  return pathOfConfigs(projectId, 'import_app');
}

export function configPath(projectId: number, configId: number): string {
  return `${configsPath(projectId)}/${configId}`;
}

/** Takes the ids of a config id for runs of the command line. */
export const commandLineConfigId = 0;

export interface RunIds {
  readonly projectId: number;
  readonly configId: number;
  readonly runId: string;
}

export function runPath({ projectId, configId, runId }: RunIds): string {
  return `${configPath(projectId, configId)}/runs/${encodeURIComponent(runId)}`;
}

export function runsPath(projectId: number): string {
  return projectPath(projectId, 'import_runs');
}

type RunsPage = NextPage<ListedRun> & Pick<ImportRunsRecord, 'by_state'>;

/** Lists runs of all imports, newest first. */
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

export function settingsQuery(projectId: number, configId: number) {
  return apiQuery<SettingValues>(`${configPath(projectId, configId)}/settings`);
}

export type HistoricalSettings = Static<typeof historicalSettingsSchema>;

/** The limits for history that apply to the project. */
export function historicalSettingsQuery(projectId: number) {
  return apiQuery<HistoricalSettings>(projectPath(projectId, 'historical_migrations/settings'));
}

export function runQuery(ids: RunIds) {
  return apiQuery<Run>(runPath(ids));
}

/** Lists import apps that can be used as a source. */
export function sourcesQuery(projectId: number) {
  return apiQuery<{ readonly results: readonly Plugin[] }>(projectPath(projectId, 'plugins'), {
    kind: 'import-app',
    limit: pageSize,
  });
}

export function startRun(projectId: number, configId: number, body: object): Promise<Run> {
  return request<Run>(`${configPath(projectId, configId)}/runs`, { method: 'POST', body });
}

type Verb = 'pause' | 'resume' | 'cancel' | 'retry_rejected' | 'verify' | 'promote' | 'undo';

export function controlRun(ids: RunIds, verb: Verb, body?: object): Promise<Run> {
  return request<Run>(`${runPath(ids)}/${verb}`, { method: 'POST', ...(body === undefined ? {} : { body }) });
}

export function dryUndo(ids: RunIds): Promise<UndoPlan> {
  return request<UndoPlan>(`${runPath(ids)}/undo`, { method: 'POST', body: { dry_run: true } });
}

export type Schedule = ImportScheduleRecord;
export type ScheduleFields = ImportScheduleSet;

export const schedulesPath = (projectId: number): string => projectPath(projectId, 'import_schedules');

export function schedulesQuery(projectId: number) {
  return apiPages<Schedule>(schedulesPath(projectId), { limit: 100 });
}

const pathOf = (projectId: number, configId: number): string => `${configPath(projectId, configId)}/schedule`;

export function setSchedule(projectId: number, configId: number, body: ScheduleFields): Promise<Schedule> {
  return request<Schedule>(pathOf(projectId, configId), { method: 'PUT', body });
}

export function pauseSchedule(projectId: number, configId: number, paused: boolean): Promise<Schedule> {
  return request<Schedule>(pathOf(projectId, configId), { method: 'PATCH', body: { paused } });
}

export function runSchedule(projectId: number, configId: number): Promise<Run> {
  return request<Run>(`${pathOf(projectId, configId)}/run`, { method: 'POST', body: {} });
}

export async function deleteSchedule(projectId: number, configId: number): Promise<void> {
  await request(pathOf(projectId, configId), { method: 'DELETE' });
}

export type Formats = Static<typeof importFormatListSchema>;
export type Format = Static<typeof importFormatSchema>;
export type Preview = Static<typeof importPreviewResultSchema>;

export function formatsQuery(projectId: number) {
  return apiQuery<Formats>(projectPath(projectId, 'import_formats'));
}

export function formatQuery(projectId: number, slug: string) {
  return apiQuery<Format>(projectPath(projectId, `import_formats/${encodeURIComponent(slug)}`));
}

/** Converts the first records of a saved import to events, with some settings replaced. */
export function readPreview(
  projectId: number,
  body: { readonly config_id: number; readonly settings: SettingValues; readonly records: number },
  signal?: AbortSignal,
): Promise<Preview> {
  return request<Preview>(projectPath(projectId, 'import_preview'), {
    method: 'POST',
    body,
    ...(signal === undefined ? {} : { signal }),
  });
}

export function createImport(projectId: number, plugin: number, name: string): Promise<ImportConfig> {
  return request<ImportConfig>(configsPath(projectId), { method: 'POST', body: { plugin, name } });
}

export function changeSettings(projectId: number, configId: number, settings: SettingValues): Promise<SettingValues> {
  const path = `${configPath(projectId, configId)}/settings`;
  return request<SettingValues>(path, { method: 'PATCH', body: settingsBody(settings) });
}

/** Stores rules in an import and repeats the check of its run with them. */
export async function applyRules(ids: RunIds, rules: Readonly<Record<string, string>>): Promise<Run> {
  const { projectId, configId } = ids;
  const settings = await request<SettingValues>(`${configPath(projectId, configId)}/settings`);
  await changeSettings(projectId, configId, { choose: choiceSetting({ ...readChoice(settings['choose']), ...rules }) });
  return controlRun(ids, 'resume', { rules, last: 'check' });
}

/** Returns a run; until it ends, the progress stream keeps it up to date. */
export function useRun({ projectId, configId, runId }: RunIds): UseQueryResult<Run> {
  const client = useQueryClient();
  const query = useQuery(runQuery({ projectId, configId, runId }));
  const state = query.data?.state;
  const isOpen = state !== undefined && isUnfinished(state);
  useEffect(() => {
    if (!isOpen) return undefined;
    const ids = { projectId, configId, runId };
    const abort = new AbortController();
    const read = readStream(`${runPath(ids)}/progress`, {
      signal: abort.signal,
      waitForSignIn: (signal) => waitForSignIn(client, signal),
      onMessage: ({ event, data }) => {
        if (event === 'progress') client.setQueryData(runQuery(ids).queryKey, parseExact(data) as Run);
      },
    });
    // If the stream is refused, the run itself reports the same error.
    read.catch(() => client.invalidateQueries({ queryKey: runQuery(ids).queryKey }));
    return () => abort.abort();
  }, [client, isOpen, projectId, configId, runId]);
  return query;
}
