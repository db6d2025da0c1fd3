import type { Static } from 'typebox';
import type {
  DeadLetterReplayRecord,
  dryRunOneResultSchema,
  dryRunResultSchema,
} from '../../../../src/wire/contract/dead-letter-replays.ts';
import type {
  deadLetterCountsSchema,
  DeadLetterRecord,
  deadLetterWithOriginalSchema,
} from '../../../../src/wire/contract/dead-letters.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export type DeadLetter = DeadLetterRecord;
export type WholeDeadLetter = Static<typeof deadLetterWithOriginalSchema>;
export type ReasonCounts = Static<typeof deadLetterCountsSchema>;
export type Replay = DeadLetterReplayRecord;
export type DryRunResult = Static<typeof dryRunResultSchema>;
export type DryRunOneResult = Static<typeof dryRunOneResultSchema>;

export interface LetterFilter {
  readonly reason?: string | undefined;
  readonly event?: string | undefined;
  readonly distinct_id?: string | undefined;
}

/** Selects the dead letters to replay or discard. The API refuses an empty filter, so that none applies to everything by accident. */
export type Selection = { readonly ids: readonly string[] } | { readonly filter: LetterFilter };

export const lettersPath = (projectId: number): string => projectPath(projectId, 'dead_letters');

export function lettersQuery(projectId: number, filter: LetterFilter, state: DeadLetter['state']) {
  return apiPages<DeadLetter>(lettersPath(projectId), { ...filter, state, limit: 100 });
}

export function countsQuery(projectId: number, state: DeadLetter['state']) {
  return apiQuery<ReasonCounts>(`${lettersPath(projectId)}/counts`, { state });
}

export function letterQuery(projectId: number, id: string) {
  return apiQuery<WholeDeadLetter>(`${lettersPath(projectId)}/${id}`);
}

export function replayQuery(projectId: number, id: string) {
  return apiQuery<Replay>(`${lettersPath(projectId)}/replays/${id}`);
}

export function dryRun(projectId: number, selection: Selection): Promise<DryRunResult> {
  return request<DryRunResult>(`${lettersPath(projectId)}/dry_run`, {
    method: 'POST',
    body: { ...selection, limit: 100 },
  });
}

export function startReplay(projectId: number, selection: Selection): Promise<Replay> {
  return request<Replay>(`${lettersPath(projectId)}/replays`, { method: 'POST', body: selection });
}

export function cancelReplay(projectId: number, id: string): Promise<Replay> {
  return request<Replay>(`${lettersPath(projectId)}/replays/${id}/cancel`, { method: 'POST' });
}

export function discard(projectId: number, selection: Selection): Promise<{ readonly discarded: number }> {
  return request(`${lettersPath(projectId)}/discard`, { method: 'POST', body: selection });
}

/** Tries a replay. `event` is JSON text, sent unchanged to keep every digit; `undefined` means the original. */
export function dryRunOne(projectId: number, id: string, event?: string): Promise<DryRunOneResult> {
  return request<DryRunOneResult>(`${lettersPath(projectId)}/${id}/dry_run`, withEvent(event));
}

export function replayOne(projectId: number, id: string, event?: string): Promise<unknown> {
  return request(`${lettersPath(projectId)}/${id}/replay`, withEvent(event));
}

function withEvent(event: string | undefined) {
  const body = event === undefined ? '{}' : `{"event":${event}}`;
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', headers, body: new Blob([body], { type: 'application/json' }) } as const;
}

export function isFiltered(filter: LetterFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined && value !== '');
}
