import type { Queries } from '../../stores/metadata/queries.ts';
import { keptIdentity } from '../plugin-address.ts';

/**
 * Whether two versions of an installed plugin come from the same package, repository or address, so that one may receive
 * the secrets given for the other. Uploaded code has no source to trust and matches only itself. Null and undefined mean
 * built in.
 */
export async function isSameSource(db: Queries, one?: number | null, other?: number | null): Promise<boolean> {
  if ((one ?? null) === (other ?? null)) return true;
  const ids = [one, other].filter((id) => id !== null && id !== undefined);
  const rows = await db.selectFrom('plugin_versions').select('source_url').where('id', 'in', ids).execute();
  const identities = new Set(rows.map((row) => keptIdentity(row.source_url)));
  return rows.length === 2 && identities.size === 1 && !identities.has(null);
}
