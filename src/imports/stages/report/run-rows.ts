import type { Queries } from '../../../metadata/queries.ts';
import type { HeldRun } from '../../run/held-run.ts';
import { toDay, toPart } from '../../run/run-rows.ts';

/** What a report needs of a run that nobody has to hold. */
export function readRunRows(db: Queries, run: string): Pick<HeldRun, 'parts' | 'days'> {
  return {
    async parts() {
      const rows = await db.selectFrom('import_parts').selectAll().where('run_id', '=', run).orderBy('seq').execute();
      return rows.map(toPart);
    },
    async days() {
      const rows = await db.selectFrom('import_days').selectAll().where('run_id', '=', run).orderBy('day').execute();
      return rows.map(toDay);
    },
  };
}
