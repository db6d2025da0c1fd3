import type { Queries } from '../../stores/metadata/queries.ts';
import type { LeasedRun } from './leased-run.ts';
import { toDay, toPart } from './run-rows.ts';

/** Reads parts and days of a run; this needs no lease. */
export function readRunRows(db: Queries, runId: string): Pick<LeasedRun, 'parts' | 'days'> {
  return {
    async parts() {
      const rows = await db.selectFrom('import_parts').selectAll().where('run_id', '=', runId).orderBy('seq').execute();
      return rows.map(toPart);
    },
    async days() {
      const rows = await db.selectFrom('import_days').selectAll().where('run_id', '=', runId).orderBy('day').execute();
      return rows.map(toDay);
    },
  };
}
