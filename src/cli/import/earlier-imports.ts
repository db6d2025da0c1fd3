import { dirname } from 'node:path';
import { findSameRecords, knownRuns, type EarlierRuns, type KnownRun } from '../../imports/run/same-records.ts';
import type { SameRecords } from '../../wire/contract/import-results.ts';
import { SchemaVersionError } from '../../stores/metadata/migrate.ts';
import { withStore } from './local-store.ts';
import { descriptionOf, listImports, registrationOf, type ImportDir } from './state-dir.ts';
import { undoneRuns } from './registered-runs.ts';

/** Where imports look for earlier ones. */
export interface EarlierPlaces {
  readonly apiKey: string | undefined;
  /** State directories of imports from other working directories. */
  readonly otherStateDirs: readonly string[];
}

/**
 * Other imports in the same and other state directories, each with a separate store. Their service reports which of them it has undone,
 * given a personal key; without an answer they count as stored.
 */
export function earlierImports(dir: ImportDir, { apiKey, otherStateDirs }: EarlierPlaces): EarlierRuns {
  const stateDirs = [dirname(dir.path), ...otherStateDirs];
  const all = async (): Promise<ImportDir[]> => (await Promise.all(stateDirs.map(listImports))).flat();
  const undone = async (ids: readonly string[]): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const known = await Promise.all(stateDirs.map((each) => undoneRuns(each, apiKey)));
    return new Set(ids.filter((id) => known.some((each) => each.ids.has(id))));
  };
  return {
    sameRecords: async (checked) => {
      const own = await descriptionOf(dir);
      const found: SameRecords[] = [];
      for (const other of await all()) {
        const { url, target_key: key } = await descriptionOf(other);
        if (other.id === dir.id || url !== own.url || key !== own.target_key) continue;
        const same = await unlessUnreadable(() => withStore(other, (db) => findSameRecords(db, checked)));
        const undoable = (await registrationOf(other)) !== undefined;
        for (const each of same) found.push({ ...each, undoable });
      }
      const undoneIds = await undone(found.map(({ run }) => run));
      const stored = found.filter(({ run }) => !undoneIds.has(run));
      return stored.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
    },
    undone,
    known: async (ids) => {
      const imports = await all();
      return (await Promise.all(ids.map((id) => knownImport(imports, id)))).flat();
    },
  };
}

async function knownImport(imports: readonly ImportDir[], id: string): Promise<readonly KnownRun[]> {
  const found = imports.find((each) => each.id === id);
  return found === undefined ? [] : unlessUnreadable(() => withStore(found, (db) => knownRuns(db, [id])));
}

/** An import of a newer or too old version cannot be read; that must not stop this one. */
async function unlessUnreadable<T>(read: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SchemaVersionError) return [];
    throw error;
  }
}
