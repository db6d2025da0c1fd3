import type { Queries } from '../../stores/metadata/queries.ts';
import { taskStates, type TaskState } from '../../stores/metadata/tables/tasks.ts';

/** Figures of all tasks of a kind, for monitoring. */
export interface TaskFigures {
  readonly byState: Readonly<Record<TaskState, number>>;
  /** Running tasks that wait for something, or are retried after an error. */
  readonly waiting: number;
}

/** Returns the figures of each of `kinds`, with zeros where there are no tasks. */
export async function taskFigures(db: Queries, kinds: readonly string[]): Promise<ReadonlyMap<string, TaskFigures>> {
  const rows = await db
    .selectFrom('tasks')
    .select(['kind', 'state', (eb) => eb.fn.countAll().as('count')])
    .select((eb) => eb.fn.sum(eb.case().when('error', '=', '').then(0).else(1).end()).as('troubled'))
    .where('kind', 'in', kinds)
    .groupBy(['kind', 'state'])
    .execute();
  return new Map(
    kinds.map((kind) => {
      const of = (state: TaskState) => rows.find((row) => row.kind === kind && row.state === state);
      const byState = Object.fromEntries(taskStates.map((state) => [state, Number(of(state)?.count ?? 0)]));
      return [
        kind,
        { byState: byState as Readonly<Record<TaskState, number>>, waiting: Number(of('running')?.troubled ?? 0) },
      ];
    }),
  );
}
