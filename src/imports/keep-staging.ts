import { isoMicros } from '../base/clock.ts';
import type { Metadata } from '../metadata/database.ts';
import type { VerifyResult } from './results.ts';
import { stagingKeys, StagingMissingError, type Staging } from './staging.ts';

const dayMs = 86_400_000;
const runsPerPass = 100;

export interface KeepDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  /** Since the run ended. */
  readonly keepDays: number;
}

/**
 * Removes what was staged by runs that ended long enough ago: cancelled, or completed to the report. Rejected records and
 * results stay. A run whose target has something else than was staged keeps everything: somebody has to look at it.
 * @returns ids of the runs of which something was removed
 */
export async function removeOldStaging({ db, staging, keepDays }: KeepDeps, now: number): Promise<string[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select(['id', 'state', 'stage', 'finished_at'])
    .where('state', 'in', ['completed', 'cancelled'])
    .where('finished_at', '<', isoMicros(now - keepDays * dayMs))
    .where((eb) =>
      // What was marked may not be gone yet: the process may have died in between.
      eb.or([eb('staging_removed_at', 'is', null), eb('staging_removed_at', '>', isoMicros(now - dayMs))]),
    )
    .where((eb) => eb.or([eb('state', '=', 'cancelled'), eb('stage', '=', 'report')]))
    .orderBy('finished_at')
    .limit(runsPerPass)
    .execute();
  const removed: string[] = [];
  for (const row of rows) {
    if (row.state === 'completed' && (await isDifferent(staging, row.id))) continue;
    // From here on nobody can ask to try its records again.
    const { numUpdatedRows } = await db
      .updateTable('import_runs')
      .set((eb) => ({ staging_removed_at: eb.fn.coalesce('staging_removed_at', eb.val(isoMicros(now))) }))
      .where('id', '=', row.id)
      .where('state', '=', row.state)
      .where('finished_at', '=', row.finished_at)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) continue;
    for (const folder of ['parts', 'spills', 'days']) await staging.remove(`${row.id}/${folder}/`);
    removed.push(row.id);
  }
  return removed;
}

async function isDifferent(staging: Staging, runId: string): Promise<boolean> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(stagingKeys.verify(runId))) chunks.push(chunk);
    return (JSON.parse(Buffer.concat(chunks).toString()) as VerifyResult).verdict === 'different';
  } catch (error) {
    if (error instanceof StagingMissingError) return false;
    throw error;
  }
}
