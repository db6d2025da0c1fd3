import type { Static } from 'typebox';
import type { importFormatListSchema, importFormatSchema } from '../../../../src/wire/contract/import-formats.ts';
import type { importPreviewResultSchema } from '../../../../src/wire/contract/import-preview.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { settingsBody, type SettingValues } from '../../components/schema-values.ts';
import { configPath, configsPath, type ImportConfig } from './imports-query.ts';

export type Formats = Static<typeof importFormatListSchema>;
export type Format = Static<typeof importFormatSchema>;
export type Preview = Static<typeof importPreviewResultSchema>;

export function formatsQuery(projectId: number) {
  return apiQuery<Formats>(projectPath(projectId, 'import_formats'));
}

export function formatQuery(projectId: number, slug: string) {
  return apiQuery<Format>(projectPath(projectId, `import_formats/${encodeURIComponent(slug)}`));
}

/** The first records of a stored import as events, with some of its settings replaced. */
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
