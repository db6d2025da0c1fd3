import { counted } from '../../../base/integer-text.ts';
import { isHeldByCheck } from '../../run/check-problems.ts';
import { stagesOf } from '../../run/eta.ts';
import { type StoredPart } from '../../run/leased-run.ts';
import { isAdmitted, isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { CheckResult, VerifyResult } from '../../run/results.ts';
import { isoTime, toOptionsRecord } from '../../run/run-record.ts';
import type { Run, Stage, StageProgress } from '../../run/run.ts';
import { balance, recordsOf, sum, type RefusedCounts } from './balance.ts';
import { eventMatrix } from './event-matrix.ts';
import type { PartLine, ReplacedRun, ReportResult, ReportTotals, StageLine } from './report.ts';

const partsMax = 2_000;
const errorsMax = 100;
const sentencesMax = 200;
const differencesMax = 1_000;
const exampleCharsMax = 2_000;

export interface ReportSources {
  readonly run: Run;
  readonly parts: readonly StoredPart[];
  readonly days: readonly StoredDay[];
  readonly refused: RefusedCounts;
  /** `undefined` until the check is done. */
  readonly check: CheckResult | undefined;
  /** `undefined` until verify is done. */
  readonly verify: VerifyResult | undefined;
  /** Replaced runs, if any. */
  readonly replaced?: readonly ReplacedRun[];
  /** ms since the epoch. */
  readonly now: number;
}

/** Builds a report from the results of the stages. Pure: the same sources give the same report. */
export function buildReport(sources: ReportSources): ReportResult {
  const { run, parts, days, refused, check, verify, replaced = [], now } = sources;
  const totals = totalsOf(sources);
  const isLoaded = hasLoaded(run, days, check);
  const lines = balance({
    totals,
    refusedByCheck: check?.totals.rejected_events ?? 0,
    foreign: sum(check?.files_left_out ?? [], ({ records: own = 0 }) => own),
    parts,
    days,
    refused,
    isChecked: check !== undefined,
    isLoaded,
    verify,
    replaced,
  });
  const off = lines.filter(({ holds }) => !holds).map(({ name }) => name);
  const conclusion = withMissing(conclude({ run, days, check, verify, isLoaded, off }), check);
  return {
    version: 1,
    made_at: new Date(now).toISOString(),
    run: {
      id: run.id,
      project_id: run.projectId,
      config_id: run.configId,
      source: run.source,
      promoted_from: run.promotedFrom,
      created_at: new Date(run.createdAt).toISOString(),
      started_at: isoTime(run.startedAt),
    },
    options: toOptionsRecord(run.options),
    ...conclusion,
    totals,
    balance: lines,
    // The report itself is not done yet.
    stages: stagesOf(run).flatMap((stage) => (stage === 'report' ? [] : stageLine(stage, run.progress[stage], now))),
    parts: { list: parts.slice(0, partsMax).map(partLine), more: Math.max(0, parts.length - partsMax) },
    ...eventMatrix(days, { check, verify, refused }),
    ...findingsOf(sources, isLoaded),
    verify: { verdict: verify?.verdict ?? 'not done', detail: verify?.detail ?? '' },
    differences: differencesOf(verify),
    stored_by: totals.events.verified === null ? null : (verify?.stored_by ?? []),
    ...(replaced.length > 0 && { replaced }),
  };
}

function totalsOf({ run, parts, days, check, verify }: ReportSources): ReportTotals {
  const base = check?.totals;
  const staged = sum(parts, recordsOf) + sum(parts, ({ faults }) => faults);
  const skipped = sum(Object.values(base?.skipped ?? {}), (count) => count);
  const refused = base?.rejected_events ?? 0;
  const rejected = base === undefined ? sum(parts, ({ faults }) => faults) : base.rejected - refused;
  const read = base?.records ?? staged;
  const isRead = verify !== undefined && verify.verdict !== 'unreadable';
  return {
    records: {
      read,
      // Nothing is converted before the check.
      converted: base === undefined ? 0 : (base.converted ?? read - skipped - rejected),
      skipped,
      rejected,
      skipped_by_reason: base?.skipped ?? {},
    },
    events: {
      read: base?.events_read ?? base?.events ?? 0,
      left_out: sum(Object.values(base?.left_out ?? {}), (count) => count),
      left_out_by_reason: base?.left_out ?? {},
      converted: base?.events ?? 0,
      duplicates: base?.duplicates ?? 0,
      rejected: refused + sum(days, (day) => day.rejected),
      loaded: sum(days, (day) => day.accepted),
      verified: isRead ? verify.found : null,
      ...(isRead && verify.expired !== undefined && { expired: verify.expired }),
      stored_by_others: isRead ? (verify.stored_by_others ?? 0) : null,
    },
    profiles: { persons: countOf(check, '$set'), groups: countOf(check, '$groupidentify') },
    source_bytes: run.progress.export?.bytes ?? sum(parts, ({ bytes }) => bytes ?? 0),
  };
}

/** Counts events of a name that are to be loaded. */
function countOf(check: CheckResult | undefined, name: string): number {
  return check?.events.find(({ event }) => event === name)?.count ?? 0;
}

function hasLoaded(run: Run, days: readonly StoredDay[], check: CheckResult | undefined): boolean {
  if (run.options.last === 'check' || check === undefined) return false;
  const isPast = run.stage === 'verify' || run.stage === 'report';
  return isPast && days.every(isLoaded);
}

interface Facts extends Pick<ReportSources, 'run' | 'days' | 'check' | 'verify'> {
  readonly isLoaded: boolean;
  /** Names of the sums that do not agree. */
  readonly off: readonly string[];
}

type Conclusion = Pick<ReportResult, 'verdict' | 'summary'>;

function conclude({ run, days, check, verify, isLoaded, off }: Facts): Conclusion {
  if (off.length > 0) {
    const compared = verify?.verdict === 'different' ? ` ${verify.detail}` : '';
    return { verdict: 'different', summary: `These control totals do not agree: ${off.join('; ')}.${compared}` };
  }
  if (run.options.last === 'check' && check !== undefined) {
    return { verdict: 'checked', summary: `The check ${check.verdict}. Nothing was loaded.` };
  }
  if (!isLoaded) {
    return { verdict: 'unfinished', summary: unfinished(run, days) };
  }
  if (verify === undefined || verify.verdict === 'unreadable') {
    const why = verify === undefined ? 'The store was not compared.' : verify.detail;
    return {
      verdict: 'unverified',
      summary: `Every control total agrees, and the target acknowledged every event. ${why}`,
    };
  }
  if (verify.verdict === 'different') {
    return { verdict: 'different', summary: `The stored events differ from the loaded ones. ${verify.detail}` };
  }
  if (verify.verdict === 'exact_by_id') {
    return { verdict: 'exact_by_id', summary: `Every control total agrees. ${verify.detail}` };
  }
  const there = verify.stored_by_others ?? 0;
  const expired = verify.expired ?? 0;
  const kept = run.totals.loaded - expired;
  const left = expired === 0 ? '' : ' that have not expired';
  const stored =
    kept === 0 && expired > 0
      ? 'Every loaded event has expired, so none is left to compare.'
      : `The store holds all of the ${counted(kept, 'loaded event')}${left}, each with every property.`;
  const others =
    there === 0
      ? ''
      : ` ${there.toLocaleString('en')} of them were stored before, by another import or by live capture.`;
  const rejected = run.totals.rejected === 0 ? '' : ` Rejected: ${counted(run.totals.rejected, 'record')}.`;
  return {
    verdict: 'exact',
    summary: `${stored}${others}${expiredText(expired)}${rejected}`,
  };
}

function expiredText(expired: number): string {
  if (expired === 0) return '';
  return ` Expired since: ${counted(expired, 'event')}, because the project keeps historical events for fewer days.`;
}

/** Adds what the source says is missing; the run is incomplete then. */
function withMissing(conclusion: Conclusion, check: CheckResult | undefined): Conclusion {
  const missing = missingOf(check);
  if (missing.length === 0) return conclusion;
  const summary = [...missing, conclusion.summary].join(' ');
  const { verdict } = conclusion;
  const isDone = verdict !== 'different' && verdict !== 'unfinished' && verdict !== 'checked';
  return { verdict: isDone ? 'incomplete' : verdict, summary };
}

/** Returns what the source says is missing. */
function missingOf(check: CheckResult | undefined): readonly string[] {
  return (check?.notes ?? []).filter(({ kind }) => kind === 'incomplete').map(({ detail }) => detail);
}

function unfinished(run: Run, days: readonly StoredDay[]): string {
  const { state, stage, reason, waiting } = run;
  switch (state) {
    case 'failed':
      return `The run failed in the stage ${stage}${isHeldByCheck(run) ? '; its problems say why.' : `: ${reason}`}`;
    case 'cancelled':
      return `The run was cancelled in the stage ${stage}; what was loaded until then remains.${halfLoaded(days)}`;
    case 'paused':
      return `The run is not finished: it is paused in the stage ${stage}.`;
    default: {
      const why = waiting === null ? '' : `, and waits: ${waiting.reason}`;
      return `The run is not finished: it is in the stage ${stage}${why}.`;
    }
  }
}

/** Mentions days whose rows may be stored although persons and groups are not updated. */
function halfLoaded(days: readonly StoredDay[]): string {
  const count = days.filter((day) => !isLoaded(day) && isAdmitted(day)).length;
  if (count === 0) return '';
  return ` Events of ${counted(count, 'more day')} may be stored although persons and groups are not updated yet; undo the run to delete them.`;
}

function stageLine(stage: Stage, progress: StageProgress | undefined, now: number): StageLine {
  const { startedAt, finishedAt, done = 0, bytes = 0 } = progress ?? {};
  const durationMs = startedAt === undefined ? null : Math.max(0, (finishedAt ?? now) - startedAt);
  return {
    stage,
    started_at: isoTime(startedAt),
    finished_at: isoTime(finishedAt),
    duration_ms: durationMs,
    done,
    bytes,
    rate: durationMs === null || durationMs === 0 ? null : Math.round((done / durationMs) * 1_000),
  };
}

function partLine(part: StoredPart): PartLine {
  return {
    key: part.key,
    identity: part.identity ?? null,
    records: recordsOf(part),
    faults: part.faults,
    raw_bytes: sum(part.segments, ({ rawBytes }) => rawBytes),
    sha256: part.segments.map(({ sha256 }) => sha256),
    complete: part.complete,
  };
}

/** Lists each sentence once: `problems` has what the summary only mentions, and `warnings` excludes what it contains. */
function findingsOf(
  { run, check }: ReportSources,
  isLoaded: boolean,
): Pick<ReportResult, 'errors' | 'problems' | 'warnings'> {
  const inSummary = new Set(missingOf(check));
  const errors = (check?.errors ?? []).slice(0, errorsMax).map(({ code, reason, count, example }) => {
    const { part, line, original } = example;
    return { code, reason, count, example: { part, line, original: original.slice(0, exampleCharsMax) } };
  });
  return {
    errors,
    problems: problemsOf(run, check, isLoaded).slice(0, sentencesMax),
    warnings: (check?.warnings ?? []).filter((warning) => !inSummary.has(warning)).slice(0, sentencesMax),
  };
}

/** Returns the reason of a run that its check holds with its present options. A run that has loaded was allowed to since. */
function problemsOf(run: Run, check: CheckResult | undefined, isLoaded: boolean): readonly string[] {
  if (isHeldByCheck(run)) return [run.reason];
  return isLoaded ? [] : (check?.problems ?? []);
}

function differencesOf(verify: VerifyResult | undefined): ReportResult['differences'] {
  const all = verify?.differences ?? [];
  const list = all.slice(0, differencesMax);
  return { list, more: all.length - list.length + (verify?.truncated ?? 0) };
}
