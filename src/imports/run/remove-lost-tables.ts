import type { RunRef } from '../../stores/events/eventstore.ts';
import type { RunTables } from '../../stores/events/run-tables.ts';
import type { Metadata } from '../../stores/metadata/database.ts';

interface RemoveTablesDeps {
  readonly db: Metadata;
  readonly tables: Pick<RunTables, 'list' | 'drop'>;
}

/**
 * Drops the tables of deleted runs, and of runs whose staged records are removed: they neither convert, load nor compare again. A worker
 * on a deleted run may create its tables once more; the next call drops those.
 * @returns runs whose tables were dropped
 */
export async function removeLostTables({ db, tables }: RemoveTablesDeps): Promise<RunRef[]> {
  const lost: RunRef[] = [];
  // A run exists before its tables: a listed table whose run has no row by now never gets one.
  for (const run of await tables.list()) if (!(await needsTables(db, run))) lost.push(run);
  for (const run of lost) await tables.drop(run);
  return lost;
}

async function needsTables(db: Metadata, { projectId, runId }: RunRef): Promise<boolean> {
  const row = await db
    .selectFrom('import_runs')
    .select(['state', 'staging_removed_at'])
    .where('id', '=', runId)
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  if (row === undefined) return false;
  return row.staging_removed_at === null || row.state === 'queued' || row.state === 'running';
}
