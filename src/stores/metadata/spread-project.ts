import { isoMicros } from '../../base/clock.ts';
import { keepingSlugs } from '../../wire/contract/plugins.ts';
import { bumpConfigRevision } from './config-revision.ts';
import { databaseTime } from './database-clock.ts';
import { getProject, type Project } from './projects.ts';
import { hasStoreAlone, type Queries } from './queries.ts';

/** A project cannot be spread over that many slots; the message states what to change. */
export class SpreadRefusedError extends Error {
  override name = 'SpreadRefusedError';
}

/**
 * Spreads the project over `spread` slots from now on. Returns undefined if there is no such project. The lock waits for every window of
 * the project that is being committed, and prevents the commit of windows computed before: from here on several slots may change its
 * persons and groups (pipeline/window-projects.ts).
 *
 * @throws SpreadRefusedError
 */
export async function spreadProject(
  tx: Queries,
  id: number,
  spread: number,
  now: number,
): Promise<Project | undefined> {
  const query = tx.selectFrom('projects').select('spread_max').where('id', '=', id);
  const before = await (hasStoreAlone(tx) ? query : query.forUpdate()).executeTakeFirst();
  if (before === undefined) return undefined;
  await refuseAboveSlots(tx, spread);
  // Locks configs until the transaction ends. Before the time is read, because it may have to wait.
  await bumpConfigRevision(tx);
  await tx
    .updateTable('projects')
    .set((eb) => ({
      spread,
      spread_before: eb.ref('spread'),
      spread_at: databaseTime(tx),
      spread_max: Math.max(spread, before.spread_max),
      updated_at: isoMicros(now),
    }))
    .where('id', '=', id)
    .execute();
  await refuseKeeping(tx, id);
  return await getProject(tx, id);
}

/** Returns the number of slots that the project is spread over; undefined if there is no such project. */
export async function readSpread(
  db: Queries,
  id: number,
): Promise<{ readonly spread: number; readonly before: number; readonly ageMs: number } | undefined> {
  const row = await db
    .selectFrom('projects')
    .select(['spread', 'spread_before', 'spread_at'])
    .select(databaseTime(db).as('now'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row && { spread: row.spread, before: row.spread_before, ageMs: Number(row.now) - Number(row.spread_at) };
}

async function refuseAboveSlots(tx: Queries, spread: number): Promise<void> {
  const { slots } = await tx
    .selectFrom('slots')
    .select((eb) => eb.fn.countAll<number>().as('slots'))
    .executeTakeFirstOrThrow();
  if (spread <= Number(slots)) return;
  const why = Number(slots) === 1 ? 'this service has one: only a cluster spreads projects' : `there are ${slots}`;
  throw new SpreadRefusedError(`expected at most as many slots as there are, got ${spread}; ${why}`);
}

/**
 * Refuses transformations that keep values between events if the project is or ever was spread: another slot may have changed what one
 * slot has read. Call it after the change of the project or of its configs.
 *
 * @throws SpreadRefusedError
 */
export async function refuseKeeping(tx: Queries, projectId: number): Promise<void> {
  const rows = await tx
    .selectFrom('plugin_configs as c')
    .innerJoin('projects as o', 'o.id', 'c.project_id')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .leftJoin('plugin_versions as v', 'v.id', 'c.plugin_version_id')
    .select(['c.id', 'p.name', 'p.slug', 'v.code'])
    .where('o.id', '=', projectId)
    .where('o.spread_max', '>', 1)
    .where('c.family', '=', 'transformation')
    .where('c.enabled', '=', 1)
    .where('c.deleted', '=', 0)
    .orderBy('c.id')
    .execute();
  const keeping = rows.filter(({ slug, code }) => (code === null ? keepingSlugs.has(slug) : namesStorage(code)));
  if (keeping.length === 0) return;
  const names = keeping.map(({ id, name }) => `"${name}" (config ${id})`).join(', ');
  throw new SpreadRefusedError(
    `expected no transformation that keeps values between events (storage) in a project that is, or was, spread over several slots, ` +
      `got: ${names}; several slots process its events concurrently, and would keep different values`,
  );
}

/** Returns whether installed code mentions storage: code is only searched, so a plugin that mentions it counts as using it. */
function namesStorage(code: string): boolean {
  return /\bstorage\b/.test(code);
}
