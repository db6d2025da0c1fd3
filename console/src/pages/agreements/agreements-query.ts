import type { Static } from 'typebox';
import type { HistoricalMigrationRecord } from '../../../../src/wire/contract/historical-migrations.ts';
import type { historicalSettingsSchema } from '../../../../src/wire/contract/historical-settings.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export type Agreement = HistoricalMigrationRecord;
export type Rules = Static<typeof historicalSettingsSchema>;
export type Decision = 'approve' | 'reject' | 'end';

export const agreementsPath = (projectId: number): string => projectPath(projectId, 'historical_migrations');

export function rulesQuery(projectId: number) {
  return apiQuery<Rules>(`${agreementsPath(projectId)}/settings`);
}

export function agreementsQuery(projectId: number, state: Agreement['state'] | undefined) {
  return apiPages<Agreement>(agreementsPath(projectId), { state, limit: 100 });
}

export interface NewAgreement {
  readonly source: string;
  readonly method: string;
  readonly total_events: number;
  readonly events_per_second: number;
  readonly note: string;
}

export function fileAgreement(projectId: number, agreement: NewAgreement): Promise<Agreement> {
  return request<Agreement>(agreementsPath(projectId), { method: 'POST', body: agreement });
}

export function decide(projectId: number, id: string, decision: Decision): Promise<Agreement> {
  return request<Agreement>(`${agreementsPath(projectId)}/${id}/${decision}`, { method: 'POST', body: {} });
}
