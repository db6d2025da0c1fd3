import type { JsonObject } from '../../base/json.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import { familyPaths, type Family, type PluginRecord } from '../../wire/contract/plugins.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import type { TrackingPlanRecord } from '../../wire/contract/tracking-plan.ts';
import type { TrackingPlan } from '../../wire/tracking-plan/plan.ts';
import { readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { isField, type PluginField, type SchemaEntry } from '../../plugins/fields.ts';
import type { ApiClient } from '../api-client.ts';
import { listAll, projectApi, type ServiceOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { overlapMinutesDefault } from '../../wire/contract/import-schedule-limits.ts';
import type { ImportScheduleRecord } from '../../wire/contract/import-schedules.ts';
import type { ConfigEntry } from './configuration-file.ts';

/** A config in the service. */
export interface PresentConfig {
  readonly id: number;
  readonly family: Family;
  /** Slug. */
  readonly plugin: string;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  /** As stored; secrets are masks, files objects that describe them. */
  readonly settings: JsonObject;
  /** Version that it runs. */
  readonly version: string;
  readonly fields: readonly PluginField[];
  readonly pluginName: string;
  readonly pluginDescription: string;
  /** `null` without a schedule. */
  readonly schedule: ScheduleOfFile | null;
  /** Differs after every change. */
  readonly updatedAt: string;
}

export interface PresentProject {
  readonly id: number;
  readonly name: string;
  readonly timezone: string;
  /** In order, without deleted ones. */
  readonly configs: Readonly<Record<Family, readonly PresentConfig[]>>;
}

export function configsPath(root: string, family: Family): string {
  return `${root}/${familyPaths[family]}/`;
}

/** Lists the projects that the key may see. */
export function listProjects(api: ProjectApi): Promise<ProjectRecord[]> {
  return listAll<ProjectRecord>(api, '/api/projects/');
}

/** Lists the plugins that projects of the organisation can use. */
export function listPlugins(api: ProjectApi): Promise<PluginRecord[]> {
  return listAll<PluginRecord>(api, `${api.root}/plugins/`);
}

export async function readProject(
  api: ProjectApi,
  { id, name, timezone }: Pick<ProjectRecord, 'id' | 'name' | 'timezone'>,
  plugins: readonly PluginRecord[],
): Promise<PresentProject> {
  const slugs = new Map(plugins.map((plugin) => [plugin.id, plugin.slug]));
  const read = async (family: Family): Promise<PresentConfig[]> => {
    const records = await listAll<PluginConfigRecord>(api, configsPath(rootOf(id), family));
    const schedules = family === 'import-app' ? await readSchedules(api, rootOf(id)) : undefined;
    return records.map((record) => {
      const config = presentConfig(record, family, slugs.get(record.plugin));
      return Object.assign(config, { schedule: schedules?.get(record.id) ?? null });
    });
  };
  const [transformation, imports] = [await read('transformation'), await read('import-app')];
  return { id, name, timezone, configs: { transformation, 'import-app': imports } };
}

/** The tracking plan of a project in the service. */
export interface PresentPlan {
  readonly version: number;
  /** `undefined` if the project has none. */
  readonly plan: TrackingPlan | undefined;
}

export async function readTrackingPlan(api: ProjectApi, root: string): Promise<PresentPlan> {
  const { version, plan } = await api.get<TrackingPlanRecord>(`${root}/tracking_plan/`);
  return { version, plan: plan === null ? undefined : readPlan(plan) };
}

/** Returns schedules by config id; a service of an earlier version has none. */
async function readSchedules(api: ProjectApi, root: string): Promise<ReadonlyMap<number, ScheduleOfFile>> {
  try {
    const records = await listAll<ImportScheduleRecord>(api, `${root}/import_schedules/`);
    return new Map(records.map((record) => [record.plugin_config, presentSchedule(record)]));
  } catch (error) {
    if (error instanceof CommandError && error.reason === 'notFound') return new Map();
    throw error;
  }
}

/** Returns the configs of a project that does not exist yet. */
export function emptyConfigs(): PresentProject['configs'] {
  return { transformation: [], 'import-app': [] };
}

export function rootOf(projectId: number): string {
  return `/api/projects/${projectId}`;
}

/** @param plugin slug */
export function presentConfig(
  record: PluginConfigRecord,
  family: Family,
  plugin: string | undefined,
): Omit<PresentConfig, 'schedule'> {
  if (plugin === undefined) {
    throw new CommandError('failed', `config ${record.id} has a plugin that is not in the list of plugins; try again`);
  }
  const info = JSON.parse(record.plugin_info) as {
    readonly name: string;
    readonly description: string;
    readonly version: string;
    readonly config_schema: readonly SchemaEntry[];
  };
  return {
    id: record.id,
    family,
    plugin,
    name: record.name,
    description: record.description,
    enabled: record.enabled,
    settings: JSON.parse(record.config) as JsonObject,
    version: info.version,
    fields: info.config_schema.filter(isField),
    pluginName: info.name,
    pluginDescription: info.description,
    updatedAt: record.updated_at,
  };
}

export function fieldsOfPlugin({ config_schema }: PluginRecord): readonly PluginField[] {
  return (config_schema as readonly SchemaEntry[]).filter(isField);
}

/** Waits when the service limits the rate: a file of many configs takes more calls than it allows in a minute. */
export function patientApi(options: ServiceOptions, note: (line: string) => void): ProjectApi {
  const api = projectApi(options);
  const retrying = async <T>(call: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof CommandError) || error.reason !== 'rateLimited' || attempt === attemptsMax) throw error;
        const waitSeconds = Math.min(error.waitSeconds ?? 5, waitSecondsMax);
        note(`rate limited by the service; retrying in ${waitSeconds} s`);
        await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000));
      }
    }
  };
  const get: ApiClient['get'] = (path, query) => retrying(() => api.get(path, query));
  const send: ApiClient['send'] = (...request) => retrying(() => api.send(...request));
  return { ...api, get, send };
}

const attemptsMax = 20;
const waitSecondsMax = 60;

/** The part of a schedule that a file declares, without its progress. */
interface ScheduleOfFile {
  readonly [field: string]: string | number | boolean;
  readonly overlap_minutes: number;
  readonly paused: boolean;
}

/** Fills in the defaults. */
export function wantedSchedule(schedule: NonNullable<ConfigEntry['schedule']>): ScheduleOfFile {
  const {
    every_minutes: every,
    daily_at: at,
    overlap_minutes: overlap = overlapMinutesDefault,
    paused = false,
  } = schedule;
  return scheduleOf(every, at, overlap, paused);
}

function presentSchedule(record: ImportScheduleRecord): ScheduleOfFile {
  const { every_minutes: every, daily_at: at, overlap_minutes: overlap, paused } = record;
  return scheduleOf(every ?? undefined, at ?? undefined, overlap, paused);
}

/** Builds a schedule with a fixed order of keys, for comparison. */
function scheduleOf(
  every: number | undefined,
  at: string | undefined,
  overlap: number,
  paused: boolean,
): ScheduleOfFile {
  const when = { ...(every !== undefined && { every_minutes: every }), ...(at !== undefined && { daily_at: at }) };
  return { ...when, overlap_minutes: overlap, paused };
}
