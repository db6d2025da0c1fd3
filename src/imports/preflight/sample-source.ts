import { foreignFiles } from '../run/foreign-files.ts';
import { findFormat, formats } from '../formats/registry.ts';
import { FormatOptionsError, type Format, type RecordReader } from '../formats/format.ts';
import { skipped } from '../formats/event-writer.ts';
import { incompleteLine } from '../formats/incomplete.ts';
import type { FoundNote } from '../formats/record-notes.ts';
import { addNotes, createNoteSum, noteFindings } from '../stages/check/tally/note-tally.ts';
import { parseNames } from '../formats/names.ts';
import type { RunOptions } from '../run/run.ts';
import type { Source, SourceContext, SourceFault, SourcePart } from '../source.ts';

/** The first records of a source, and what its format converts them to. */
export interface SourceSample {
  readonly parts: number;
  /** Key of the first part; empty without parts. */
  readonly firstPart: string;
  /** Size of all parts; `undefined` if the size of any part is unknown. */
  readonly bytesTotal: number | undefined;
  /** Every part was sampled. */
  readonly isWhole: boolean;
  /** Skipped files that hold no records of the format, with the reason. */
  readonly leftOut: readonly string[];
  /** What the parts cover together, if the source describes that. */
  readonly extent: string | undefined;
  /** Sampled records. */
  readonly records: number;
  /** Size of these records at the source. */
  readonly bytes: number;
  readonly events: number;
  /** Name and time of these events, ms since the epoch, where the time can be read. */
  readonly times: readonly { readonly event: string; readonly time: number }[];
  readonly skipped: number;
  readonly unreadable: number;
  /** Records that are error messages of the source. */
  readonly errorAnswers: number;
  /** The part of the first unreadable record, and the reason. */
  readonly firstFault: { readonly part: string; readonly reason: string } | undefined;
  /** What the source reports as missing, one sentence each. */
  readonly missing: readonly string[];
  /** The sampled records in their original form, one line each. */
  readonly lines: readonly string[];
  /** How their text is read; `undefined` if the source has no files. */
  readonly readAs: { readonly part: string; readonly how: string } | undefined;
  /** Other formats that read most of these records, if the own one reads none: several if they read the same number. */
  readonly betterFormats: readonly string[];
}

const recordsMax = 200;
/** More than one, because a day without events is not an empty source; few, because each part may cost a request that is counted. */
const partsMax = 3;

/** Samples a source. Passes on its errors. */
export async function sampleSource(source: Source, options: RunOptions, signal: AbortSignal): Promise<SourceSample> {
  const parts = await source.listParts(options.range, { signal });
  const leftOut: string[] = [];
  const foreign = foreignFiles(options, (file, reason) => leftOut.push(`${file}: ${reason}`));
  const { first, own, notes } = await firstUsable(source, parts, { signal, ...(foreign && { foreign }) }, options);
  const sizes = parts.map(({ bytes }) => bytes);
  const bytesTotal = sizes.includes(undefined)
    ? undefined
    : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  const faults = [...first.faults.map(({ reason }) => reason), ...own.reasons];
  const [reason] = faults;
  return {
    parts: parts.length,
    firstPart: parts[0]?.key ?? '',
    isWhole: parts.length <= partsMax,
    leftOut,
    extent: source.describe?.(parts) || undefined,
    bytesTotal,
    records: first.lines.length + first.faults.length,
    bytes: first.bytes,
    events: own.events,
    times: own.times,
    skipped: own.skipped,
    unreadable: faults.length,
    errorAnswers: own.notes.filter(({ of }) => of === 'error_answer').length,
    firstFault: reason === undefined ? undefined : { part: first.part, reason },
    missing: missingOf(notes),
    lines: first.lines,
    readAs: first.readAs === undefined ? undefined : { part: first.part, how: first.readAs },
    betterFormats: own.readable === 0 ? fittingFormats(first.lines).filter((slug) => slug !== options.format) : [],
  };
}

interface Usable {
  readonly first: FirstRecords;
  readonly own: Reading;
  /** Notes of all parts that were read. */
  readonly notes: readonly FoundNote[];
}

/**
 * Returns records of the first part with an event, or otherwise of the first part with a readable record, or with any: a single invalid
 * record or error message, alone in the file of an hour, says nothing about the following files.
 */
async function firstUsable(
  source: Source,
  parts: readonly SourcePart[],
  context: SourceContext,
  options: RunOptions,
): Promise<Usable> {
  let best: Omit<Usable, 'notes'> | undefined;
  const notes: FoundNote[] = [];
  for (const part of parts.slice(0, partsMax)) {
    const first = await firstRecords(source, [part], context, recordsMax);
    const own = readAll(readerOf(options), first.lines, options.format);
    notes.push(...own.notes);
    if (own.events > 0) return { first, own, notes };
    if (first.part !== '' && (best === undefined || (best.own.readable === 0 && own.readable > 0)))
      best = { first, own };
  }
  return { ...(best ?? { first: noRecords, own: readAll(readerOf(options), [], options.format) }), notes };
}

function missingOf(notes: readonly FoundNote[]): readonly string[] {
  const sum = createNoteSum();
  addNotes(sum, notes);
  return noteFindings(sum).flatMap(({ kind, detail }) => (kind === 'incomplete' ? [detail] : []));
}

