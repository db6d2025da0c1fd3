import { readDatabaseTime } from './database-clock.ts';
import type { Metadata } from './database.ts';

/** The last report of a process. */
export interface StoredReport {
  readonly id: string;
  readonly seenMsAgo: number;
  /** JSON. */
  readonly report: string;
}

export async function writeReport(db: Metadata, id: string, report: string): Promise<void> {
  const row = { id, seen_at: await readDatabaseTime(db), report };
  await db
    .insertInto('service_processes')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: row.seen_at, report }))
    .execute();
}

export async function listReports(db: Metadata): Promise<StoredReport[]> {
  const rows = await db.selectFrom('service_processes').selectAll().orderBy('id').execute();
  const now = await readDatabaseTime(db);
  return rows.map(({ id, seen_at: seenAt, report }) => ({ id, seenMsAgo: Math.max(0, now - seenAt), report }));
}

/** Removes the report of a process that stops. */
export async function removeReport(db: Metadata, id: string): Promise<void> {
  await db.deleteFrom('service_processes').where('id', '=', id).execute();
}

/** Removes the reports of processes that have been silent for longer. */
export async function pruneReports(db: Metadata, olderThanMs: number): Promise<void> {
  const before = (await readDatabaseTime(db)) - olderThanMs;
  await db.deleteFrom('service_processes').where('seen_at', '<', before).execute();
}
