import type { Queries } from '../../stores/metadata/queries.ts';
import { inChunks } from './in-chunks.ts';
import type { OtherRun } from './results.ts';
import type { Run } from './run.ts';

/** Runs that may have had some events of another run. */
export interface OtherRuns {
  /** Newest first; at most 100 of those without staged records. */
  readonly runs: readonly OtherRun[];
  /** Further runs without staged records. */
  readonly moreNotStaged: number;
}

const notStagedMax = 100;
const removed = 'removed';

/**
 * Finds runs that loaded into the same project and may have had some events of `run`: on the same days, or events that exist once per
 * person and were skipped because they were stored.
 * @param days days on which `run` has stored events
 */
export async function otherRuns(db: Queries, run: Run, days: ReadonlySet<string>): Promise<OtherRuns> {
  const common = await daysInCommon(db, run, days);
  const ids = new Set([...common.keys(), ...(await runsWithDuplicates(db, run))]);
  const present = await loadedRuns(db, [...ids]);
  const found = [
    ...present.map((row) => otherRun(row, common.get(row.id) ?? 0)),
    ...(await removedRuns(db, run, days)),
  ];
  const newest = found.toSorted((a, b) => b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id));
  let notStaged = 0;
  const runs = newest.filter(({ what }) => what !== 'not_staged' || ++notStaged <= notStagedMax);
  return {
    runs: runs.map(({ id, state, days_in_common, what }) => ({ id, state, days_in_common, what })),
    moreNotStaged: Math.max(0, notStaged - notStagedMax),
  };
}

/** Returns a run that loads events of these days now, or may do so at any moment. */
export async function findLoadingRun(db: Queries, run: Run, days: ReadonlySet<string>): Promise<string | undefined> {
  const rows = await db
    .selectFrom('import_runs as run')
    .innerJoin('import_loads as load', 'load.run_id', 'run.id')
    .select(['run.id', 'run.progress', 'load.duplicates'])
    .where('run.project_id', '=', run.projectId)
    .where('run.state', 'in', ['queued', 'running'])
    .where('run.stage', '!=', 'undo')
    .where('run.id', '!=', run.id)
    .where('load.target', '=', 'project')
    .orderBy('run.id')
    .execute();
  for (const { id, progress, duplicates } of rows) {
    // A run that is checked again does not load yet.
    if (!Object.hasOwn(JSON.parse(progress) as object, 'load')) continue;
    if (Number(duplicates) > 0) return id;
    const own = await db.selectFrom('import_days').select('day').where('run_id', '=', id).execute();
    if (own.some(({ day }) => days.has(day))) return id;
  }
  return undefined;
}

type Found = OtherRun & { readonly created_at: string };

function otherRun(row: LoadedRow, common: number): Found {
  const { id, state, created_at } = row;
  const what = whatOf(row);
  return { id, state, days_in_common: what === 'not_staged' ? null : common, what, created_at };
}

function whatOf({ state, staging_removed_at: stagingRemovedAt }: LoadedRow): OtherRun['what'] {
  if (stagingRemovedAt !== null) return 'not_staged';
  if (state === 'completed') return 'loads_again';
  return state === 'queued' || state === 'running' ? 'at_work' : 'not_complete';
}

/** Counts these days on which other runs have events, by run. */
async function daysInCommon(
  db: Queries,
  { id, projectId }: Run,
  days: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const rows = await inChunks([...days], (chunk) =>
    db
      .selectFrom('import_days')
      .select(['run_id', (eb) => eb.fn.countAll<number | string>().as('count')])
      .where('project_id', '=', projectId)
      .where('day', 'in', chunk)
      .where('run_id', '!=', id)
      .groupBy('run_id')
      .execute(),
  );
  const common = new Map<string, number>();
  for (const { run_id: run, count } of rows) common.set(run, (common.get(run) ?? 0) + Number(count));
  return common;
}

async function runsWithDuplicates(db: Queries, { id, projectId }: Run): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('import_loads')
    .select('run_id')
    .where('project_id', '=', projectId)
    .where('duplicates', '>', 0)
    .where('run_id', '!=', id)
    .execute();
  return rows.map(({ run_id: run }) => run);
}

type LoadedRow = Awaited<ReturnType<typeof loadedRuns>>[number];

async function loadedRuns(db: Queries, ids: readonly string[]) {
  return inChunks(ids, (chunk) =>
    db
      .selectFrom('import_runs as run')
      .innerJoin('import_loads as load', 'load.run_id', 'run.id')
      .select(['run.id', 'run.state', 'run.staging_removed_at', 'run.created_at'])
      .where('run.id', 'in', chunk)
      .where('run.config_id', '!=', 0)
      .where('run.state', '!=', 'undone')
      .where('run.stage', '!=', 'undo')
      .where('load.target', '=', 'project')
      .execute(),
  );
}

/** Finds removed and reported runs, of which only the first and last day are stored. */
async function removedRuns(db: Queries, { id, projectId }: Run, days: ReadonlySet<string>): Promise<readonly Found[]> {
  const sorted = [...days].toSorted();
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  const rows = await db
    .selectFrom('import_loads')
    .select(['run_id', 'created_at'])
    .where('project_id', '=', projectId)
    .where('removed_at', 'is not', null)
    .where('run_id', '!=', id)
    .where('target', '=', 'project')
    .where((eb) =>
      eb.or([eb('duplicates', '>', 0), eb.and([eb('last_day', '>=', first), eb('first_day', '<=', last)])]),
    )
    .execute();
  const reported = await reportedRuns(db, { id, projectId }, { first, last });
  return [...rows.map(({ run_id, created_at }) => ({ run_id, created_at, state: removed })), ...reported].map(
    ({ run_id: run, state, created_at }): Found => {
      return { id: run, state, days_in_common: null, what: 'not_staged', created_at };
    },
  );
}

/** Finds runs of the command line. Their staged records are on the machine of the command. */
function reportedRuns(
  db: Queries,
  { id, projectId }: Pick<Run, 'id' | 'projectId'>,
  { first, last }: { readonly first: string; readonly last: string },
) {
  return db
    .selectFrom('import_loads as load')
    .innerJoin('import_runs as run', 'run.id', 'load.run_id')
    .select(['load.run_id', 'load.created_at', 'run.state'])
    .where('load.project_id', '=', projectId)
    .where('run.config_id', '=', 0)
    .where('run.id', '!=', id)
    .where('run.state', '!=', 'undone')
    .where('run.stage', '!=', 'undo')
    .where('load.last_day', '>=', first)
    .where('load.first_day', '<=', last)
    .execute();
}
