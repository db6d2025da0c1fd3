import type { ProjectStatus, ServiceStatus } from '../../../src/wire/contract/status.ts';
import { apiQuery, projectPath } from './queries.ts';

export function projectStatusQuery(projectId: number) {
  return apiQuery<ProjectStatus>(projectPath(projectId, 'status'));
}

/** Admins only. */
export const serviceStatusQuery = apiQuery<ServiceStatus>('/api/status');
