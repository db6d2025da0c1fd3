import type { Metadata } from '../../stores/metadata/database.ts';
import { runColumns, toRun } from './run-rows.ts';
import type { Run, RunState } from './run.ts';

/** All import runs at a glance, for whoever watches the service. */
export interface RunFigures {
  readonly byState: Readonly<Partial<Record<RunState, number>>>;
  /** Runs at work that wait for something. */
  readonly waiting: number;
  /** How long the run at work that has stood still longest has done so; 0: none is at work. */
  readonly stalledMs: number;
}

/** @param now ms since the epoch */
export async function runFigures(db: Metadata, now: number): Promise<RunFigures> {
  const counts = await db
    .selectFrom('import_runs')
    .select(['state', (eb) => eb.fn.countAll().as('count')])
    .groupBy('state')
    .execute();
  const rows = await db.selectFrom('import_runs').select(runColumns).where('state', '=', 'running').execute();
  const running = rows.map(toRun);
  return {
    byState: Object.fromEntries(counts.map(({ state, count }) => [state, Number(count)])),
    waiting: running.filter((run) => run.waiting !== null).length,
    stalledMs: Math.max(0, ...running.map((run) => now - lastMoveOf(run))),
  };
}

/** ms since the epoch when anything of the run happened last. */
function lastMoveOf({ progress, startedAt, createdAt }: Run): number {
  const stages = Object.values(progress).flatMap((stage) => [stage.startedAt, stage.finishedAt, stage.lastProgressAt]);
  return Math.max(startedAt ?? createdAt, ...stages.filter((at) => at !== undefined));
}
