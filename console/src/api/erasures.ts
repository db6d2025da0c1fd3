import type { Static } from 'typebox';
import type { ErasureCounts, ErasureStart, erasureSchemas } from '../../../src/wire/contract/erasures.ts';
import type { Page } from '../../../src/wire/contract/pagination.ts';
import type { TaskRecord } from '../../../src/wire/contract/tasks.ts';
import { apiQuery, projectPath } from './queries.ts';
import { request } from './request.ts';

type Schemas = typeof erasureSchemas;
export type Erasure = Omit<TaskRecord, 'request' | 'progress' | 'result'> & {
  readonly request: Static<Schemas['spec']>;
  readonly progress: Static<Schemas['progress']> | null;
  readonly result: Static<Schemas['result']> | null;
};

export function erasuresPath(projectId: number): string {
  return projectPath(projectId, 'erasures');
}

/** The newest erasures. */
export function erasuresQuery(projectId: number) {
  return apiQuery<Page<Erasure>>(erasuresPath(projectId), { limit: 100 });
}

export function countErasure(projectId: number, body: ErasureStart, signal: AbortSignal): Promise<ErasureCounts> {
  return request<ErasureCounts>(`${erasuresPath(projectId)}/dry_run`, { method: 'POST', body, signal });
}

export function startErasure(projectId: number, body: ErasureStart): Promise<Erasure> {
  return request<Erasure>(erasuresPath(projectId), { method: 'POST', body });
}

export function cancelErasure(projectId: number, id: string): Promise<Erasure> {
  return request<Erasure>(`${erasuresPath(projectId)}/${id}/cancel`, { method: 'POST' });
}

/** Whether it has not ended. */
export function isOpen({ state }: Erasure): boolean {
  return state === 'queued' || state === 'running';
}

/** Whether it has not begun to delete. */
export function canCancel(erasure: Erasure): boolean {
  const step = erasure.progress?.step ?? 'waiting';
  return isOpen(erasure) && (step === 'waiting' || step === 'counted');
}
