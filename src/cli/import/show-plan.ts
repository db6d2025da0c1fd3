import { counted } from '../../base/integer-text.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createChosenReader } from '../../imports/choosing/chosen-reader.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import { foreignFiles } from '../../imports/run/foreign-files.ts';
import type { RecordReader } from '../../imports/formats/format.ts';
import { SourceError, SourceWaitError, type Source, type SourcePart } from '../../imports/source.ts';
import { CommandError } from '../exit-codes.ts';
import { createFormatReader } from '../format-reader.ts';
import { durationText, numberText } from '../progress-line.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { openSource, withTimes } from './open-source.ts';
import type { ImportRequest } from './request.ts';

/** What an import would fetch. `estimated_…` figures are based on a sample of the first records. */
interface ImportPlan {
  readonly source: string;
  readonly format: string;
  readonly target: string;
  readonly parts: readonly { readonly key: string; readonly bytes: number | null }[];
  /** `null` if the size of a part is unknown. */
  readonly bytes_total: number | null;
  readonly sampled_records: number;
  readonly sampled_events: number;
  readonly estimated_records: number | null;
  readonly estimated_events: number | null;
  readonly events_per_second: number;
  readonly estimated_seconds: number | null;
}

const sampleRecordsMax = 20_000;
const samplePartsMax = 3;
/** Without a requested speed. */
const usualSpeed = 5000;
const partsShown = 30;

/** Lists and samples the source; sends and keeps nothing. Errors: CommandError. */
export async function showPlan(terminal: Terminal, given: ImportRequest, json: boolean): Promise<void> {
  const request = withTimes(given);
  const temp = await mkdtemp(join(tmpdir(), 'millrace-plan-'));
  const { source, close } = openSource(request, temp);
  try {
    const plan = await runUntilStopped(terminal.process, (signal) => planOf(request, source, signal));
    if (request.transform !== undefined) {
      terminal.note('events are counted before the transform, which may drop some; --check counts them after it');
    }
    if (json) terminal.json(plan);
    else show(terminal, plan);
  } catch (error) {
    if (!(error instanceof SourceError) && !(error instanceof SourceWaitError)) throw error;
    throw new CommandError('failed', error.message, { cause: error });
  } finally {
    await close();
    await rm(temp, { recursive: true, force: true });
  }
}

async function planOf(request: ImportRequest, source: Source, signal: AbortSignal): Promise<ImportPlan> {
  const { range, format, target, eventsPerSecond, limit } = request.options;
  const parts = await source.listParts(range, { signal });
  const sizes = parts.map(({ bytes }) => bytes ?? null);
  const bytesTotal = sizes.includes(null) ? null : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  const sample = await takeSample(request, source, parts, signal);
  const counted = sample.parts === parts.length ? sample.records : estimated(sample, parts.length, bytesTotal);
  const records = counted === null ? null : Math.round(Math.min(counted, limit ?? Number.POSITIVE_INFINITY));
  const events = records === null ? null : Math.round(records * (sample.events / Math.max(1, sample.records)));
  const speed = eventsPerSecond === 0 ? usualSpeed : eventsPerSecond;
  return {
    source: request.source,
    format,
    target: target.kind === 'http' ? target.url : 'this project',
    parts: parts.map(({ key, bytes }) => ({ key, bytes: bytes ?? null })),
    bytes_total: bytesTotal,
    sampled_records: sample.records,
    sampled_events: sample.events,
    estimated_records: records,
    estimated_events: events,
    events_per_second: speed,
    estimated_seconds: events === null ? null : Math.ceil(events / speed),
  };
}

/** Estimates by bytes if the source reports them, otherwise by parts. */
function estimated({ records, bytes, parts }: Sample, partsTotal: number, bytesTotal: number | null): number | null {
  if (bytesTotal !== null) return bytes === 0 ? null : (bytesTotal / bytes) * records;
  return parts === 0 ? null : (partsTotal / parts) * records;
}

interface Sample {
  readonly records: number;
  readonly events: number;
  /** Bytes of the source for these records. */
  readonly bytes: number;
  /** Parts read to their end. */
  readonly parts: number;
}

async function takeSample(
  { options }: ImportRequest,
  source: Source,
  parts: readonly SourcePart[],
  signal: AbortSignal,
): Promise<Sample> {
  const reader = readerOf(options);
  // The check lists skipped files.
  const foreign = foreignFiles(options, () => undefined);
  let records = 0;
  let events = 0;
  let bytes = 0;
  let read = 0;
  for (const part of parts) {
    let partBytes = 0;
    for await (const { lines, bytesRead } of source.open(part, { signal, ...(foreign && { foreign }) })) {
      for (const line of lines.toString('utf8').split('\n')) {
        if (line.trim() === '') continue;
        records += 1;
        events += eventsOf(reader, line);
      }
      partBytes = bytesRead;
      if (records >= sampleRecordsMax) return { records, events, bytes: bytes + partBytes, parts: read };
    }
    bytes += partBytes;
    read += 1;
    // Each part may cost a metered request.
    if (part.bytes === undefined && read === samplePartsMax) break;
  }
  return { records, events, bytes, parts: read };
}

function readerOf({ format, formatOptions, names, choice }: ImportRequest['options']): RecordReader {
  const found = findFormat(format);
  if (found === undefined) throw new CommandError('usage', `expected a format, got: ${format}`);
  const rules = { times: found.times, now: Date.now() };
  return createChosenReader((memory) => createFormatReader(found, formatOptions, names, memory), choice, rules);
}

/** Counts no events for an invalid line, which the check reports. */
function eventsOf(read: RecordReader, line: string): number {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return 0;
  }
  const result = read(record);
  return result.kind === 'events' ? result.events.length : 0;
}

function show(terminal: Terminal, plan: ImportPlan): void {
  terminal.table(
    ['PART', 'BYTES'],
    plan.parts.slice(0, partsShown).map(({ key, bytes }) => [key, bytes === null ? '-' : numberText(bytes)]),
  );
  if (plan.parts.length > partsShown)
    terminal.note(`and ${plan.parts.length - partsShown} more; --json lists them all`);
  const rows: [string, number | null][] = [
    ['parts', plan.parts.length],
    ['bytes', plan.bytes_total],
    ['records', plan.estimated_records],
    ['events', plan.estimated_events],
  ];
  terminal.data('');
  for (const [name, count] of rows)
    terminal.data(`${name.padEnd(10)}${count === null ? 'unknown' : numberText(count)}`);
  if (plan.estimated_seconds === null) return;
  const speed = `${numberText(plan.events_per_second)} events/s`;
  terminal.data(`loading   ${durationText(plan.estimated_seconds)} at ${speed}, to ${plan.target}`);
  terminal.note(`estimated from ${counted(plan.sampled_records, 'record')}; nothing was sent`);
}
