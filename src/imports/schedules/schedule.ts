import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Database } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Timing } from './timing.ts';

/**
 * A config of an import app that runs automatically. Each run covers the time from the end of the last completed run (less the overlap) to
 * its own due time. So a failed run, and missed times, leave a window that the next run covers; events in two windows are stored once, as
 * with any two runs.
 */
export interface Schedule {
  readonly configId: number;
  readonly projectId: number;
  readonly timing: Timing;
  readonly overlapMinutes: number;
  readonly paused: boolean;
  /** Nothing earlier is imported; ms since the epoch by the clock of the database, like the following times. */
  readonly beginsAt: number;
  readonly coveredTo: number;
  readonly dueAt: number;
  /** The run that has not ended, and the end of its window. */
  readonly run: { readonly id: string; readonly to: number } | null;
  /** Why no run could be started at the last due time. */
  readonly error: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export async function findSchedule(db: Queries, configId: number): Promise<Schedule | undefined> {
  const row = await db.selectFrom('import_schedules').selectAll().where('config_id', '=', configId).executeTakeFirst();
  return row && toSchedule(row);
}

export async function listSchedules(
  db: Queries,
  projectId: number,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly schedules: Schedule[] }> {
  const query = db.selectFrom('import_schedules').where('project_id', '=', projectId);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await query.selectAll().orderBy('config_id').limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), schedules: rows.map(toSchedule) };
}

/** Lists schedules with a due or unfinished run. Deleted configs do not count. */
export async function schedulesToCheck(db: Queries, now: number): Promise<Schedule[]> {
  const rows = await db
    .selectFrom('import_schedules as s')
    .innerJoin('plugin_configs as c', 'c.id', 's.config_id')
    .selectAll('s')
    .where('c.deleted', '=', 0)
    .where((eb) =>
      eb.or([eb('s.run_id', 'is not', null), eb.and([eb('s.paused', '=', 0), eb('s.due_at', '<=', isoMicros(now))])]),
    )
    .orderBy('s.due_at')
    .orderBy('s.config_id')
    .execute();
  return rows.map(toSchedule);
}

/** Creates or replaces a schedule. */
export async function saveSchedule(tx: Queries, schedule: Schedule): Promise<void> {
  const { configId: config_id, ...columns } = schedule;
  const row = {
    project_id: columns.projectId,
    timing: JSON.stringify(columns.timing),
    overlap_minutes: columns.overlapMinutes,
    paused: columns.paused ? 1 : 0,
    begins_at: isoMicros(columns.beginsAt),
    covered_to: isoMicros(columns.coveredTo),
    due_at: isoMicros(columns.dueAt),
    run_id: columns.run?.id ?? null,
    run_to: columns.run === null ? null : isoMicros(columns.run.to),
    error: columns.error,
    created_at: columns.createdAt,
    updated_at: columns.updatedAt,
  } as const;
  await tx
    .insertInto('import_schedules')
    .values({ config_id, ...row })
    .onConflict((conflict) => conflict.column('config_id').doUpdateSet(row))
    .execute();
}

export async function deleteSchedule(tx: Queries, configId: number): Promise<void> {
  await tx.deleteFrom('import_schedules').where('config_id', '=', configId).execute();
}

/** Locks the schedule until the caller's transaction ends. Returns `undefined` if it does not exist. */
export async function lockSchedule(tx: Queries, configId: number): Promise<Schedule | undefined> {
  const row = await tx
    .updateTable('import_schedules')
    .set((eb) => ({ overlap_minutes: eb.ref('overlap_minutes') }))
    .where('config_id', '=', configId)
    .returningAll()
    .executeTakeFirst();
  return row && toSchedule(row);
}

function toSchedule(row: Selectable<Database['import_schedules']>): Schedule {
  return {
    configId: row.config_id,
    projectId: row.project_id,
    timing: JSON.parse(row.timing) as Timing,
    overlapMinutes: row.overlap_minutes,
    paused: row.paused === 1,
    beginsAt: Date.parse(row.begins_at),
    coveredTo: Date.parse(row.covered_to),
    dueAt: Date.parse(row.due_at),
    run: row.run_id === null ? null : { id: row.run_id, to: Date.parse(row.run_to ?? row.covered_to) },
    error: row.error,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
