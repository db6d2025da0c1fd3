import type { ErasureCounts } from '../../wire/contract/erasures.ts';
import { countMatched, matchedIds } from '../../stores/events/erase-counts.ts';
import type { EraseRows, StoreReader } from '../../stores/events/eventstore.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { personsWithIds } from '../../pipeline/persons/rebuild-rows.ts';
import { findConcerned } from './concerned-rows.ts';

/** Import runs whose files mention one of some ids. */
export interface StagedRuns {
  /** Runs whose files can be removed. */
  readonly ended: readonly string[];
  /** Runs that can still be resumed. */
  readonly open: readonly string[];
}

export interface StagedRecords {
  find(projectId: number, ids: readonly string[]): Promise<StagedRuns>;
  /** Removes all files and tables of an ended run. */
  remove(projectId: number, runId: string): Promise<void>;
}

export interface CountDeps {
  readonly db: Queries;
  readonly store: StoreReader;
  readonly staged: Pick<StagedRecords, 'find'>;
}

const idsPerPage = 10_000;

/** Returns all ids of the persons that have one of these. Ids without a person are included. */
export async function idsOfSamePersons(
  db: Queries,
  projectId: number,
  seeds: readonly string[],
): Promise<readonly string[]> {
  return [...new Set([...seeds, ...(await personsWithIds(db, projectId, seeds)).distinctIds])];
}

/** Counts what an erasure of these ids removes. Changes nothing. */
export async function countPersonErasure(
  { db, store, staged }: CountDeps,
  projectId: number,
  ids: readonly string[],
): Promise<ErasureCounts> {
  const matched = await countMatched(store, { projectId, filter: { distinctIds: ids } });
  const rows = await findConcerned(db, projectId, ids);
  return {
    ...eventCounts(matched),
    distinct_ids: ids.length,
    persons: (await personsWithIds(db, projectId, ids)).uuids.length,
    dead_letters: rows.deadLetters.length,
    other_rows: rows.jobs.length + rows.samples.length + rows.warnings.length + rows.violations.length,
    staged_runs: [...(await staged.find(projectId, ids)).ended],
  };
}

/** Counts what an erasure by a filter removes. `onIds` receives the ids of its events, in pages. */
export async function countFilterErasure(
  { db, store }: Omit<CountDeps, 'staged'>,
  rows: EraseRows,
  onIds: (ids: readonly string[]) => Promise<void> = async () => undefined,
): Promise<ErasureCounts> {
  const uuids = new Set<string>();
  let distinctIds = 0;
  for (let after = ''; ;) {
    const ids = await matchedIds(store, rows, after, idsPerPage);
    await onIds(ids);
    for (const uuid of (await personsWithIds(db, rows.projectId, ids)).uuids) uuids.add(uuid);
    distinctIds += ids.length;
    if (ids.length < idsPerPage) break;
    after = ids.at(-1) ?? '';
  }
  const matched = await countMatched(store, rows);
  const none = { dead_letters: 0, other_rows: 0, staged_runs: [] };
  return { ...eventCounts(matched), distinct_ids: distinctIds, persons: uuids.size, ...none };
}

function eventCounts({ events, rows, byName, byMonth }: Awaited<ReturnType<typeof countMatched>>) {
  return { events, rows, by_name: byName, by_month: byMonth };
}
