import type { ImportRunRecord, ImportStageRecord } from '../../wire/contract/import-runs.ts';
import { openCheckProblems } from './check-problems.ts';
import { runEtaMs, shareDone, stagesOf } from './eta.ts';
import type { Run, RunOptions, Stage, StageProgress } from './run.ts';

/** Converts a run for clients. `now` in ms. */
export function toRunRecord(run: Run, now: number): ImportRunRecord {
  const { totals } = run;
  return {
    id: run.id,
    plugin_config: run.configId,
    source: run.source,
    state: run.state,
    stage: run.stage,
    reason: run.reason,
    waiting: run.waiting === null ? null : { reason: run.waiting.reason, until: isoTime(run.waiting.until) },
    eta_seconds: seconds(runEtaMs(run, now)),
    options: toOptionsRecord(run.options),
    stages: stagesOf(run).map((stage) => toStage(run, stage, now)),
    totals: {
      records: totals.records,
      skipped: totals.skipped,
      rejected: totals.rejected,
      events: totals.events,
      left_out: totals.left_out ?? {},
      duplicates: totals.duplicates,
      loaded: totals.loaded,
      replaced: totals.replaced ?? {},
      verified: totals.verified ?? null,
      verdict: totals.verdict ?? null,
    },
    check_problems: openCheckProblems(run),
    promoted_from: run.promotedFrom,
    command: run.options.command ?? null,
    name: run.options.name ?? null,
    created_at: new Date(run.createdAt).toISOString(),
    started_at: isoTime(run.startedAt),
    finished_at: isoTime(run.finishedAt),
  };
}

/** Converts options for clients, without the credentials in a target's address. */
export function toOptionsRecord({
  range,
  target,
  names,
  choice,
  transform,
  limit,
  ...options
}: RunOptions): ImportRunRecord['options'] {
  return {
    from: range.from ?? null,
    to: range.to ?? null,
    format: options.format,
    format_options: { ...options.formatOptions },
    names: names === undefined ? null : { ...names },
    choose: choice ?? null,
    transform:
      transform === undefined ? null : { config: transform.config ?? null, name: transform.name, hash: transform.hash },
    again: options.again ?? false,
    replace: replaceRecord(options.replace),
    last: options.last,
    limit: limit ?? null,
    rejected_max: options.rejectedMax,
    events_per_second: options.eventsPerSecond,
    preflight: options.preflight !== false,
    scheduled: options.scheduled ?? false,
    target: { kind: target.kind, url: target.kind === 'http' ? withoutCredentials(target.url) : null },
  };
}

function replaceRecord(replace: RunOptions['replace'] = undefined): ImportRunRecord['options']['replace'] {
  return replace === undefined || replace === true ? replace === true : [...replace];
}

function toStage(run: Run, stage: Stage, now: number): ImportStageRecord {
  const progress = run.progress[stage] ?? notBegun(stage);
  const state = stateOf(run, stage, progress);
  return {
    stage,
    state,
    unit: stage === 'export' || stage === 'check' ? 'records' : 'events',
    parts_done: progress.partsDone,
    parts_total: progress.partsTotal ?? null,
    done: progress.done,
    total: progress.total ?? null,
    bytes: progress.bytes,
    bytes_total: progress.bytesTotal ?? null,
    share: state === 'done' ? 1 : (shareDone(progress) ?? null),
    rate: state === 'active' && run.state === 'running' ? progress.rate : 0,
    eta_seconds: state === 'active' ? seconds(runEtaMs(run, now)) : state === 'done' ? 0 : null,
    started_at: isoTime(progress.startedAt),
    finished_at: isoTime(progress.finishedAt),
    last_progress_at: isoTime(progress.lastProgressAt),
  };
}

/** A stage before the run's present one is done; a later one is pending, even if an earlier round left progress there. */
function stateOf(run: Run, stage: Stage, progress: StageProgress): ImportStageRecord['state'] {
  const order = stagesOf(run);
  const distance = order.indexOf(stage) - order.indexOf(run.stage);
  if (run.state === 'completed' || run.state === 'undone' || distance < 0) return 'done';
  if (distance > 0) return 'pending';
  return progress.finishedAt === undefined ? 'active' : 'done';
}

function notBegun(stage: Stage): StageProgress {
  return { stage, partsDone: 0, done: 0, bytes: 0, rate: 0 };
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.ceil(ms / 1_000);
}

export function isoTime(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString();
}

/** Returns an address without user, password and query, which may be credentials. */
function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '';
  return `${url.protocol}//${url.host}${url.pathname}`;
}
