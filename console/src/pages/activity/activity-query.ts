import type { ActivityChange, ActivityEntry } from '../../../../src/wire/contract/activity.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';
import type { Query } from '../../api/request.ts';
import { userName } from '../../api/users.ts';
import type { activitySearch } from './activity-search.ts';

export type ActivityFilters = ReturnType<typeof activitySearch>;
export type ActivityDetail = ActivityEntry & { readonly snapshot: unknown };

const dayMs = 86_400_000;

/** Builds the API query from the search parameters. Days are in UTC; invalid ones are ignored. */
export function filtersOf({ scope, item, activity, by, from, to }: ActivityFilters): Query {
  const isSystem = by === 'system';
  return {
    scope,
    item_id: scope === undefined ? undefined : item,
    activity,
    user: isSystem ? undefined : by,
    is_system: isSystem ? true : undefined,
    after: startOf(from, 0),
    before: startOf(to, dayMs),
  };
}

function startOf(day: string | undefined, laterMs: number): string | undefined {
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : new Date(ms + laterMs).toISOString();
}

export function activityQuery(projectId: number, filters: ActivityFilters) {
  return apiPages<ActivityEntry>(projectPath(projectId, 'activity_log'), filtersOf(filters));
}

export function entryQuery(projectId: number, id: string) {
  return apiQuery<ActivityDetail>(projectPath(projectId, `activity_log/${encodeURIComponent(id)}`));
}

/** Returns one side of all changed fields, for a diff; fields that did not exist at the time are omitted. */
export function sideOf(changes: readonly ActivityChange[], side: 'before' | 'after'): Record<string, unknown> {
  const absent = side === 'before' ? 'created' : 'deleted';
  return Object.fromEntries(changes.filter(({ action }) => action !== absent).map((each) => [each.field, each[side]]));
}

/** Returns the page of a config, from the family in its snapshot, or `undefined` for entries about other items. */
export function configPageOf(entry: ActivityDetail): 'transformations' | 'imports' | undefined {
  if (entry.scope !== 'PluginConfig') return undefined;
  const { family } = (entry.snapshot ?? {}) as { readonly family?: unknown };
  return family === 'transformation' ? 'transformations' : 'imports';
}

/** Returns the display name of the user or key that made the change. */
export function actorOf({ user, is_system, key_label }: ActivityEntry): string {
  const withoutUser = is_system ? 'the service' : 'unknown';
  const name = user === null ? withoutUser : userName(user);
  return key_label === null ? name : `${name} with key ${key_label}`;
}
