import { dayMs } from '../../../base/time.ts';
import type { StoredPart } from '../../run/leased-run.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { CheckResult, VerifyResult } from '../../run/results.ts';
import type { Run, StageProgress } from '../../run/run.ts';
import type { ReportSources } from './build-report.ts';

const start = Date.parse('2024-01-01T00:00:00Z');
const now = Date.parse('2026-11-21T12:00:00Z');

/** Returns sources of an exact, finished run with this many days and names, one event per record, and some planted faults. */
export function exactSources(size: { readonly days: number; readonly names: number }): ReportSources {
  const days = Array.from({ length: size.days }, (_, index) => countsOf(index, size.names));
  const names = [...new Set(days.flatMap((counts) => Object.keys(counts)))];
  const events = days.reduce((total, counts) => total + totalOf(counts), 0);
  const [skipped, faults, unreadable, refusedByCheck, refusedByTarget, duplicates] = [7, 2, 5, 3, 1, size.days];
  const records = events + duplicates + refusedByCheck + skipped + faults + unreadable;
  const parts = Array.from({ length: size.days }, (_, index) =>
    part(index, totalOf(days[index] ?? {}) + 1 + (index === 0 ? refusedByCheck + skipped + unreadable : 0), {
      faults: index === 0 ? faults : 0,
    }),
  );
  const stored = days.map((counts, index) => storedDay(index, counts, index === 0 ? refusedByTarget : 0));
  const check: CheckResult = {
    ...emptyCheck,
    days: Object.fromEntries(days.map((counts, index) => [dayName(index), counts])),
    events: names.map((event) => ({ event, count: 1, first_time: dayName(0), last_time: dayName(size.days - 1) })),
    errors: [
      {
        code: 'no_json',
        reason: 'expected a JSON object, got a text that ends early',
        count: unreadable,
        example: { part: dayName(0), line: 17, original: '{"event":"sig' },
      },
    ],
    duplicates,
    totals: {
      records,
      skipped: { 'replays of the source': skipped },
      converted: events + duplicates + refusedByCheck,
      rejected: faults + unreadable + refusedByCheck,
      rejected_events: refusedByCheck,
      events: events + duplicates + refusedByCheck,
      duplicates,
      loaded: 0,
    },
  };
  const loaded = events - refusedByTarget;
  const verify: VerifyResult = {
    verdict: 'exact',
    detail: 'Every day and event name agrees.',
    expected: loaded,
    found: loaded,
    cells: [],
    differences: [],
    truncated: 0,
  };
  const refused = new Map([[dayName(0), new Map([[nameOf(0), refusedByTarget]])]]);
  return { run: finishedRun(records, events), parts, days: stored, refused, check, verify, now };
}

function totalOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Each name has another weight; weekends are quiet. */
function countsOf(day: number, names: number): Record<string, number> {
  const isWeekend = day % 7 >= 5;
  const entries = Array.from({ length: names }, (_, index) => {
    const wave = 1 + 0.5 * Math.sin(day / 30 + index);
    return [nameOf(index), 1 + Math.round((9_000 / (index + 1)) * wave * (isWeekend ? 0.4 : 1))] as const;
  });
  return Object.fromEntries(entries);
}

function nameOf(index: number): string {
  return index === 0 ? '$pageview' : `event number ${index} of a rather long-winded tool`;
}

function dayName(index: number): string {
  return new Date(start + index * dayMs).toISOString().slice(0, 10);
}

function part(index: number, records: number, { faults }: { readonly faults: number }): StoredPart {
  const sha256 = index.toString(16).padStart(64, 'a');
  return {
    seq: index + 1,
    key: dayName(index),
    identity: undefined,
    checksum: undefined,
    stable: false,
    segments: [{ records, rawBytes: records * 600, bytes: records * 60, sha256 }],
    complete: true,
    faults,
    checked: 1,
    checkState: '',
    error: '',
  };
}

function storedDay(index: number, counts: Readonly<Record<string, number>>, rejected: number): StoredDay {
  const events = totalOf(counts);
  const expected = Object.entries(counts).map(([name, count]) => [name, { count, checksum: '00ff00ff00ff00ff' }]);
  return {
    day: dayName(index),
    events,
    bytes: events * 500,
    duplicates: 1,
    frames: 3,
    framesLoaded: 3,
    accepted: events - rejected,
    rejected,
    verified: true,
    expected: JSON.stringify(Object.fromEntries(expected)),
  };
}

function finishedRun(records: number, events: number): Run {
  const stage = (name: StageProgress['stage'], from: number, to: number, done: number): StageProgress => ({
    stage: name,
    partsDone: 1,
    partsTotal: 1,
    done,
    total: done,
    bytes: done * 500,
    startedAt: now - from * 1_000,
    finishedAt: now - to * 1_000,
    rate: 0,
  });
  return {
    id: '0190aaaa-0000-7000-8000-000000000001',
    projectId: 3,
    configId: 12,
    source: 'mixpanel',
    state: 'running',
    stage: 'report',
    reason: '',
    waiting: null,
    options: {
      range: { from: '2024-01-01T00:00:00.000Z' },
      format: 'mixpanel',
      formatOptions: {},
      last: 'report',
      rejectedMax: 0.01,
      eventsPerSecond: 0,
      target: { kind: 'project' },
    },
    progress: {
      export: stage('export', 5_000, 4_000, records),
      check: stage('check', 4_000, 3_700, records),
      load: stage('load', 3_700, 700, events),
      verify: stage('verify', 700, 600, events),
    },
    totals: { records, skipped: {}, rejected: 0, events, duplicates: 0, loaded: events },
    promotedFrom: null,
    createdAt: now - 5_100_000,
    startedAt: now - 5_000_000,
    finishedAt: null,
    retries: 0,
    stagingRemovedAt: null,
  };
}

const emptyCheck: CheckResult = {
  verdict: 'passed',
  problems: [],
  warnings: ['One distinct_id has 61 % of all events: is it a default value?'],
  totals: { records: 0, skipped: {}, rejected: 0, events: 0, duplicates: 0, loaded: 0 },
  first_time: null,
  last_time: null,
  days: {},
  events: [],
  errors: [],
  duplicates: 0,
  unmapped: { events: {}, properties: {} },
  identity: { distinct_ids: 1, identifies: 0, group_identifies: 0, ids_of_several_persons: [], busiest: [] },
  samples: [],
};
