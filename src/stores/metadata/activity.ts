import { newId } from '../../base/ids.ts';
import type { ActivityChange, ActivityEntry, ActivityScope } from '../../wire/contract/activity.ts';
import type { Queries } from './queries.ts';

/** The author of a change, for the activity log. */
export interface Actor {
  readonly organizationId: string;
  /** `null` means the service itself. */
  readonly userId: number | null;
  readonly keyId: string | null;
  readonly requestId: string | null;
}

export interface NewActivity {
  /** `null` means an item of the whole organisation, which appears in the log of each of its projects. */
  readonly projectId: number | null;
  readonly scope: ActivityScope;
  readonly itemId: string;
  readonly activity: string;
  /** Name of the item. */
  readonly name: string;
  /** Secrets masked. */
  readonly changes: readonly ActivityChange[];
  /** The item after the change (before it, for a deletion), without secrets. */
  readonly snapshot: unknown;
  /** ISO 8601 with microseconds. */
  readonly createdAt: string;
}

const rowsPerInsert = 100;

/** Writes entries; call it in the transaction of the change. */
export async function writeActivities(tx: Queries, actor: Actor, entries: readonly NewActivity[]): Promise<void> {
  for (let from = 0; from < entries.length; from += rowsPerInsert) {
    const rows = entries.slice(from, from + rowsPerInsert).map((entry) => ({
      id: newId(),
      project_id: entry.projectId,
      organization_id: actor.organizationId,
      scope: entry.scope,
      item_id: entry.itemId,
      activity: entry.activity,
      user_id: actor.userId,
      key_id: actor.keyId,
      is_system: actor.userId === null ? 1 : 0,
      request_id: actor.requestId,
      created_at: entry.createdAt,
      name: entry.name,
      changes: JSON.stringify(entry.changes),
      snapshot: JSON.stringify(entry.snapshot),
    }));
    await tx.insertInto('activity_log').values(rows).execute();
  }
}

export interface ActivityFilter {
  readonly projectId: number;
  readonly organizationId: string;
  /** Whether to include entries of the organisation: users, keys and deleted projects. */
  readonly seesOrganization: boolean;
  readonly scope?: ActivityScope | undefined;
  readonly itemId?: string | undefined;
  readonly activity?: string | undefined;
  readonly userId?: number | undefined;
  readonly isSystem?: boolean | undefined;
  /** Start time, inclusive, ISO 8601 with microseconds. */
  readonly after?: string | undefined;
  /** End time, exclusive. */
  readonly before?: string | undefined;
}

/** The last entry of a page. */
export interface ActivityCursor {
  readonly createdAt: string;
  readonly id: string;
}

