/** Caches what a project has in versions. A new version changes the config revision, after which versions are compared. */
export interface KnownByVersion<T> {
  /** Loads what is not cached for this revision. */
  load(revision: number, projectIds: Iterable<number>): Promise<void>;
  /** Returns `undefined` if the project has none. */
  of(projectId: number): T | undefined;
}

/** Reads versions and their content from the metadata store. */
export interface VersionedContent<Version, T> {
  /** Returns the present versions; projects without one are missing. */
  readonly versions: (projectIds: readonly number[]) => Promise<ReadonlyMap<number, Version>>;
  readonly isSame: (one: Version, other: Version) => boolean;
  readonly read: (projectId: number, version: Version) => Promise<T | undefined>;
}

const idsPerQuery = 500;

interface Known<Version, T> {
  readonly version: Version | undefined;
  readonly content: T | undefined;
}

export function createKnownByVersion<Version, T>(stored: VersionedContent<Version, T>): KnownByVersion<T> {
  let known = new Map<number, Known<Version, T>>();
  /** Those of the previous revision. */
  let earlier = new Map<number, Known<Version, T>>();
  let loadedFor = -1;
  const read = async (projectId: number, version: Version | undefined): Promise<Known<Version, T>> => {
    if (version === undefined) return { version, content: undefined };
    const before = earlier.get(projectId);
    if (before?.version !== undefined && stored.isSame(before.version, version)) return before;
    return { version, content: await stored.read(projectId, version) };
  };
  return {
    load: async (revision, projectIds) => {
      if (revision !== loadedFor) [earlier, known] = [known.size > 0 ? known : earlier, new Map()];
      loadedFor = revision;
      const missing = [...new Set(projectIds)].filter((id) => !known.has(id));
      for (let from = 0; from < missing.length; from += idsPerQuery) {
        const ids = missing.slice(from, from + idsPerQuery);
        const versions = await stored.versions(ids);
        for (const id of ids) known.set(id, await read(id, versions.get(id)));
      }
    },
    of: (projectId) => known.get(projectId)?.content,
  };
}
