import type { Updateable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { ImportRunReport } from '../../wire/contract/import-runs.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { rememberReportedLoad } from '../../stores/metadata/import-loads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { runColumns, toRun } from './run-rows.ts';
import { noTotals, type Run, type RunOptions, type RunTotals, type StageProgress } from './run.ts';
import { enqueueRunNotice } from './enqueue-run-notice.ts';

/**
 * Runs of the command line that load into this service. The command does the work and reports it; the row is a copy of its reports. Its
 * config is 0, and workers claim it only to undo it. While it is running, its lease records when the command last reported.
 */

/** Without a report for this long a run counts as paused. */
export const silentMs = 60_000;

export interface Reported {
  readonly id: string;
  readonly projectId: number;
  readonly report: ImportRunReport;
  /** Database time, ms since the epoch. */
  readonly now: number;
}

/**
 * Stores what a command reports about its run, in the caller's transaction. Returns the stored run: if it was paused or cancelled in the
 * meantime it stays so until its command starts again.
 * @throws ApiError conflict, if the run no longer belongs to the command
 */
export async function saveReport(
  tx: Queries,
  reported: Reported,
): Promise<{ readonly run: Run; readonly isNew: boolean }> {
  const { id, projectId, report, now } = reported;
  const row = await tx
    .selectFrom('import_runs')
    .select([...runColumns, 'lease_until'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) {
    const inserted = { ...newRow(reported), ...columnsOf(report, now) };
    await tx.insertInto('import_runs').values(inserted).execute();
    return { run: await settled(tx, inserted, report), isNew: true };
  }
  const before = toRun(row);
  if (before.projectId !== projectId || before.configId !== 0) {
    throw new ApiError('conflict', `Expected the id of a run of the command line of this project, got ${id}.`);
  }
  if (report.begin === true) refuseEnded(before);
  else if (isSteered(before, row.lease_until)) return { run: before, isNew: false };
  const columns = columnsOf(report, now);
  await tx.updateTable('import_runs').set(columns).where('id', '=', id).execute();
  return { run: await settled(tx, { ...row, ...columns }, report, before), isNew: false };
}

/** Pauses runs that are no longer reported, until their command resumes them. */
export async function pauseSilentRuns(db: Metadata, now: number): Promise<void> {
  const rows = await db
    .selectFrom('import_runs')
    .select(['id', 'options'])
    .where('config_id', '=', 0)
    .where('state', '=', 'running')
    .where('stage', '!=', 'undo')
    .where('lease_until', '<', isoMicros(now))
    .execute();
  for (const { id, options } of rows) {
    const { command = '' } = JSON.parse(options) as RunOptions;
    const reason = `its command has not reported for ${silentMs / 1000} s; resume it with: ${command}`;
    await db
      .updateTable('import_runs')
      // The lease stays: the next report of its command sets the run to running again.
      .set({ state: 'paused', reason: reason.slice(0, 1000) })
      .where('id', '=', id)
      .where('state', '=', 'running')
      .where('lease_until', '<', isoMicros(now))
      .execute();
  }
}

function refuseEnded({ id, state, stage }: Run): void {
  if (state !== 'cancelled' && state !== 'undone' && stage !== 'undo') return;
  const what = state === 'cancelled' ? 'was cancelled' : 'was undone';
  throw new ApiError('conflict', `Run ${id} ${what}; start another one.`);
}

/** Returns whether the run was paused, cancelled or undone through this service. */
function isSteered({ state, stage }: Run, leaseUntil: string | null): boolean {
  return stage === 'undo' || state === 'cancelled' || state === 'undone' || (state === 'paused' && leaseUntil === null);
}

function newRow({ id, projectId, report, now }: Reported) {
  return {
    id,
    project_id: projectId,
    config_id: 0,
    source: report.run.source,
    waiting: null,
    secrets: '{}',
    promoted_from: null,
    attempts: 0,
    retries: 0,
    staging_removed_at: null,
    created_at: isoMicros(now),
    started_at: isoMicros(now),
    kept: '',
  } as const;
}

function columnsOf({ run, command, name }: ImportRunReport, now: number) {
  const isRunning = run.state === 'running';
  return {
    state: run.state,
    stage: run.stage,
    reason: run.reason,
    options: JSON.stringify({ ...optionsOf(run.options, command), ...(name !== undefined && { name }) }),
    progress: JSON.stringify(Object.fromEntries(run.stages.map((stage) => [stage.stage, progressOf(stage)]))),
    totals: JSON.stringify(totalsOf(run.totals)),
    // Paused runs have no lease: only their command resumes them.
    lease_until: isRunning ? isoMicros(now + silentMs) : null,
    finished_at:
      run.state === 'completed' || run.state === 'failed' || run.state === 'cancelled' ? isoMicros(now) : null,
  } satisfies Updateable<Database['import_runs']>;
}

/** Does what a change of state entails: records which days it loads, and enqueues the notification of its end. */
async function settled(
  tx: Queries,
  row: Parameters<typeof toRun>[0],
  { days }: ImportRunReport,
  before?: Run,
): Promise<Run> {
  const run = toRun(row);
  if (days !== undefined && days !== null) await rememberReportedLoad(tx, run.id, days);
  const hasEnded = run.state === 'completed' || run.state === 'failed';
  if (hasEnded && before?.state !== run.state) await enqueueRunNotice(tx, run);
  return run;
}

type ReportedOptions = ImportRunReport['run']['options'];

function optionsOf(options: ReportedOptions, command: string): RunOptions {
  const { from, to, names, choose, transform, limit } = options;
  return {
    range: { ...(from !== null && { from }), ...(to !== null && { to }) },
    format: options.format,
    formatOptions: options.format_options,
    ...(names !== null && { names: names as NonNullable<RunOptions['names']> }),
    ...(choose !== null && { choice: choose }),
    ...(transform !== null && { transform: { name: transform.name, hash: transform.hash } }),
    ...(limit !== null && { limit }),
    last: options.last,
    rejectedMax: options.rejected_max,
    eventsPerSecond: options.events_per_second,
    // What it loads is stored here, no matter how it was sent.
    target: { kind: 'project' },
    command,
  };
}

function progressOf(stage: ImportRunReport['run']['stages'][number]): StageProgress {
  const at = (time: string | null): number | undefined => (time === null ? undefined : Date.parse(time));
  return Object.fromEntries(
    Object.entries({
      stage: stage.stage,
      partsDone: stage.parts_done,
      partsTotal: stage.parts_total ?? undefined,
      done: stage.done,
      total: stage.total ?? undefined,
      bytes: stage.bytes,
      bytesTotal: stage.bytes_total ?? undefined,
      rate: stage.rate,
      startedAt: at(stage.started_at),
      finishedAt: at(stage.finished_at),
      lastProgressAt: at(stage.last_progress_at),
    }).filter(([, value]) => value !== undefined),
  ) as unknown as StageProgress;
}

function totalsOf({ verified, verdict, ...totals }: ImportRunReport['run']['totals']): RunTotals {
  return { ...noTotals, ...totals, ...(verified !== null && { verified }), ...(verdict !== null && { verdict }) };
}
