import { dayMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { forgetLoad, rememberRemoval } from '../../stores/metadata/import-loads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Staging } from '../staging.ts';
import { isDifferent } from './remove-old-staging.ts';
import type { RunState, RunTotals } from './run.ts';

interface RemoveRunsDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  /** Days after its end for which a run that found nothing new is kept: as long as staged records. */
  readonly keepDays: number;
  /** The same for all other runs. */
  readonly runDays: number;
  /** Default 100. */
  readonly runsPerPage?: number;
}

const runsPerPageDefault = 100;
const ended: readonly RunState[] = ['completed', 'failed', 'cancelled', 'undone'];

/**
 * Removes scheduled runs that ended long enough ago, with their parts, days, staged files, results and reports. The events that they
 * stored remain, and so do the marks by which later runs recognise them. Kept are the newest run of each config, a run that its schedule
 * has not settled, a run whose target differs from what was staged, and runs that users started.
 *
 * Several processes may do this concurrently: a run that is resumed in the meantime is kept.
 * @param now ms, by the clock of the database
 * @returns ids of the removed runs
 */
export async function removeOldRuns(deps: RemoveRunsDeps, now: number): Promise<string[]> {
  const long = isoMicros(now - Math.max(deps.runDays, deps.keepDays) * dayMs);
  const short = isoMicros(now - deps.keepDays * dayMs);
  return [
    ...(await removeEach(deps, { kept: 'short', before: short, states: ['completed'] }, now)),
    ...(await removeEach(deps, { kept: 'short', before: long, states: ended }, now)),
    ...(await removeEach(deps, { kept: 'long', before: long, states: ended }, now)),
  ];
}

interface Due {
  readonly kept: 'short' | 'long';
  /** When the run ended. */
  readonly before: string;
  readonly states: readonly RunState[];
}

async function removeEach(deps: RemoveRunsDeps, due: Due, now: number): Promise<string[]> {
  const { runsPerPage = runsPerPageDefault } = deps;
  const removed: string[] = [];
  for (let after: EndedRun | undefined; ;) {
    const page = await runsAfter(deps.db, due, after).limit(runsPerPage).execute();
    for (const run of page) if (await removeRun(deps, run, now)) removed.push(run.id);
    if (page.length < runsPerPage) return removed;
    after = page.at(-1);
  }
}

interface EndedRun {
  readonly id: string;
  readonly state: string;
  readonly finished_at: string | null;
}

function runsAfter(db: Queries, { kept, before, states }: Due, after: EndedRun | undefined) {
  return db
    .selectFrom('import_runs as run')
    .select(['run.id', 'run.state', 'run.finished_at'])
    .where('run.kept', '=', kept)
    .where('run.finished_at', '<', before)
    .where('run.state', 'in', states)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('import_runs as newer')
          .select('newer.id')
          .whereRef('newer.project_id', '=', 'run.project_id')
          .whereRef('newer.config_id', '=', 'run.config_id')
          .whereRef('newer.id', '>', 'run.id'),
      ),
    )
    .where((eb) => {
      const unsettled = eb
        .selectFrom('import_schedules as schedule')
        .select('schedule.config_id')
        .whereRef('schedule.config_id', '=', 'run.config_id')
        .whereRef('schedule.run_id', '=', 'run.id');
      return eb.not(eb.exists(unsettled));
    })
    .$if(after !== undefined, (query) =>
      query
        .where('run.finished_at', '>=', after?.finished_at ?? '')
        .where((eb) =>
          eb.or([eb('run.finished_at', '>', after?.finished_at ?? ''), eb('run.id', '>', after?.id ?? '')]),
        ),
    )
    .orderBy('run.finished_at')
    .orderBy('run.id');
}

async function removeRun({ db, staging }: RemoveRunsDeps, run: EndedRun, now: number): Promise<boolean> {
  if (run.state === 'completed' && (await isDifferent(staging, run.id))) return false;
  return db.transaction().execute(async (tx) => {
    const row = await tx
      .deleteFrom('import_runs')
      .where('id', '=', run.id)
      .where('state', '=', run.state)
      .where('finished_at', '=', run.finished_at)
      .returning('totals')
      .executeTakeFirst();
    if (row === undefined) return false;
    const { loaded } = JSON.parse(row.totals) as RunTotals;
    if (run.state === 'undone' || loaded === 0) await forgetLoad(tx, run.id);
    else await rememberRemoval(tx, run.id, { loaded, removedAt: isoMicros(now) });
    await tx.deleteFrom('import_parts').where('run_id', '=', run.id).execute();
    await tx.deleteFrom('import_days').where('run_id', '=', run.id).execute();
    // Its files are removed like those of a deleted project: now, and once more when nothing can be writing any.
    await tx
      .insertInto('import_leftovers')
      .values({ run_id: run.id, created_at: isoMicros(now) })
      .onConflict((conflict) => conflict.column('run_id').doNothing())
      .execute();
    return true;
  });
}
