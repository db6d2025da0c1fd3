import { hasStoreAlone, type Queries } from '../stores/metadata/queries.ts';
import { paddedChunks } from './persons/chunks.ts';
import { noProject } from './dead-letters.ts';
import { projectOf } from './profile-notes.ts';
import type { Window } from './window.ts';

/** What a window writes into the metadata store per project. */
export type ProjectChanges = Pick<
  Window,
  'persons' | 'groups' | 'notes' | 'chains' | 'warnings' | 'deadLetters' | 'observed'
>;

/** The window was computed as if persons were this slot's own; the project was spread since. It is computed again. */
export class ProjectSpreadError extends Error {
  override name = 'ProjectSpreadError';
}

const idsPerQuery = 512;

/**
 * What is to be written of a window: the changes of projects that exist. One that was deleted after the window was computed
 * has nobody left who would remove its rows. `tx` is the transaction that writes them: until it ends, no project that was
 * found can be deleted, or spread. Ids of projects are never given out again, so what is left out cannot be missed. `alone`: nor can
 * another slot write anything of them. Errors: ProjectSpreadError.
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
  const { persons, groups, notes, chains, warnings, deadLetters, observed } = window;
  return {
    persons: {
      persons: persons.persons.filter(ofRow),
      sameCreation: persons.sameCreation,
      distinctIds: persons.distinctIds.filter(ofRow),
      merges: persons.merges.filter(ofChange),
    },
    groups: { types: groups.types.filter(ofRow), groups: groups.groups.filter(ofRow) },
    notes: notes.filter((note) => exists(projectOf(note))),
    // An error is written to its config, and that goes with the project.
    chains: {
      counts: chains.counts.filter(ofChange),
      failures: chains.failures.filter(ofChange),
      errors: chains.errors,
    },
    observed: observed.filter(ofChange),
    warnings: warnings.filter(ofChange),
    deadLetters: deadLetters.filter(ofRow),
  };
}

/** Rows hold what is to stand in the store, whoever wrote it meanwhile: good only where nobody else writes. */
function refuseShared(found: ReadonlyMap<number, LockedProject>, { persons, groups }: ProjectChanges): void {
  for (const rows of [persons.persons, persons.distinctIds, groups.types, groups.groups]) {
    for (const { project_id: id } of rows) {
      if (found.get(id)?.isShared !== true) continue;
      throw new ProjectSpreadError(`project ${id} was spread over several slots; the window is computed again`);
    }
  }
}

function projectsOf({ persons, groups, notes, chains, warnings, deadLetters, observed }: ProjectChanges): Set<number> {
  const ids = new Set<number>(notes.map(projectOf));
  for (const rows of [persons.persons, persons.distinctIds, groups.types, groups.groups, deadLetters]) {
    for (const row of rows) ids.add(row.project_id);
  }
  for (const changes of [persons.merges, chains.counts, warnings, observed])
    for (const { projectId } of changes) ids.add(projectId);
  ids.delete(noProject);
  return ids;
}

export interface LockedProject {
  /** Several slots change its persons and groups. */
  readonly isShared: boolean;
}

/**
 * Which of these projects exist, and go on to exist as they are as long as the transaction lasts. `alone`: nobody else has them
 * locked, or gets them, until then.
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
    // The weaker lock excludes deletion and spreading (metadata/projects.ts), and no other change but of the key.
    const locked = hasStoreAlone(tx) ? query : alone ? query.forUpdate() : query.forKeyShare();
    for (const { id, spread_max: most } of await locked.execute()) found.set(id, { isShared: most > 1 });
  }
  return found;
}
