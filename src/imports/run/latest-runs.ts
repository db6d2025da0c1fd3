import type { Queries } from '../../stores/metadata/queries.ts';
import { runColumns, toRun } from './run-rows.ts';
import { allowedActions, statesWith, type Run, type RunAction, type RunState } from './run.ts';

/** A config and its project. */
export interface RunsOf {
  readonly projectId: number;
  readonly configId: number;
}

const runsPerPage = 20;

/** Returns `undefined` if the config has no runs. */
export async function latestRun(db: Queries, of: RunsOf): Promise<Run | undefined> {
  const row = await runsOf(db, of).orderBy('id', 'desc').limit(1).executeTakeFirst();
  return row && toRun(row);
}

/** Returns the newest run for which this action is possible, however old it is. */
export async function latestRunFor(
  db: Queries,
  of: RunsOf,
  action: Exclude<RunAction, 'undo'>,
): Promise<Run | undefined> {
  const fits = (run: Run): boolean => allowedActions(run).includes(action);
  // Completed runs whose staged records are removed allow none of these actions.
  const find = (state: RunState) => latestInState(db, of, state, { fits, staged: state === 'completed' });
  return newest(await Promise.all(statesWith(action).map(find)));
}

/**
 * Returns the newest run that is not finished: queued, running, paused or failed. A failed scheduled run counts as finished once a later
 * run is completed, which covers the same records.
 */
export async function latestOpenRun(db: Queries, of: RunsOf): Promise<Run | undefined> {
  const states = ['queued', 'running', 'paused', 'failed', 'completed'] as const;
  const [queued, running, paused, failed, completed] = await Promise.all(
    states.map((state) => latestInState(db, of, state)),
  );
  const isSuperseded = failed?.options.scheduled === true && completed !== undefined && failed.id < completed.id;
  const open = isSuperseded ? await latestInState(db, of, 'failed', { scheduled: false }) : failed;
  return newest([queued, running, paused, open]);
}

/** Returns each config's newest run if that failed, by config id. */
export async function runsThatFailedLast(db: Queries, projectId: number): Promise<Run[]> {
  const failed = await db
    .selectFrom('import_runs')
    .select((eb) => eb.fn.max<string>('id').as('id'))
    .where('project_id', '=', projectId)
    .where('state', '=', 'failed')
    .groupBy('config_id')
    .orderBy('config_id')
    .execute();
  const found: Run[] = [];
  for (const { id } of failed) {
    const row = await db
      .selectFrom('import_runs as run')
      .select(runColumns)
      .where('id', '=', id)
      .where((eb) => {
        const newer = eb
          .selectFrom('import_runs as newer')
          .select('newer.id')
          .whereRef('newer.project_id', '=', 'run.project_id')
          .whereRef('newer.config_id', '=', 'run.config_id')
          .whereRef('newer.id', '>', 'run.id');
        return eb.not(eb.exists(newer));
      })
      .executeTakeFirst();
    if (row !== undefined) found.push(toRun(row));
  }
  return found;
}

function runsOf(db: Queries, { projectId, configId }: RunsOf) {
  return db
    .selectFrom('import_runs')
    .select(runColumns)
    .where('project_id', '=', projectId)
    .where('config_id', '=', configId);
}

interface Choice {
  /** Default: all. */
  readonly fits?: (run: Run) => boolean;
  /** Only runs whose staged records still exist. */
  readonly staged?: boolean;
  /** `false`: only runs that users started. */
  readonly scheduled?: false;
}

async function latestInState(
  db: Queries,
  of: RunsOf,
  state: RunState,
  { fits = () => true, staged = false, scheduled }: Choice = {},
): Promise<Run | undefined> {
  for (let before: string | undefined; ;) {
    let query = runsOf(db, of).where('state', '=', state);
    if (staged) query = query.where('staging_removed_at', 'is', null);
    if (scheduled === false) query = query.where('kept', '=', '');
    if (before !== undefined) query = query.where('id', '<', before);
    const runs = (await query.orderBy('id', 'desc').limit(runsPerPage).execute()).map(toRun);
    const found = runs.find(fits);
    if (found !== undefined || runs.length < runsPerPage) return found;
    before = runs.at(-1)?.id;
  }
}

function newest(runs: readonly (Run | undefined)[]): Run | undefined {
  return runs.reduce(
    (best, run) => (run !== undefined && (best === undefined || run.id > best.id) ? run : best),
    undefined,
  );
}
