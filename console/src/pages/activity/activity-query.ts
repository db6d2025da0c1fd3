import type { ActivityChange, ActivityEntry, ActivityScope } from '../../../../src/wire/contract/activity.ts';
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

const nouns: Readonly<Record<ActivityScope, string>> = {
  PluginConfig: 'config',
  Plugin: 'plugin',
  ImportRun: 'import run',
  Project: 'project',
  PersonalApiKey: 'key',
  User: 'user',
  HistoricalMigration: 'agreement',
  NoticeDestination: 'notification destination',
  RetentionPolicy: 'retention policy',
  ProjectLimits: 'limits',
  Erasure: 'erasure',
  EventReplay: 'event replay',
  Export: 'export',
  DeadLetter: 'dead letter',
  TrackingPlan: 'tracking plan',
};

function nounOf(scope: string): string {
  return Object.hasOwn(nouns, scope) ? nouns[scope as ActivityScope] : scope;
}

/** Verbs for activities that are not verbs themselves. */
const verbs: Readonly<Record<string, string>> = {
  updated: 'changed',
  config_updated: 'changed settings of',
  order_changed: 'moved',
  moved_to_bin: 'moved to bin:',
  token_reset: 'reset key of',
  run: 'started',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
  undo: 'undid',
  verify: 'verified',
  failed: 'reported failure of',
  recovered: 'reported recovery of',
  filed: 'requested',
  replay_started: 'started replay of',
  replay_cancelled: 'cancelled replay of',
  schedule_created: 'created schedule of',
  schedule_updated: 'changed schedule of',
  schedule_deleted: 'deleted schedule of',
  schedule_paused: 'paused schedule of',
  schedule_resumed: 'resumed schedule of',
  job_triggered: 'started job of',
  job_retried: 'retried job of',
  job_cancelled: 'cancelled job of',
  secret_compared: 'compared a secret of',
};

/** Describes a change: `Changed settings of config Files`. */
export function sentenceOf({ activity, scope, detail }: Pick<ActivityEntry, 'activity' | 'scope' | 'detail'>): string {
  const verb = verbs[activity] ?? activity.replaceAll('_', ' ');
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${nounOf(scope)} ${detail.name}`.trimEnd();
}

/** Names an item by type and short id: `import run 01a21924`. */
export function itemOf({ scope, item_id: id }: Pick<ActivityEntry, 'scope' | 'item_id'>): string {
  return `${nounOf(scope)} ${/^[\da-f]{8}-/.test(id) ? id.slice(0, 8) : id}`;
}

/** Returns the display name of the user or key that made the change. */
export function actorOf({ user, is_system }: ActivityEntry): string {
  const withoutUser = is_system ? 'the service' : 'unknown';
  return user === null ? withoutUser : userName(user);
}
