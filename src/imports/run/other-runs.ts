import type { Queries } from '../../metadata/queries.ts';
import type { OtherRun } from './results.ts';
import { runColumns, toRun } from './run-rows.ts';
import type { Run } from './run.ts';

/** Runs looked at, newest first; of older ones hardly anything is staged. */
const runsMax = 500;

/**
 * Runs that brought events into the same project, and may have had some of those of `run`: on the same days, or events that are
 * added once for a person, which they left out because they were stored.
 * @param days of the events that are stored of `run`
 */
export async function otherRuns(db: Queries, run: Run, days: ReadonlySet<string>): Promise<OtherRun[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select(runColumns)
    .where('project_id', '=', run.projectId)
    .where('id', '!=', run.id)
    .where('state', '!=', 'undone')
    .orderBy('created_at', 'desc')
    .limit(runsMax)
    .execute();
  const found: OtherRun[] = [];
  for (const other of rows.map(toRun)) {
    if (other.options.target.kind !== 'project' || other.stage === 'undo' || !hasLoaded(other)) continue;
    const common = other.stagingRemovedAt === null ? await daysInCommon(db, other, days) : null;
    if (common === 0 && other.totals.duplicates === 0) continue;
    found.push({ id: other.id, state: other.state, days_in_common: common, what: whatOf(other) });
  }
  return found;
}

function hasLoaded({ progress }: Run): boolean {
  return progress.load !== undefined;
}

function whatOf({ state, stagingRemovedAt }: Run): OtherRun['what'] {
  if (stagingRemovedAt !== null) return 'not_staged';
  if (state === 'completed') return 'loads_again';
  return state === 'queued' || state === 'running' ? 'at_work' : 'not_complete';
}

async function daysInCommon(db: Queries, { id }: Run, days: ReadonlySet<string>): Promise<number> {
  const rows = await db.selectFrom('import_days').select('day').where('run_id', '=', id).execute();
  return rows.filter(({ day }) => days.has(day)).length;
}