/** Lists entries newest first, after `cursor` or `offset`. `count` includes all pages. */
export async function listActivity(
  db: Queries,
  filter: ActivityFilter,
  page: { readonly limit: number; readonly offset: number; readonly cursor?: ActivityCursor | undefined },
): Promise<{ readonly count: number; readonly entries: ActivityEntry[] }> {
  const { count } = await selectActivity(db, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const { cursor } = page;
  let query = selectActivity(db, filter);
  if (cursor !== undefined) {
    const { createdAt, id } = cursor;
    query = query.where((eb) =>
      eb.and([eb('a.created_at', '<=', createdAt), eb.or([eb('a.created_at', '<', createdAt), eb('a.id', '<', id)])]),
    );
  }
  const rows = await withNames(query)
    .orderBy('a.created_at', 'desc')
    .orderBy('a.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { count: Number(count), entries: rows.map(toEntry) };
}

/** Returns one entry with the item after the change; undefined if the filter does not match it. */
export async function getActivity(
  db: Queries,
  filter: ActivityFilter,
  id: string,
): Promise<(ActivityEntry & { readonly snapshot: unknown }) | undefined> {
  const row = await withNames(selectActivity(db, filter)).where('a.id', '=', id).executeTakeFirst();
  return row && { ...toEntry(row), snapshot: JSON.parse(row.snapshot) as unknown };
}

/** Returns the newest entry of a config at or before `at` (ISO 8601 with microseconds). */
export async function configActivityAt(
  db: Queries,
  of: { readonly projectId: number; readonly configId: number; readonly at: string },
): Promise<{ readonly activity: string; readonly snapshot: unknown } | undefined> {
  const row = await db
    .selectFrom('activity_log as a')
    .select(['a.activity', 'a.snapshot'])
    .where('a.project_id', '=', of.projectId)
    .where('a.scope', '=', 'PluginConfig')
    .where('a.item_id', '=', String(of.configId))
    .where('a.created_at', '<=', of.at)
    .orderBy('a.created_at', 'desc')
    .orderBy('a.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { activity: row.activity, snapshot: JSON.parse(row.snapshot) as unknown };
}

/** Counts entries of a config with this activity from `after` (ISO 8601 with microseconds) on. */
export async function countActivity(
  db: Queries,
  of: { readonly projectId: number; readonly configId: number; readonly activity: string; readonly after: string },
): Promise<number> {
  const { count } = await db
    .selectFrom('activity_log')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', of.projectId)
    .where('scope', '=', 'PluginConfig')
    .where('item_id', '=', String(of.configId))
    .where('activity', '=', of.activity)
    .where('created_at', '>=', of.after)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Scopes whose items all belong to a project: searching for shared ones would be wasted work. */
const ownScopes: ReadonlySet<ActivityScope> = new Set(['PluginConfig', 'ImportRun', 'DeadLetter', 'TrackingPlan']);

function selectActivity(db: Queries, filter: ActivityFilter) {
  const { projectId, organizationId, seesOrganization, scope, itemId, activity, userId, isSystem, after, before } =
    filter;
  let query = db.selectFrom('activity_log as a').where('a.organization_id', '=', organizationId);
  query = query.where((eb) => {
    const own = eb('a.project_id', '=', projectId);
    if (scope !== undefined && ownScopes.has(scope)) return own;
    const shared = eb('a.project_id', 'is', null);
    return eb.or([own, seesOrganization ? shared : eb.and([shared, eb('a.scope', '=', 'Plugin')])]);
  });
  if (scope !== undefined) query = query.where('a.scope', '=', scope);
  if (itemId !== undefined) query = query.where('a.item_id', '=', itemId);
  if (activity !== undefined) query = query.where('a.activity', '=', activity);
  if (userId !== undefined) query = query.where('a.user_id', '=', userId);
  if (isSystem !== undefined) query = query.where('a.is_system', '=', isSystem ? 1 : 0);
  if (after !== undefined) query = query.where('a.created_at', '>=', after);
  if (before !== undefined) query = query.where('a.created_at', '<', before);
  return query;
}

function withNames(query: ReturnType<typeof selectActivity>) {
  return query
    .leftJoin('users as u', 'u.id', 'a.user_id')
    .leftJoin('personal_api_keys as k', 'k.id', 'a.key_id')
    .selectAll('a')
    .select(['u.first_name', 'u.email', 'k.label as key_label']);
}

type NamedRow = Awaited<ReturnType<ReturnType<typeof withNames>['execute']>>[number];

function toEntry(row: NamedRow): ActivityEntry {
  const name = row.first_name ?? row.user_name;
  return {
    id: row.id,
    activity: row.activity,
    scope: row.scope,
    item_id: row.item_id,
    user: row.user_id === null || name === null ? null : { id: row.user_id, first_name: name, email: row.email ?? '' },
    is_system: row.is_system === 1,
    key_id: row.key_id,
    key_label: row.key_label,
    request_id: row.request_id,
    created_at: row.created_at,
    detail: { name: row.name, changes: JSON.parse(row.changes) as ActivityChange[] },
  };
}
