import { findKeptOut, keptOutVersions, type KeptOutVersion } from '../stores/metadata/kept-out-ids.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { createKeptOut, type KeptOut } from '../wire/batch/kept-out.ts';

/** Caches the ids that projects keep out. Changing a list changes the config revision, after which versions are compared. */
export interface KnownKeptOut {
  /** Loads lists that are not cached for this revision. */
  load(revision: number, projectIds: Iterable<number>): Promise<void>;
  /** Returns `undefined` if the project has no list. */
  of(projectId: number): KeptOut | undefined;
}

const idsPerQuery = 500;

interface Known {
  readonly of: KeptOutVersion | undefined;
  readonly list: KeptOut | undefined;
}

export function createKnownKeptOut(db: Queries): KnownKeptOut {
  let known = new Map<number, Known>();
  /** Those of the previous revision. */
  let earlier = new Map<number, Known>();
  let loadedFor = -1;
  const read = async (projectId: number, of: KeptOutVersion | undefined): Promise<Known> => {
    if (of === undefined) return { of, list: undefined };
    const before = earlier.get(projectId);
    if (before?.of?.hashKey === of.hashKey && before.of.version === of.version) return before;
    const found = await findKeptOut(db, projectId);
    return { of, list: found && createKeptOut(found) };
  };
  return {
    load: async (revision, projectIds) => {
      if (revision !== loadedFor) [earlier, known] = [known.size > 0 ? known : earlier, new Map()];
      loadedFor = revision;
      const missing = [...new Set(projectIds)].filter((id) => !known.has(id));
      for (let from = 0; from < missing.length; from += idsPerQuery) {
        const ids = missing.slice(from, from + idsPerQuery);
        const versions = await keptOutVersions(db, ids);
        for (const id of ids) known.set(id, await read(id, versions.get(id)));
      }
    },
    of: (projectId) => known.get(projectId)?.list,
  };
}
