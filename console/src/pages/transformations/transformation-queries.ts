import type { Static } from 'typebox';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { PluginConfigRecord, PluginConfigUpdate } from '../../../../src/wire/contract/plugin-configs.ts';
import type { PluginMetricsListRecord } from '../../../../src/wire/contract/plugin-view.ts';
import type {
  PluginInstall,
  PluginRecord,
  PluginUpdate,
  PluginVersionRecord,
  pluginSourceSchema,
} from '../../../../src/wire/contract/plugins.ts';
import { isJsonObject, type JsonObject } from '../../components/json-value.ts';
import { configsMax, configsPath, configsQuery } from '../../api/configs.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export type Transformation = PluginConfigRecord;
export type TransformationPage = Page<Transformation>;
export type Plugin = PluginRecord;
type PluginVersion = PluginVersionRecord;
type PluginSource = Static<typeof pluginSourceSchema>;
/** File contents by path. */
export type PluginFiles = PluginSource['files'];

export function transformationsPath(projectId: number): string {
  return configsPath(projectId, 'transformation');
}

export function transformationPath(projectId: number, id: number): string {
  return `${transformationsPath(projectId)}/${id}`;
}

/** Lists the transformations in chain order. */
export function chainQuery(projectId: number) {
  return configsQuery(projectId, 'transformation');
}

export function binQuery(projectId: number) {
  return apiQuery<TransformationPage>(transformationsPath(projectId), { limit: configsMax, deleted: true });
}

export function transformationQuery(projectId: number, id: number) {
  return apiQuery<Transformation>(transformationPath(projectId, id));
}

/** Event counts of every transformation, by hour for the last 24 hours. */
export function deliveriesQuery(projectId: number) {
  return apiQuery<PluginMetricsListRecord>(`${transformationsPath(projectId)}/metrics`, { interval: 'hour' });
}

export function pluginsPath(projectId: number): string {
  return projectPath(projectId, 'plugins');
}

export function pluginQuery(projectId: number, id: number) {
  return apiQuery<Plugin>(`${pluginsPath(projectId)}/${id}`);
}

export function pluginVersionsQuery(projectId: number, id: number) {
  return apiQuery<Page<PluginVersion>>(`${pluginsPath(projectId)}/${id}/versions`, { limit: configsMax });
}

/** Returns the files of one version. */
export function pluginSourceQuery(projectId: number, id: number, version: string) {
  return apiQuery<PluginSource>(`${pluginsPath(projectId)}/${id}/versions/${encodeURIComponent(version)}/source`);
}

export function pluginsQuery(projectId: number) {
  return apiQuery<Page<Plugin>>(pluginsPath(projectId), { kind: 'transformation', limit: configsMax });
}

export function change(projectId: number, id: number, body: PluginConfigUpdate): Promise<Transformation> {
  return request(transformationPath(projectId, id), { method: 'PATCH', body });
}

/** Moves a transformation to an index in the chain; the others keep their order. */
export function move(projectId: number, id: number, index: number): Promise<unknown> {
  return request(`${transformationsPath(projectId)}/rearrange`, { method: 'PATCH', body: { orders: { [id]: index } } });
}

export function create(projectId: number, plugin: number, name: string): Promise<Transformation> {
  const body = name === '' ? { plugin } : { plugin, name };
  return request(transformationsPath(projectId), { method: 'POST', body });
}

export function install(projectId: number, source: PluginInstall | FormData): Promise<Plugin> {
  return request(pluginsPath(projectId), { method: 'POST', body: source });
}

/** Adds a version of the plugin, which becomes the latest. */
export function updatePlugin(projectId: number, id: number, body: PluginUpdate): Promise<Plugin> {
  return request(`${pluginsPath(projectId)}/${id}`, { method: 'PATCH', body });
}

/** Makes a step run a stored version. */
export function runVersion(projectId: number, id: number, version: string): Promise<Transformation> {
  return request(`${transformationPath(projectId, id)}/upgrade`, { method: 'POST', body: { version } });
}

interface PluginInfo {
  readonly name: string;
  readonly version: string;
  readonly configSchema: readonly unknown[];
}

/** Parses `plugin_info` of a config; missing fields are empty. */
export function pluginInfo({ plugin_info }: Pick<Transformation, 'plugin_info'>): PluginInfo {
  const info = objectOf(plugin_info);
  const { name, version, config_schema } = info;
  return {
    name: typeof name === 'string' ? name : '',
    version: typeof version === 'string' ? version : '',
    configSchema: Array.isArray(config_schema) ? config_schema : [],
  };
}

/** Returns the settings of a config, with secrets masked. */
export function settingsOf({ config }: Pick<Transformation, 'config'>): JsonObject {
  return objectOf(config);
}

function objectOf(text: string): JsonObject {
  const value: unknown = JSON.parse(text === '' ? '{}' : text);
  return isJsonObject(value) ? value : {};
}
