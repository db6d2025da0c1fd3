import type { Queries } from './queries.ts';

export interface AgreementInForce {
  readonly id: string;
  readonly eventsPerSecond: number;
}

/** Finds the fastest approved agreement of a project. */
export async function findApprovedAgreement(db: Queries, projectId: number): Promise<AgreementInForce | undefined> {
  const row = await db
    .selectFrom('historical_migrations')
    .select(['id', 'events_per_second'])
    .where('project_id', '=', projectId)
    .where('state', '=', 'approved')
    .orderBy('events_per_second', 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { id: row.id, eventsPerSecond: Number(row.events_per_second) };
}
