import type { Metadata } from '../../stores/metadata/database.ts';
import { runColumns, toRun } from './run-rows.ts';
import type { Run, RunState } from './run.ts';

/** Figures of all import runs, for monitoring. */
interface RunFigures {
  readonly byState: Readonly<Partial<Record<RunState, number>>>;
  /** Running runs that wait for something. */
  readonly waiting: number;
  /** Longest time without progress of any running run; 0 if no run is running. */
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

/** Returns the time of the run's last progress, ms since the epoch. */
function lastMoveOf({ progress, startedAt, createdAt }: Run): number {
  const stages = Object.values(progress).flatMap((stage) => [stage.startedAt, stage.finishedAt, stage.lastProgressAt]);
  return Math.max(startedAt ?? createdAt, ...stages.filter((at) => at !== undefined));
}
