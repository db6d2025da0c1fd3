import { setImmediate as otherWork } from 'node:timers/promises';
import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { readDatabaseTime } from './database-clock.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';

/** Tables with rows of a project that no foreign key removes, and the column by which they are cut into pieces. */
const tables = [
  ['activity_log', 'id'],
  ['dead_letter_replays', 'id'],
  ['dead_letters', 'id'],
  ['group_types', 'name'],
  ['groups', 'group_key'],
  ['historical_budgets', 'project_id'],
  ['import_days', 'day'],
  ['import_load_marks', 'mark'],
  ['import_loads', 'run_id'],
  ['import_parts', 'seq'],
  ['import_runs', 'id'],
  ['import_upload_pieces', 'staging_key'],
  ['import_uploads', 'name'],
  ['ingestion_warnings', 'hour'],
  ['person_distinct_ids', 'distinct_id'],
  ['persons', 'uuid'],
  ['plugin_errors', 'fingerprint'],
  ['plugin_logs', 'id'],
  ['plugin_metrics', 'hour'],
  ['plugin_own_metrics', 'hour'],
  ['plugin_storage', 'key'],
  ['profile_rebuild_keys', 'key'],
  ['profile_rebuilds', 'id'],
  ['sample_events', 'id'],
] as const satisfies readonly (readonly [table: keyof Database, key: string])[];

/** Some 20 ms of SQLite's time, and worth a commit of their own: pieces of 2,000 took four times as long in all. */
const rowsPerPiece = 10_000;

/**
 * Deletes those rows. There may be millions: between pieces the thread does other work, and outside a transaction other
 * writers get their turn.
 */
export async function deleteProjectRows(db: Queries, projectId: number): Promise<void> {
  await rememberRuns(db, projectId, isoMicros(await readDatabaseTime(db)));
  for (const [table, key] of tables) {
    while ((await deletePiece(db, table, key, projectId)) >= rowsPerPiece) await otherWork();
  }
}

async function deletePiece(db: Queries, table: string, key: string, projectId: number): Promise<number> {
  const [from, column] = [sql.table(table), sql.ref(key)];
  const piece = sql`select ${column} from ${from} where project_id = ${projectId} limit ${rowsPerPiece}`;
  const deletion = sql`delete from ${from} where project_id = ${projectId} and ${column} in (${piece})`;
  const { numAffectedRows } = await deletion.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Their files lie outside of this store and are removed later (imports/run/remove-old-staging.ts). */
async function rememberRuns(db: Queries, projectId: number, time: string): Promise<void> {
  await db
    .insertInto('import_leftovers')
    .columns(['run_id', 'created_at'])
    .expression((eb) =>
      eb
        .selectFrom('import_runs')
        .select((of) => ['id', of.val(time).as('created_at')])
        .where('project_id', '=', projectId),
    )
    .onConflict((conflict) => conflict.column('run_id').doNothing())
    .execute();
}
