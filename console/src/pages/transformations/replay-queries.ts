import type { Static } from 'typebox';
import type {
  EventReplayStart,
  eventReplaySchemas,
  ReplayMethod,
} from '../../../../src/wire/contract/event-replays.ts';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { TaskRecord } from '../../../../src/wire/contract/tasks.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { Plugin } from './transformation-queries.ts';

type Schemas = typeof eventReplaySchemas;
export type EventReplay = Omit<TaskRecord, 'request' | 'progress' | 'result'> & {
  readonly request: Static<Schemas['spec']>;
  readonly progress: Static<Schemas['progress']> | null;
  readonly result: Static<Schemas['result']> | null;
};

export function replaysPath(projectId: number): string {
  return projectPath(projectId, 'event_replays');
}

/** The newest replays of all configs. */
export function replaysQuery(projectId: number) {
  return apiQuery<Page<EventReplay>>(replaysPath(projectId), { limit: 100 });
}

export function startReplay(projectId: number, body: EventReplayStart): Promise<EventReplay> {
  return request<EventReplay>(replaysPath(projectId), { method: 'POST', body });
}

export function cancelReplay(projectId: number, id: string): Promise<EventReplay> {
  return request<EventReplay>(`${replaysPath(projectId)}/${id}/cancel`, { method: 'POST' });
}

const replayMethods: readonly ReplayMethod[] = ['onEvent', 'exportEvents'];

/** Returns the methods of a plugin that receive stored events. */
export function replayMethodsOf(plugin: Plugin | undefined): readonly ReplayMethod[] {
  return replayMethods.filter((method) => plugin?.capabilities.methods.includes(method));
}
