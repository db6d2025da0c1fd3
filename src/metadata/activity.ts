import { newId } from '../base/ids.ts';
import type { ActivityChange, ActivityEntry, ActivityScope } from '../contract/activity.ts';
import type { Queries } from './queries.ts';

/** Who does something, for the log. */
export interface Actor {
  readonly organizationId: string;
  /** Null: the service itself. */
  readonly userId: number | null;
  readonly keyId: string | null;
  readonly requestId: string | null;
}

export interface NewActivity {
  /** Null: an item of the whole organisation, in the log of each of its projects. */
  readonly projectId: number | null;
  readonly scope: ActivityScope;
  readonly itemId: string;
  readonly activity: string;
  /** Name of the item. */
  readonly name: string;
  /** Secrets masked. */
  readonly changes: readonly ActivityChange[];
  /** The item after the change (before it, for a deletion), as it may be shown. */
  readonly snapshot: unknown;
  /** ISO 8601 with microseconds. */
  readonly createdAt: string;
}

const rowsPerInsert = 100;

/** Call it in the transaction of the change itself. */
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
  readonly scope?: string | undefined;
  readonly itemId?: string | undefined;
}

/** Newest first. */
export async function listActivity(
  db: Queries,
  filter: ActivityFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly entries: ActivityEntry[] }> {
  const { count } = await selectActivity(db, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const rows = await selectActivity(db, filter)
    .leftJoin('users as u', 'u.id', 'a.user_id')
    .selectAll('a')
    .select(['u.first_name', 'u.email'])
    .orderBy('a.created_at', 'desc')
    .orderBy('a.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  const entries = rows.map((row) => ({
    id: row.id,
    activity: row.activity,
    scope: row.scope,
    item_id: row.item_id,
    user:
      row.user_id === null || row.first_name === null || row.email === null
        ? null
        : { id: row.user_id, first_name: row.first_name, email: row.email },
    is_system: row.is_system === 1,
    key_id: row.key_id,
    request_id: row.request_id,
    created_at: row.created_at,
    detail: { name: row.name, changes: JSON.parse(row.changes) as ActivityChange[] },
  }));
  return { count: Number(count), entries };
}

/** The newest entry of an item that is not after `at` (ISO 8601 with microseconds). */
export async function activityAt(
  db: Queries,
  of: { readonly projectId: number; readonly scope: ActivityScope; readonly itemId: string; readonly at: string },
): Promise<{ readonly activity: string; readonly snapshot: unknown } | undefined> {
  const row = await selectActivity(db, of)
    .select(['a.activity', 'a.snapshot'])
    .where('a.created_at', '<=', of.at)
    .orderBy('a.created_at', 'desc')
    .orderBy('a.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { activity: row.activity, snapshot: JSON.parse(row.snapshot) as unknown };
}

function selectActivity(db: Queries, filter: ActivityFilter) {
  let query = db.selectFrom('activity_log as a').where((eb) => {
    const own = eb('a.project_id', '=', filter.projectId);
    // Configs belong to projects: looking for shared items too would only cost.
    if (filter.scope === 'PluginConfig') return own;
    const organization = eb.selectFrom('projects').select('organization_id').where('id', '=', filter.projectId);
    return eb.or([own, eb.and([eb('a.project_id', 'is', null), eb('a.organization_id', '=', organization)])]);
  });
  if (filter.scope !== undefined) query = query.where('a.scope', '=', filter.scope);
  if (filter.itemId !== undefined) query = query.where('a.item_id', '=', filter.itemId);
  return query;
}
