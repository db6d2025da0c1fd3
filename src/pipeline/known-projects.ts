import type { Queries } from '../metadata/queries.ts';

/** Which projects exist. Creating and deleting one changes the config revision, which empties the memory. */
export interface KnownProjects {
  /** Looks up what is not known for this revision. */
  load(revision: number, projectIds: Iterable<number>): Promise<void>;
  has(projectId: number): boolean;
}

const idsPerQuery = 500;

export function createKnownProjects(db: Queries): KnownProjects {
  let known = new Map<number, boolean>();
  let loadedFor = -1;
  return {
    load: async (revision, projectIds) => {
      if (revision !== loadedFor) known = new Map();
      loadedFor = revision;
      const missing = [...new Set(projectIds)].filter((id) => !known.has(id));
      for (let from = 0; from < missing.length; from += idsPerQuery) {
        const ids = missing.slice(from, from + idsPerQuery);
        const rows = await db.selectFrom('projects').select('id').where('id', 'in', ids).execute();
        const found = new Set(rows.map((row) => row.id));
        for (const id of ids) known.set(id, found.has(id));
      }
    },
    has: (projectId) => known.get(projectId) === true,
  };
}
