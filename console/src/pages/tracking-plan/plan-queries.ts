import type {
  PlanLearnResult,
  TrackingPlanRecord,
  ViolationsRecord,
} from '../../../../src/wire/contract/tracking-plan.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { PlanDraft } from './plan-form.ts';

export type RuleViolations = ViolationsRecord['results'][number];

export interface PlanVersion extends Pick<TrackingPlanRecord, 'version' | 'updated_at' | 'updated_by'> {
  readonly events: number | null;
}

export function planPath(projectId: number): string {
  return projectPath(projectId, 'tracking_plan/');
}

export function planQuery(projectId: number) {
  return apiQuery<TrackingPlanRecord>(planPath(projectId));
}

export function violationsQuery(projectId: number) {
  return apiQuery<ViolationsRecord>(`${planPath(projectId)}violations/`, { limit: 1000, by: 'day' });
}

export function versionsQuery(projectId: number) {
  return apiQuery<{ readonly results: readonly PlanVersion[] }>(`${planPath(projectId)}versions/`, { limit: 100 });
}

const dayMs = 86_400_000;
const days = 8;

/** Returns the counts of the last days, oldest first, with empty days. `now` in ms. */
export function dailyCounts({ periods }: Pick<RuleViolations, 'periods'>, now: number): number[] {
  const counts = new Map(periods.map(({ start, count }) => [start.slice(0, 10), count]));
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(now - (days - 1 - at) * dayMs).toISOString().slice(0, 10);
    return counts.get(day) ?? 0;
  });
}

/** Saves the draft unless the plan has changed since `version`. */
export function savePlan(projectId: number, draft: PlanDraft, version: number): Promise<TrackingPlanRecord> {
  const headers = { 'if-match': `"${version}"` };
  return request(planPath(projectId), { method: 'PUT', body: draft, headers });
}

export function removePlan(projectId: number, version: number): Promise<TrackingPlanRecord> {
  return request(planPath(projectId), { method: 'DELETE', headers: { 'if-match': `"${version}"` } });
}

export function readVersion(projectId: number, version: number): Promise<TrackingPlanRecord> {
  return request(`${planPath(projectId)}versions/${version}/`);
}

interface LearnOptions {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly sample: number;
  readonly replace: boolean;
}

export function learnPlan(projectId: number, body: LearnOptions): Promise<PlanLearnResult> {
  return request(`${planPath(projectId)}learn/`, { method: 'POST', body });
}
