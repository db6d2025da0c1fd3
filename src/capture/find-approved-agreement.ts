import type { Queries } from '../metadata/queries.ts';
import type { ApprovedAgreement } from './agreements.ts';

/** The fastest approved agreement of a project. */
export async function findApprovedAgreement(db: Queries, projectId: number): Promise<ApprovedAgreement | undefined> {
  const row = await db
    .selectFrom('historical_migrations')
    .select('events_per_second')
    .where('project_id', '=', projectId)
    .where('state', '=', 'approved')
    .orderBy('events_per_second', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { eventsPerSecond: Number(row.events_per_second) };
}
