import { importStages } from '../../../wire/contract/import-run-states.ts';
import { shareDone } from '../../run/eta.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { UndoPlan } from '../../run/results.ts';
import type { Run, Stage } from '../../run/run.ts';
import type { RunCell } from '../../../stores/events/run-rows.ts';

/** What an undo does, known before it begins. */
export interface UndoWork {
  readonly plan: UndoPlan;
  readonly cells: readonly RunCell[];
  /** Events of the runs that load again, by run; missing in undos that an earlier version began. */
  readonly again?: Readonly<Record<string, number>>;
}

interface UndoLeft {
  readonly rows: number;
  /** Months with rows. */
  readonly months: number;
  /** Events that other runs load again. */
  readonly again: number;
  /** Ids whose persons are rebuilt. */
  readonly ids: number;
}

/** Shows progress: deleted rows, events that other runs have loaded again, and ids of rebuilt persons count alike. */
export function showLeft(leased: LeasedRun, work: UndoWork, left: Partial<UndoLeft>): void {
  const { rows, distinct_ids: ids } = work.plan;
  const total = rows + eventsAgain(work) + ids;
  const { rows: rowsLeft = 0, again = 0, ids: idsLeft = 0, months = 0 } = left;
  const partsTotal = monthsOf(work);
  const done = Math.max(0, total - rowsLeft - again - Math.min(ids, idsLeft));
  const parts = { partsDone: Math.max(0, partsTotal - months), partsTotal };
  leased.progress({ stage: 'undo', bytes: 0, rate: 0, done, total, ...parts });
}

/** Shows the end, where events count as reads showed them: a row may have been hidden by another row of the run. */
export function showUndone(leased: LeasedRun, work: UndoWork, finishedAt: number): void {
  const { events } = work.plan;
  const months = monthsOf(work);
  const parts = { partsDone: months, partsTotal: months };
  leased.progress({ stage: 'undo', bytes: 0, rate: 0, done: events, total: events, finishedAt, ...parts });
}

/** The parts of an undo: the store deletes month by month. */
function monthsOf({ cells }: UndoWork): number {
  return new Set(cells.map(({ day }) => day.slice(0, 7))).size;
}

/** Counts the events that these runs load again; default all that do. */
export function eventsAgain({ again = {} }: UndoWork, runs: readonly string[] = Object.keys(again)): number {
  return runs.reduce((sum, run) => sum + (again[run] ?? 0), 0);
}

const stagesAgain: readonly Stage[] = ['check', 'load', 'verify'];
const order: readonly Stage[] = importStages;

/** Returns the share, 0 to 1, of its checked and loaded events that a run still has to load again. */
export function shareLeft({ stage, progress }: Pick<Run, 'stage' | 'progress'>): number {
  const at = order.indexOf(stage);
  const done = stagesAgain.map((each) => {
    if (order.indexOf(each) < at) return 1;
    const reached = each === stage ? progress[each] : undefined;
    return reached === undefined ? 0 : (shareDone(reached) ?? 0);
  });
  return 1 - done.reduce((sum, share) => sum + share, 0) / stagesAgain.length;
}
