import type { ErrorGroup, EventSummary } from '../../../../src/wire/contract/import-results.ts';
import type { UnusualValue } from '../../../../src/wire/contract/unusual-values.ts';
import { send } from '../../api/request.ts';
import { apiQuery } from '../../api/queries.ts';
import { runPath, type Run, type RunPlace } from './imports-query.ts';

/** What the check of a run found, as far as it is shown. */
export interface CheckResult {
  readonly verdict: 'passed' | 'failed';
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly first_time: string | null;
  readonly last_time: string | null;
  readonly events: readonly EventSummary[];
  readonly errors: readonly ErrorGroup[];
  readonly duplicates: number;
  readonly unmapped: {
    readonly events: Readonly<Record<string, number>>;
    readonly properties: Readonly<Record<string, number>>;
  };
  readonly identity: { readonly distinct_ids: number };
  readonly odd_values?: readonly OddFinding[];
}

export interface OddFinding {
  readonly of: UnusualValue;
  readonly rule: string;
  readonly count: number;
  /** Checks of old versions lack it. */
  readonly outcome?: string;
  readonly detail: string;
}

/** The report of a run, as far as it is shown. */
export interface Report {
  readonly verdict: string;
  readonly summary: string;
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

/** One number where the three agree: what was to be loaded, what was, what was found (null: not compared). */
export type ReportCell = number | readonly [toLoad: number, loaded: number, found: number | null];

export interface ReportDay {
  readonly day: string;
  readonly to_load: number;
  readonly duplicates: number;
  readonly loaded: number;
  readonly rejected: number;
  readonly verified: number | null;
}

interface Difference {
  readonly kind: string;
  readonly day: string;
  readonly event: string;
  readonly detail: string;
}

/** Without duplicates and without what is rejected. */
export function eventsToLoad({ events }: Pick<CheckResult, 'events'>): number {
  return events.reduce((sum, { count }) => sum + count, 0);
}

/** What is to be looked at beside unusual values, which have a list of their own. */
export function plainWarnings({ warnings, odd_values: odd = [] }: Pick<CheckResult, 'warnings' | 'odd_values'>) {
  const own = new Set(odd.map(({ detail }) => detail));
  return [...new Set(warnings)].filter((warning) => !own.has(warning));
}

/** Whether there is a result of its check to ask for. */
export function isChecked({ stages }: Pick<Run, 'stages'>): boolean {
  return stages.some(({ stage, state }) => stage === 'check' && state === 'done');
}

/** Whether there is a result of its preflight, which a run that reads or has failed has behind it. */
export function isPreflown({ options, state, stages }: Pick<Run, 'options' | 'state' | 'stages'>): boolean {
  const reads = stages.some(({ parts_done: parts, state: of }) => of === 'done' || parts > 0);
  return options.preflight && (reads || state === 'failed');
}

export function checkQuery(place: RunPlace) {
  return apiQuery<CheckResult>(`${runPath(place)}/check`);
}

export function reportQuery(place: RunPlace) {
  return apiQuery<Report>(`${runPath(place)}/report`, { format: 'json' });
}

/** A record that did not become an event. */
export interface Rejected {
  readonly part: string;
  readonly line?: number;
  readonly place?: string;
  readonly stage: string;
  readonly code: string;
  readonly reason: string;
  readonly original: unknown;
}

export interface RejectedPage {
  readonly records: readonly Rejected[];
  /** There are more than were read. */
  readonly more: boolean;
}

/** The first rejected records. The answer is a stream of any length: reading ends when there are enough. */
export async function readRejected(path: string, max: number, signal: AbortSignal): Promise<RejectedPage> {
  const gone = new AbortController();
  const response = await send(path, {
    headers: { accept: 'application/x-ndjson' },
    signal: AbortSignal.any([signal, gone.signal]),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const records: Rejected[] = [];
  let rest = '';
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    const lines = (rest + piece.value).split('\n');
    rest = lines.pop() ?? '';
    records.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Rejected));
    if (records.length > max) {
      gone.abort();
      return { records: records.slice(0, max), more: true };
    }
  }
  if (rest !== '') records.push(JSON.parse(rest) as Rejected);
  return { records, more: false };
}
