import type { ExportEstimate, ExportRecord, ExportStart } from '../../../../src/wire/contract/exports.ts';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export function exportsPath(projectId: number): string {
  return projectPath(projectId, 'exports');
}

/** The newest exports. */
export function exportsQuery(projectId: number) {
  return apiQuery<Page<ExportRecord>>(exportsPath(projectId), { limit: 100 });
}

export function startExport(projectId: number, body: ExportStart): Promise<ExportRecord> {
  return request<ExportRecord>(exportsPath(projectId), { method: 'POST', body });
}

export function estimateExport(projectId: number, body: ExportStart): Promise<ExportEstimate> {
  return request<ExportEstimate>(`${exportsPath(projectId)}/estimate`, { method: 'POST', body });
}

export function cancelExport(projectId: number, id: string): Promise<ExportRecord> {
  return request<ExportRecord>(`${exportsPath(projectId)}/${id}/cancel`, { method: 'POST' });
}

export function deleteExport(projectId: number, id: string): Promise<void> {
  return request<void>(`${exportsPath(projectId)}/${id}`, { method: 'DELETE' });
}

export function filePath(projectId: number, id: string, name: string): string {
  return `${exportsPath(projectId)}/${id}/files/${encodeURIComponent(name)}`;
}

export function isOpen({ state }: ExportRecord): boolean {
  return state === 'queued' || state === 'running';
}
