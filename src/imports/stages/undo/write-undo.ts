import { readRunRows } from '../../run/read-run-rows.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { UndoResult } from '../../run/results.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { readReport } from '../report/read-results.ts';
import { makeReport } from '../report/report-stage.ts';
import { reportPage } from '../report/report-page.ts';
import type { UndoStageDeps } from './undo-stage.ts';

/** `undo.json`, and the run's report with what was taken back; the report that was made before stays as it was otherwise. */
export async function writeUndo(
  { staging, clock, db }: Pick<UndoStageDeps, 'staging' | 'clock' | 'db'>,
  { run }: Pick<LeasedRun, 'run'>,
  undo: UndoResult,
): Promise<void> {
  const before =
    (await readReport(staging, run.id)) ?? (await makeReport({ staging, clock, run, rows: readRunRows(db, run.id) }));
  const report = { ...before, undo };
  await write(staging, stagingKeys.undo(run.id), JSON.stringify(undo));
  await write(staging, stagingKeys.report(run.id, 'json'), JSON.stringify(report));
  await write(staging, stagingKeys.report(run.id, 'html'), reportPage(report));
}

async function write(staging: Staging, key: string, text: string): Promise<void> {
  await staging.write(key, [Buffer.from(`${text}\n`)]);
}
