import { request } from '../../api/request.ts';
import type { ProjectRecord } from '../../api/projects.ts';

export interface ProjectChange {
  readonly name: string;
  readonly timezone: string;
}

const path = (id: number): string => `/api/projects/${id}`;

export function changeProject(id: number, change: ProjectChange): Promise<ProjectRecord> {
  return request<ProjectRecord>(path(id), { method: 'PATCH', body: change });
}

/** Replaces the project key; the old one is refused from then on. */
export function resetProjectKey(id: number): Promise<ProjectRecord> {
  return request<ProjectRecord>(`${path(id)}/reset_token`, { method: 'POST' });
}

export function deleteProject(id: number): Promise<void> {
  return request<void>(path(id), { method: 'DELETE' });
}
