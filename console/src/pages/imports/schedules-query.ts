import type { ImportScheduleRecord, ImportScheduleSet } from '../../../../src/wire/contract/import-schedules.ts';
import { apiPages, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { configPath, type Run } from './imports-query.ts';

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