interface FirstRecords {
  /** The records' part. */
  readonly part: string;
  readonly lines: readonly string[];
  readonly faults: readonly SourceFault[];
  readonly bytes: number;
  /** How its first text is read. */
  readonly readAs?: string | undefined;
}

const noRecords: FirstRecords = { part: '', lines: [], faults: [], bytes: 0 };

/** Reads the first records of the first part that has any. */
async function firstRecords(
  source: Source,
  parts: readonly SourcePart[],
  context: SourceContext,
  max: number,
): Promise<FirstRecords> {
  for (const part of parts.slice(0, partsMax)) {
    const lines: string[] = [];
    const faults: SourceFault[] = [];
    let bytes = 0;
    let readAs: string | undefined;
    for await (const chunk of source.open(part, context)) {
      lines.push(...linesOf(chunk.lines, max - lines.length));
      faults.push(...(chunk.faults ?? []));
      bytes = chunk.bytesRead;
      readAs ??= chunk.readAs;
      if (lines.length + faults.length >= max) break;
    }
    if (lines.length + faults.length > 0) return { part: part.key, lines, faults, bytes, readAs };
  }
  return noRecords;
}

/**
 * Reads the first records of several files, including the first and the last: exports separate events from profiles, or change over the
 * years. If the parts are not files, where each may cost a request that is counted, reads those of one part.
 */
export async function recordsOfFiles(
  source: Source,
  parts: readonly SourcePart[],
  context: SourceContext,
  max: number,
): Promise<readonly FirstRecords[]> {
  const isOfFiles = parts.every(({ bytes }) => bytes !== undefined);
  const filled = parts.filter(({ bytes }) => bytes !== 0);
  const chosen = isOfFiles ? spread(filled, Math.min(partsMax, max)) : [];
  const found: FirstRecords[] = [];
  for (const [at, file] of chosen.entries()) {
    const left = max - found.reduce((sum, { lines, faults }) => sum + lines.length + faults.length, 0);
    const first = await firstRecords(source, [file], context, Math.ceil(left / (chosen.length - at)));
    if (first.part !== '') found.push(first);
  }
  return found.length > 0 ? found : [await firstRecords(source, parts, context, max)];
}

/** Picks this many items, including the first and the last. */
export function spread<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (items.length <= count) return items;
  const step = (items.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, at) => items[Math.round(at * step)]).filter((item) => item !== undefined);
}

/** Returns lines that are not blank; a chunk may hold many thousands. */
function linesOf(chunk: Buffer, max: number): string[] {
  const lines: string[] = [];
  for (let start = 0; start < chunk.length && lines.length < max;) {
    const found = chunk.indexOf(0x0a, start);
    const end = found < 0 ? chunk.length : found;
    const line = chunk.toString('utf8', start, end);
    if (line.trim() !== '') lines.push(line);
    start = end + 1;
  }
  return lines;
}

interface Reading {
  /** Records that were read. */
  readonly readable: number;
  readonly events: number;
  readonly times: SourceSample['times'];
  readonly skipped: number;
  readonly reasons: readonly string[];
  readonly notes: readonly FoundNote[];
}

function readAll(read: RecordReader, lines: readonly string[], slug: string): Reading {
  let events = 0;
  const times: { readonly event: string; readonly time: number }[] = [];
  let skipped = 0;
  const reasons: string[] = [];
  const notes: FoundNote[] = [];
  for (const line of lines) {
    const result = resultOf(read, line, slug);
    notes.push(...(result.notes ?? []));
    if (result.kind === 'events') {
      events += result.events.length;
      times.push(...result.events.map(({ event, timestamp }) => ({ event, time: Date.parse(timestamp) })));
    } else if (result.kind === 'skipped') skipped += 1;
    else reasons.push(result.reason);
  }
  const known = times.filter(({ time }) => !Number.isNaN(time));
  return { readable: lines.length - reasons.length, events, times: known, skipped, reasons, notes };
}

function resultOf(read: RecordReader, line: string, slug: string): ReturnType<RecordReader> {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    const of = incompleteLine(slug, line);
    if (of !== undefined) {
      return {
        ...skipped('a line in which the source reports that it ended early'),
        notes: [{ of, sample: line.slice(0, 60) }],
      };
    }
    return { kind: 'unreadable', reason: `expected JSON, got: ${line.slice(0, 60)}` };
  }
  return read(record);
}

function readerOf({ format: slug, formatOptions, names }: RunOptions): RecordReader {
  const format = findFormat(slug);
  if (format === undefined) throw new FormatOptionsError(`this program has no format "${slug}"`);
  return format.createReader(formatOptions, parseNames(format.names, names));
}

/**
 * Returns the formats without required options that read most of the records, if they read at least half of them: several if they read
 * the same number, so that the records do not show which one wrote them.
 */
export function fittingFormats(lines: readonly string[]): readonly string[] {
  const counted = formats
    .map((format) => ({ slug: format.slug, readable: readableWith(format, lines) }))
    .filter(({ readable }) => readable > 0 && readable * 2 >= lines.length);
  const most = Math.max(...counted.map(({ readable }) => readable));
  return counted.filter(({ readable }) => readable === most).map(({ slug }) => slug);
}

function readableWith(format: Format, lines: readonly string[]): number {
  try {
    const { events, readable } = readAll(format.createReader({}, format.names), lines, format.slug);
    return events === 0 ? 0 : readable;
  } catch (error) {
    if (error instanceof FormatOptionsError) return 0;
    throw error;
  }
}
