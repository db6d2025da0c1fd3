import { findKeptOut, keptOutVersions } from '../stores/metadata/kept-out-ids.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { createKeptOut, type KeptOut } from '../wire/batch/kept-out.ts';
import { createKnownByVersion, type KnownByVersion } from './known-by-version.ts';

/** Caches the ids that projects keep out. */
export function createKnownKeptOut(db: Queries): KnownByVersion<KeptOut> {
  return createKnownByVersion({
    versions: (ids) => keptOutVersions(db, ids),
    isSame: (one, other) => one.hashKey === other.hashKey && one.version === other.version,
    read: async (projectId) => {
      const found = await findKeptOut(db, projectId);
      return found && createKeptOut(found);
    },
  });
}
