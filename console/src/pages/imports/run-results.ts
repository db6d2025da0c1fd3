import type { ImportVerdict } from '../../../../src/wire/contract/import-run-states.ts';
import type {
  CheckFinding,
  ErrorGroup,
  EventSummary,
  SameRecords,
} from '../../../../src/wire/contract/import-results.ts';
import { send } from '../../api/request.ts';
import { apiQuery } from '../../api/queries.ts';
import { runPath, type Run, type RunIds } from './imports-query.ts';

/** The part of a check result that the console shows. */
export interface CheckResult {
  readonly verdict: 'passed' | 'failed';
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly first_time: string | null;
  readonly last_time: string | null;
  readonly events: readonly EventSummary[];
  readonly errors: readonly ErrorGroup[];
  readonly duplicates: number;
  readonly identity: { readonly distinct_ids: number; readonly is_estimated?: boolean };
  /** Absent in checks by old versions. */
  readonly findings?: readonly CheckFinding[];
  /** Earlier runs that converted the same records differently. */
  readonly same_records?: readonly SameRecords[];
}

/** The part of a report that the console shows. */
export interface Report {
  readonly verdict: ImportVerdict;
  readonly summary: string;
  /** Set once the run is undone; the other figures are those before the undo. */
  readonly undo?: { readonly plan: { readonly events: number } };
  readonly balance: readonly {
    readonly name: string;
    readonly left: number;
    readonly right: number;
    readonly holds: boolean;
  }[];
  readonly days: readonly ReportDay[];
  readonly cells: {
    readonly events: readonly string[];
    readonly rows: readonly { readonly day: string; readonly counts: readonly ReportCell[] }[];
  };
  readonly differences: { readonly list: readonly Difference[]; readonly more: number };
}

/**
 * One number if all three counts agree, otherwise each of them, and the events that have expired since, if any; `found` is null if the
 * store was not compared.
 */
export type ReportCell = number | readonly [toLoad: number, loaded: number, found: number | null, expired?: number];

export interface ReportDay {
  readonly day: string;
  readonly to_load: number;
  readonly duplicates: number;
  readonly loaded: number;
  readonly rejected: number;
  readonly verified: number | null;
  /** Absent if none has expired. */
  readonly expired?: number;
}

interface Difference {
  readonly kind: string;
  readonly day: string;
  readonly event: string;
  readonly detail: string;
}

/** Returns the number of events to load, without duplicates and rejected ones. */
export function eventsToLoad({ events }: Pick<CheckResult, 'events'>): number {
  return events.reduce((sum, { count }) => sum + count, 0);
}

/** Returns what to review; checks by old versions have only sentences. */
export function findingsOf({
  findings,
  warnings,
}: Pick<CheckResult, 'warnings' | 'findings'>): readonly CheckFinding[] {
  return findings ?? [...new Set(warnings)].map((detail) => ({ code: 'note', count: null, samples: [], detail }));
}

/** Tells whether the run has a check result. */
export function isChecked({ stages }: Pick<Run, 'stages'>): boolean {
  return stages.some(({ stage, state }) => stage === 'check' && state === 'done');
}

/** Tells whether the run has a preflight result: it has started reading, or failed. */
export function hasPreflight({ options, state, stages }: Pick<Run, 'options' | 'state' | 'stages'>): boolean {
  const hasStarted = stages.some(({ parts_done: parts, state: stage }) => stage === 'done' || parts > 0);
  return options.preflight && (hasStarted || state === 'failed');
}

export function checkQuery(ids: RunIds) {
  return apiQuery<CheckResult>(`${runPath(ids)}/check`);
}

export function reportQuery(ids: RunIds) {
  return apiQuery<Report>(`${runPath(ids)}/report`, { format: 'json' });
}

/** A rejected record. */
export interface Rejected {
  readonly part: string;
  readonly line?: number;
  readonly place?: string;
  readonly stage: string;
  readonly code: string;
  readonly reason: string;
  readonly original: unknown;
}

interface RejectedPage {
  readonly records: readonly Rejected[];
  /** Whether more records exist. */
  readonly more: boolean;
}

/** Reads the first rejected records of a response of any length, and aborts it when there are enough. */
export async function readRejected(path: string, max: number, signal: AbortSignal): Promise<RejectedPage> {
  const enough = new AbortController();
  const response = await send(path, {
    headers: { accept: 'application/x-ndjson' },
    signal: AbortSignal.any([signal, enough.signal]),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const records: Rejected[] = [];
  let rest = '';
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    const lines = (rest + piece.value).split('\n');
    rest = lines.pop() ?? '';
    records.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Rejected));
    if (records.length > max) {
      enough.abort();
      return { records: records.slice(0, max), more: true };
    }
  }
  if (rest !== '') records.push(JSON.parse(rest) as Rejected);
  return { records, more: false };
}
