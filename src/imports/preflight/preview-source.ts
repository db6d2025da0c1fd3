import { parseExactValues } from '../../base/exact-json.ts';
import type { KeptOutList } from '../../wire/contract/kept-out.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { RecordReader } from '../formats/format.ts';
import { foreignFiles } from '../run/foreign-files.ts';
import type { RunOptions } from '../run/run.ts';
import type { Source, SourceFault, SourcePart } from '../source.ts';
import { createConverter, type ConvertEvent } from '../stages/check/segment/convert-event.ts';
import { readTablesNow } from '../stages/check/read-tables.ts';
import type { OpenRunTransform } from '../stages/check/segment/run-transform.ts';
import type { PlanText } from '../run/tracking-plan-of.ts';
import { compilePlanText } from '../stages/check/plan/plan-text.ts';
import { planOutcome } from '../stages/check/plan/apply-plan.ts';
import { keptOutReason, keptOutTest } from '../stages/check/segment/apply-kept-out.ts';
import type { CompiledPlan } from '../../wire/tracking-plan/compile-plan.ts';
import { transformEvents } from '../stages/check/segment/transform-events.ts';
import type { TransformOutcome } from '../transform.ts';
import { chosenReaderOf } from './chosen-reader-of.ts';
import { fittingFormats, recordsOfFiles, spread } from './sample-source.ts';

/** An event of a record. */
interface PreviewEvent {
  /** The event as it would be sent; `null` if the transform drops it. */
  readonly event: WireEvent | null;
  /** How it violates the tracking plan, one sentence per rule. */
  readonly violations: readonly string[];
  /** Why it would be rejected; otherwise `null`. */
  readonly refused: { readonly code: string; readonly reason: string } | null;
}

export interface PreviewRecord {
  /** The record's part. */
  readonly part: string;
  /** The source's text; truncated if it is very long. */
  readonly original: string;
  /** The parsed record; `undefined` if it is not JSON, or too long to show. */
  readonly record: unknown;
  readonly outcome: 'events' | 'skipped' | 'rejected';
  /** Why it is skipped or rejected. */
  readonly reason: string | null;
  readonly events: readonly PreviewEvent[];
  /** Why events of it are skipped, by the choice or because their ids are kept out, one entry each. */
  readonly leftOut: readonly string[];
}

export interface SourcePreview {
  readonly parts: number;
  /** Size of all parts; `undefined` if the size of any part is unknown. */
  readonly bytesTotal: number | undefined;
  /** The part of the first record; empty without records. */
  readonly part: string;
  readonly records: readonly PreviewRecord[];
  /** More records existed than can be shown. */
  readonly truncated: boolean;
  /** Formats that read most of these records without options: several if they read the same number. */
  readonly fittingFormats: readonly string[];
}

