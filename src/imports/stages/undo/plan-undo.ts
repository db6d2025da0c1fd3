import {
  countRunDistinctIds,
  monthsOfProject,
  runCells,
  runDistinctIds,
  runGroups,
  runGroupTypes,
  type RunCell,
  type RunGroup,
  type RunMonth,
} from '../../../stores/events/run-rows.ts';
import type { StoreReader } from '../../../stores/events/eventstore.ts';
import { keepsAll } from '../../../stores/events/retention-policy.ts';
import type { Queries } from '../../../stores/metadata/queries.ts';
import { findPolicy } from '../../../stores/metadata/retention-policies.ts';
import { otherRuns, type OtherRuns } from '../../run/other-runs.ts';
import type { OtherRun, UndoPlan } from '../../run/results.ts';
import type { Run } from '../../run/run.ts';

export interface PlanDeps {
  readonly db: Queries;
  readonly store: StoreReader;
}

/** Receives the ids of the run's rows, in batches. */
export interface ConcernedSink {
  distinctIds(ids: readonly string[]): Promise<void>;
  groups(groups: readonly RunGroup[], types: readonly string[]): Promise<void>;
}

export interface Stored {
  readonly cells: readonly RunCell[];
  readonly plan: Omit<UndoPlan, 'persons' | 'distinct_ids'>;
}

const idsPerPage = 10_000;
/** Maximum number of ids that a dry run looks up. */
const idsLookedUpMax = 200_000;
const idsPerQuery = 500;

/** Returns what undoing the run would do. Changes nothing. Throws StoreUnavailableError. */
export async function planUndo(deps: PlanDeps, run: Run): Promise<UndoPlan> {
  const ids = new Set<string>();
  const sink: ConcernedSink = {
    distinctIds: async (page) => {
      for (const id of page) if (ids.size <= idsLookedUpMax) ids.add(id);
    },
    groups: async () => undefined,
  };
  const { plan } = await readStored(deps, run, sink);
  if (ids.size <= idsLookedUpMax) {
    return { ...plan, distinct_ids: ids.size, persons: await countPersons(deps.db, run.projectId, [...ids]) };
  }
  const of = { projectId: run.projectId, runId: run.id };
  return { ...plan, distinct_ids: await countRunDistinctIds(deps.store, of), persons: null };
}

/** Reads what the store has of the run, month by month. An id occurs once per month, so ids are not counted here. */
export async function readStored(
  { db, store }: PlanDeps,
  { projectId, ...run }: Run,
  sink: ConcernedSink,
): Promise<Stored> {
  const cells: RunCell[] = [];
  const groups = new Set<string>();
  const types = new Set<string>();
  for (const month of await monthsOfProject(store, projectId)) {
    const of: RunMonth = { projectId, runId: run.id, month };
    const found = await runCells(store, of);
    if (found.length === 0) continue;
    cells.push(...found);
    const [named, mentioned] = [await runGroups(store, of), await runGroupTypes(store, of)];
    for (const each of named) groups.add(JSON.stringify([each.type, each.key]));
    for (const type of mentioned) types.add(type);
    await sink.groups(named, mentioned);
    for (let after = ''; ;) {
      const page = await runDistinctIds(store, of, after, idsPerPage);
      await sink.distinctIds(page);
      if (page.length < idsPerPage) break;
      after = page.at(-1) ?? '';
    }
  }
  const others = await otherRuns(db, { projectId, ...run }, new Set(cells.map(({ day }) => day)));
  return {
    cells,
    plan: {
      rows: sum(cells, ({ rows }) => rows),
      events: sum(cells, ({ own }) => own),
      by_name: totals(cells, ({ event }) => event),
      by_day: totals(cells, ({ day }) => day),
      groups: groups.size,
      group_types: [...types].sort(),
      other_runs: others.runs,
      exceptions: [...exceptionsOf(others), ...(await retentionException(db, projectId))],
    },
  };
}

function sum(cells: readonly RunCell[], of: (cell: RunCell) => number): number {
  return cells.reduce((all, cell) => all + of(cell), 0);
}

function totals(cells: readonly RunCell[], keyOf: (cell: RunCell) => string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const cell of cells) counts.set(keyOf(cell), (counts.get(keyOf(cell)) ?? 0) + cell.own);
  return Object.fromEntries(counts);
}

const namedMax = 20;

function exceptionsOf({ runs, moreNotStaged }: OtherRuns): string[] {
  const of = (what: OtherRun['what']): readonly OtherRun[] => runs.filter((other) => other.what === what);
  const gone = of('not_staged');
  const more = gone.length + moreNotStaged - namedMax;
  return [
    ...gone.slice(0, namedMax).map(notStagedException),
    ...(more > 0 ? [`The same applies to ${more} older runs.`] : []),
    ...of('not_complete').map(incompleteException),
  ];
}

/** Persons and groups are rebuilt from the events that are still stored. */
async function retentionException(db: Queries, projectId: number): Promise<string[]> {
  const policy = (await findPolicy(db, projectId))?.policy;
  if (policy === undefined || keepsAll(policy)) return [];
  return [
    'The project keeps events for a limited time: what only expired events had set on the persons and groups of this run is lost.',
  ];
}

function notStagedException({ id }: OtherRun): string {
  return (
    `The staged records of run ${id} are not available here (removed, or on the machine of its command): events of both runs that ` +
    "the store kept as this run's will be missing afterwards."
  );
}

/** Describes a run that has not yet loaded again the events it shares with the undone one. */
export function incompleteException({ id, state }: Pick<OtherRun, 'id' | 'state'>): string {
  return (
    `Run ${id} is ${state}: events of it that the store kept as this run's are missing until it loads its records again ` +
    '(resume it, then retry its rejected records).'
  );
}

async function countPersons(db: Queries, projectId: number, ids: readonly string[]): Promise<number> {
  const uuids = new Set<string>();
  for (let from = 0; from < ids.length; from += idsPerQuery) {
    const rows = await db
      .selectFrom('person_distinct_ids')
      .select('person_uuid')
      .where('project_id', '=', projectId)
      .where('distinct_id', 'in', ids.slice(from, from + idsPerQuery))
      .execute();
    for (const row of rows) uuids.add(row.person_uuid);
  }
  return uuids.size;
}
