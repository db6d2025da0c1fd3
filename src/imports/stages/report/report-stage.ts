import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { LeasedRun, RunStage } from '../../run/leased-run.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { Run, StageProgress } from '../../run/run.ts';
import type { UndoResult } from '../../run/results.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { expectedContents, refusedAtLoad } from '../verify/expected.ts';
import type { RefusedCounts } from './balance.ts';
import { buildReport } from './build-report.ts';
import { readCheck, readReport, readUndo, readVerify } from './read-results.ts';
import type { ReplacedRun, ReportResult } from './report.ts';
import { reportPage } from './report-page.ts';

interface ReportStageDeps {
  readonly staging: Staging;
  readonly clock: Clock;
  /** Returns the run with the present progress of its stages; by default the leased run. */
  readonly current?: (runId: string) => Promise<Run | undefined>;
  readonly failpoint?: Failpoint;
}

/** Last stage: writes report.json and report.html to staging, replacing earlier ones. */
export function createReportStage({ staging, clock, current, failpoint }: ReportStageDeps): RunStage {
  return async (leased) => {
    const startedAt = clock.now();
    await leased.flush();
    const report = await makeReport({
      staging,
      clock,
      rows: leased,
      run: (await current?.(leased.run.id)) ?? leased.run,
    });
    leased.signal.throwIfAborted();
    const json = Buffer.from(`${JSON.stringify(report)}\n`);
    const page = Buffer.from(reportPage(report));
    await staging.write(stagingKeys.report(leased.run.id, 'json'), [json]);
    failpoint?.('import_report_json_written');
    await staging.write(stagingKeys.report(leased.run.id, 'html'), [page]);
    failpoint?.('import_report_written');
    const finishedAt = clock.now();
    const progress: StageProgress = {
      stage: 'report',
      partsDone: 2,
      partsTotal: 2,
      done: report.totals.events.loaded,
      total: report.totals.events.loaded,
      bytes: json.length + page.length,
      startedAt,
      finishedAt,
      lastProgressAt: finishedAt,
      rate: 0,
    };
    leased.progress(progress, { verdict: report.verdict });
    await leased.flush();
  };
}

interface ReportDeps {
  readonly staging: Staging;
  readonly clock: Clock;
  readonly run: Run;
  readonly rows: Pick<LeasedRun, 'parts' | 'days'>;
}

/** Builds the report of a run, finished or not. */
export async function makeReport({ staging, clock, run, rows }: ReportDeps): Promise<ReportResult> {
  const [parts, days] = await Promise.all([rows.parts(), rows.days()]);
  const [check, verify] = await Promise.all([readCheck(staging, run.id), readVerify(staging, run.id)]);
  const refused = await readRefused(staging, run.id, days);
  const replaced = await readReplaced(staging, run);
  return buildReport({ run, parts, days, refused, check, verify, replaced, now: clock.now() });
}

async function readReplaced(staging: Staging, { totals }: Run): Promise<readonly ReplacedRun[]> {
  return Promise.all(
    Object.keys(totals.replaced ?? {}).map(async (run): Promise<ReplacedRun> => {
      const report = await readReport(staging, run);
      const undo = report?.undo ?? (await readUndo(staging, run));
      const { source = null, created_at = null } = report?.run ?? {};
      return { run, source, created_at, undo: undo === undefined ? null : withoutCells(undo) };
    }),
  );
}

/** The cells are in the report of the replaced run itself. */
function withoutCells(result: UndoResult): ReplacedRun['undo'] {
  const { cells: _, more_cells: __, ...undo } = result;
  return undo;
}

async function readRefused(staging: Staging, run: string, days: readonly StoredDay[]): Promise<RefusedCounts> {
  const refused = new Map<string, ReadonlyMap<string, number>>();
  for (const { day, rejected, expected } of days) {
    if (rejected === 0) continue;
    const counts = new Map<string, number>();
    const events = await refusedAtLoad(staging, run, day, expectedContents({ expected }));
    for (const { event } of events) counts.set(event, (counts.get(event) ?? 0) + 1);
    refused.set(day, counts);
  }
  return refused;
}
