import { hasStoreAlone, type Queries } from '../metadata/queries.ts';
import { paddedChunks } from '../persons/chunks.ts';
import { noProject } from './dead-letters.ts';
import type { Window } from './window.ts';

/** What a window writes into the metadata store per project. */
export type ProjectChanges = Pick<Window, 'persons' | 'groups' | 'chains' | 'warnings' | 'deadLetters' | 'observed'>;

const idsPerQuery = 512;

/**
 * What is to be written of a window: the changes of projects that exist. One that was deleted after the window was computed
 * has nobody left who would remove its rows. `tx` is the transaction that writes them: until it ends, no project that was
 * found can be deleted. Ids of projects are never given out again, so what is left out cannot be missed.
 */
export async function changesToWrite(tx: Queries, window: ProjectChanges): Promise<ProjectChanges> {
  const wanted = projectsOf(window);
  if (wanted.size === 0) return window;
  const found = await lockProjects(tx, [...wanted]);
  if (found.size === wanted.size) return window;
  const exists = (id: number): boolean => id === noProject || found.has(id);
  const ofRow = (row: { readonly project_id: number }): boolean => exists(row.project_id);
  const ofChange = (change: { readonly projectId: number }): boolean => exists(change.projectId);
  const { persons, groups, chains, warnings, deadLetters, observed } = window;
  return {
    persons: {
      persons: persons.persons.filter(ofRow),
      distinctIds: persons.distinctIds.filter(ofRow),
      merges: persons.merges.filter(ofChange),
    },
    groups: { types: groups.types.filter(ofRow), groups: groups.groups.filter(ofRow) },
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

function projectsOf({ persons, groups, chains, warnings, deadLetters, observed }: ProjectChanges): Set<number> {
  const ids = new Set<number>();
  for (const rows of [persons.persons, persons.distinctIds, groups.types, groups.groups, deadLetters]) {
    for (const row of rows) ids.add(row.project_id);
  }
  for (const changes of [persons.merges, chains.counts, warnings, observed])
    for (const { projectId } of changes) ids.add(projectId);
  ids.delete(noProject);
  return ids;
}

/** Which of these projects exist, and go on to exist as long as the transaction lasts. */
export async function lockProjects(tx: Queries, ids: readonly number[]): Promise<Set<number>> {
  const found = new Set<number>();
  for (const some of paddedChunks(ids, idsPerQuery)) {
    const query = tx.selectFrom('projects').select('id').where('id', 'in', some).orderBy('id');
    // This excludes deletion, and no other change but of the key.
    for (const { id } of await (hasStoreAlone(tx) ? query : query.forKeyShare()).execute()) found.add(id);
  }
  return found;
}