interface PreviewDeps {
  readonly source: Source;
  readonly openTable: (path: string) => Promise<Source>;
  readonly openTransform: OpenRunTransform;
  /** The tracking plan that applies to the events; `undefined` if none does. */
  readonly plan: PlanText | undefined;
  /** Ids that the project keeps out; `undefined` without a list. */
  readonly keptOut: KeptOutList | undefined;
  /** Maximum size of one event as JSON, which the target accepts. */
  readonly eventBytesMax: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Characters shown of one record, and of all of them. */
const recordCharsMax = 100_000;
const previewCharsMax = 4_000_000;

/** Reads the first records of a source and converts them like a run; stages, stores and sends nothing. Passes on errors of both. */
export async function previewSource(
  deps: PreviewDeps,
  options: RunOptions,
  { records: max, signal }: { readonly records: number; readonly signal: AbortSignal },
): Promise<SourcePreview> {
  const { source, now, eventBytesMax } = deps;
  const tables = await readTablesNow(options.choice?.join ?? [], deps.openTable, signal);
  const read = chosenReaderOf(options, now(), tables);
  const parts = await source.listParts(options.range, { signal });
  const found = await firstRecordsOf(source, parts, { signal, options, max });
  const transform = options.transform && (await deps.openTransform(options.transform, now()));
  const plan = deps.plan && compilePlanText(deps.plan);
  const isKeptOut = keptOutTest(deps.keptOut);
  const opened = await transform?.open();
  const run = transform && opened && ((events: readonly WireEvent[]) => transformEvents(transform, opened, events));
  try {
    const convert = createConverter({
      runId: 'preview',
      eventBytesMax,
      now,
      names: { onKey: () => {}, onNestedKey: () => {} },
    });
    const shown: PreviewRecord[] = [];
    let chars = 0;
    let left = 0;
    for (const { part, lines, faults } of found) {
      for (const line of lines) {
        signal.throwIfAborted();
        if (chars > previewCharsMax) {
          left += 1;
          continue;
        }
        const record = await previewRecord(line, { read, convert, run, plan, isKeptOut });
        shown.push({ part, ...record });
        chars += charsOf(record);
      }
      for (const fault of faults.slice(0, max - shown.length)) shown.push({ part, ...faultRecord(fault) });
    }
    const all = found.flatMap(({ lines }) => lines);
    const sizes = parts.map(({ bytes }) => bytes);
    return {
      parts: parts.length,
      bytesTotal: sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
      part: found[0]?.part ?? '',
      records: shown,
      truncated: left > 0,
      fittingFormats: fittingFormats(spread(all, probedMax)),
    };
  } finally {
    await opened?.close();
  }
}

/** Records that every format tries to read. */
const probedMax = 20;

/** Files without a record of the format, after which the preview also shows records of others. */
const foreignMax = 10;

interface FirstRecordsOptions {
  readonly options: RunOptions;
  readonly max: number;
  readonly signal: AbortSignal;
}

/**
 * Skips files without records of the format, as a run does, unless there are no others: then the records that the format cannot read
 * show which one can.
 */
async function firstRecordsOf(
  source: Source,
  parts: readonly SourcePart[],
  { options, max, signal }: FirstRecordsOptions,
): ReturnType<typeof recordsOfFiles> {
  let skipped = 0;
  let hasOwn = false;
  const foreign = foreignFiles(options, () => (skipped += 1));
  if (foreign === undefined) return recordsOfFiles(source, parts, { signal }, max);
  const isRecord = (record: unknown): boolean => {
    const isOwn = foreign.isRecord(record);
    hasOwn ||= isOwn;
    return isOwn || (!hasOwn && skipped >= foreignMax);
  };
  const found = await recordsOfFiles(source, parts, { signal, foreign: { ...foreign, isRecord } }, max);
  return skipped > 0 && found.every(({ part }) => part === '') ? recordsOfFiles(source, parts, { signal }, max) : found;
}

interface Reading {
  readonly read: RecordReader;
  readonly convert: ConvertEvent;
  readonly plan: CompiledPlan | undefined;
  readonly isKeptOut: (event: WireEvent) => boolean;
  /** Runs the transform, if any. */
  readonly run: ((events: readonly WireEvent[]) => Promise<readonly TransformOutcome[]>) | undefined;
}

type Shown = Omit<PreviewRecord, 'part'>;

async function previewRecord(line: string, { read, ...reading }: Reading): Promise<Shown> {
  const isLong = line.length > recordCharsMax;
  const about = { original: line.slice(0, recordCharsMax), events: [], leftOut: [] };
  let record: unknown;
  try {
    record = parseExactValues(line);
  } catch {
    const reason = `expected JSON, got: ${line.slice(0, 60)}`;
    return { ...about, record: undefined, outcome: 'rejected', reason };
  }
  const shown = { ...about, record: isLong ? undefined : record };
  const result = read(record);
  if (result.kind === 'unreadable') return { ...shown, outcome: 'rejected', reason: result.reason };
  const chosen = result.chosen?.leftOut ?? [];
  if (result.kind === 'skipped') return { ...shown, leftOut: chosen, outcome: 'skipped', reason: result.reason };
  const all = await transformed(result.events, reading);
  const events = all.filter((event) => event !== 'kept out');
  const leftOut = [...chosen, ...Array<string>(all.length - events.length).fill(keptOutReason)];
  if (events.length === 0 && all.length > 0) return { ...shown, leftOut, outcome: 'skipped', reason: keptOutReason };
  return { ...shown, leftOut, events, outcome: 'events', reason: null };
}

async function transformed(
  events: readonly WireEvent[],
  { convert, run, plan, isKeptOut }: Omit<Reading, 'read'>,
): Promise<(PreviewEvent | 'kept out')[]> {
  const convertOne = (event: WireEvent): PreviewEvent | 'kept out' => {
    if (isKeptOut(event)) return 'kept out';
    const { violations, isDropped, refused } = planOutcome(plan, event);
    if (isDropped || refused !== null) return { event: isDropped ? null : event, violations, refused };
    const verdict = convert(event);
    const refusal = verdict.kind === 'refused' ? { code: verdict.code, reason: verdict.reason } : null;
    return { event, violations, refused: refusal };
  };
  if (run === undefined || events.length === 0) return events.map(convertOne);
  const outcomes = await run(events);
  return outcomes.map((outcome, index): PreviewEvent | 'kept out' => {
    if (outcome.kind === 'kept') return convertOne(outcome.event);
    if (outcome.kind === 'dropped') return { event: null, violations: [], refused: null };
    const refused = { code: outcome.code, reason: outcome.reason };
    return { event: events[index] ?? null, violations: [], refused };
  });
}

function faultRecord({ place, reason, original }: SourceFault): Shown {
  const shown = { original: original.slice(0, recordCharsMax), record: undefined, events: [], leftOut: [] };
  return { ...shown, outcome: 'rejected', reason: `${place}: ${reason}` };
}

/** Estimates the size of the record in a response: its text twice, and its events. */
function charsOf({ original, events }: Shown): number {
  return (
    original.length * 2 +
    events.reduce((sum, { event }) => sum + JSON.stringify(event?.properties ?? {}).length + 300, 0)
  );
}
