import type { Queries } from '../stores/metadata/queries.ts';

/** Caches which projects exist. Creating, deleting and spreading a project changes the config revision, which clears the cache. */
export interface KnownProjects {
  /** Loads projects that are not cached for this revision. */
  load(revision: number, projectIds: Iterable<number>): Promise<void>;
  has(projectId: number): boolean;
  /** Whether several slots change its persons and groups: it is spread, or was. */
  isShared(projectId: number): boolean;
}

const idsPerQuery = 500;

export function createKnownProjects(db: Queries): KnownProjects {
  let known = new Map<number, { readonly exists: boolean; readonly isShared: boolean }>();
  let loadedFor = -1;
  return {
    load: async (revision, projectIds) => {
      if (revision !== loadedFor) known = new Map();
      loadedFor = revision;
      const missing = [...new Set(projectIds)].filter((id) => !known.has(id));
      for (let from = 0; from < missing.length; from += idsPerQuery) {
        const ids = missing.slice(from, from + idsPerQuery);
        const rows = await db.selectFrom('projects').select(['id', 'spread_max']).where('id', 'in', ids).execute();
        const found = new Map(rows.map((row) => [row.id, row.spread_max]));
        for (const id of ids) known.set(id, { exists: found.has(id), isShared: (found.get(id) ?? 1) > 1 });
      }
    },
    has: (projectId) => known.get(projectId)?.exists === true,
    isShared: (projectId) => known.get(projectId)?.isShared === true,
  };
}
