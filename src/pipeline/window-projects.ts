import { hasStoreAlone, type Queries } from '../stores/metadata/queries.ts';
import { paddedChunks } from './persons/chunks.ts';
import { noProject } from './dead-letters.ts';
import { projectOf } from './profile-notes.ts';
import type { Window } from './window.ts';

/** What a window writes to the metadata store per project. */
export type ProjectChanges = Pick<
  Window,
  'persons' | 'groups' | 'notes' | 'chains' | 'warnings' | 'violations' | 'deadLetters' | 'observed'
>;

/** The project was spread after the window was computed as if no other slot changed its persons. The window is computed again. */
export class ProjectSpreadError extends Error {
  override name = 'ProjectSpreadError';
}

const idsPerQuery = 512;

/**
 * Returns the changes of a window that belong to existing projects: after a project is deleted, nothing would remove its rows. `tx`
 * is the transaction that writes them: until it ends, no project that was found can be deleted or spread. Project ids are never
 * reused, so omitted changes cannot be missed. With `alone` no other slot can write to these projects either.
 *
 * @throws ProjectSpreadError
 */
export async function changesToWrite(tx: Queries, window: ProjectChanges, alone = false): Promise<ProjectChanges> {
  const wanted = projectsOf(window);
  if (wanted.size === 0) return window;
  const found = await lockProjects(tx, [...wanted], alone);
  refuseShared(found, window);
  if (found.size === wanted.size) return window;
  const exists = (id: number): boolean => id === noProject || found.has(id);
  const ofRow = (row: { readonly project_id: number }): boolean => exists(row.project_id);
  const ofChange = (change: { readonly projectId: number }): boolean => exists(change.projectId);
  const { persons, groups, notes, chains, warnings, violations, deadLetters, observed } = window;
  return {
    persons: {
      persons: persons.persons.filter(ofRow),
      sameCreation: persons.sameCreation,
      distinctIds: persons.distinctIds.filter(ofRow),
      merges: persons.merges.filter(ofChange),
    },
    groups: { types: groups.types.filter(ofRow), groups: groups.groups.filter(ofRow) },
    notes: notes.filter((note) => exists(projectOf(note))),
    // An error is written to its config, which is deleted with the project.
    chains: {
      counts: chains.counts.filter(ofChange),
      failures: chains.failures.filter(ofChange),
      errors: chains.errors,
    },
    observed: observed.filter(ofChange),
    warnings: warnings.filter(ofChange),
    violations: { ...violations, counts: violations.counts.filter(ofChange) },
    deadLetters: deadLetters.filter(ofRow),
  };
}

/** Rows overwrite what the store contains, so they are valid only in projects that no other slot writes to. */
function refuseShared(found: ReadonlyMap<number, LockedProject>, { persons, groups }: ProjectChanges): void {
  for (const rows of [persons.persons, persons.distinctIds, groups.types, groups.groups]) {
    for (const { project_id: id } of rows) {
      if (found.get(id)?.isShared !== true) continue;
      throw new ProjectSpreadError(`project ${id} was spread over several slots; the window is computed again`);
    }
  }
}

function projectsOf(changes: ProjectChanges): Set<number> {
  const { persons, groups, notes, chains, warnings, violations, deadLetters, observed } = changes;
  const ids = new Set<number>(notes.map(projectOf));
  for (const rows of [persons.persons, persons.distinctIds, groups.types, groups.groups, deadLetters]) {
    for (const row of rows) ids.add(row.project_id);
  }
  for (const each of [persons.merges, chains.counts, warnings, violations.counts, observed])
    for (const { projectId } of each) ids.add(projectId);
  ids.delete(noProject);
  return ids;
}

export interface LockedProject {
  /** Whether several slots change its persons and groups. */
  readonly isShared: boolean;
}

/**
 * Locks those of the projects that exist, so that they stay as they are until the transaction ends. With `alone` no other
 * transaction can lock them until then.
 */
export async function lockProjects(
  tx: Queries,
  ids: readonly number[],
  alone = false,
): Promise<ReadonlyMap<number, LockedProject>> {
  const found = new Map<number, LockedProject>();
  for (const some of paddedChunks(
    ids.toSorted((a, b) => a - b),
    idsPerQuery,
  )) {
    const query = tx.selectFrom('projects').select(['id', 'spread_max']).where('id', 'in', some).orderBy('id');
    // The weaker lock excludes deletion and spreading (metadata/projects.ts) and, of other changes, only those of the key.
    const locked = hasStoreAlone(tx) ? query : alone ? query.forUpdate() : query.forKeyShare();
    for (const { id, spread_max: most } of await locked.execute()) found.set(id, { isShared: most > 1 });
  }
  return found;
}
