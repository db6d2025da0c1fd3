import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { notEventNames, notEventWarning } from '../../../../wire/batch/not-events.ts';
import { unreadableTime } from '../../../choosing/unusual-times.ts';
import type { RecordReader, RecordResult, RecordTimes } from '../../../formats/format.ts';
import { incompleteLine } from '../../../formats/incomplete.ts';
import type { Links } from '../../../formats/reader-memory.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { objectIn } from '../../../../base/json.ts';
import { contentWords, identityWords } from '../../../checksum.ts';
import type { RejectedRecord } from '../../../staging.ts';
import type { Transform } from '../../../transform.ts';
import { checkFailure, countsDiffer } from '../check-failure.ts';
import { createConverter, type ConvertEvent, type ReadyEvent, type RefusedEvent } from './convert-event.ts';
import type { HeldLines } from '../add-faults.ts';
import { hashText } from '../rows/event-keys.ts';
import type { Deferred, DeferredEvent } from '../links/deferred-events.ts';
import type { UnmappedNames } from './find-unmapped.ts';
import { emptyResult } from '../tally/findings.ts';
import { createRecordLedger, disagreements, type RecordLedger } from './record-ledger.ts';
import { createRejectedFile, type RejectedFile } from '../rejected-file.ts';
import type { FastConverter, RowSink } from '../fast/fast-converter.ts';
import { lineEnd, readLine, segmentLines, tooDeepReason, type SegmentLine } from './segment-lines.ts';
import { createSegmentTally, type SegmentTally } from '../tally/segment-tally.ts';
import type { SharedDevices } from '../tally/shared-devices.ts';
import { createSegmentLinks, packedLinkName, type SegmentLinks } from '../rows/segment-links.ts';
import type { SegmentMemory } from '../threads/segment-memory.ts';
import type { SegmentRows } from '../rows/segment-rows.ts';
import { addedOnce } from '../links/stored-events.ts';
import { transformRecords, type ReadRecord, type TransformedRecord } from './transform-records.ts';
import { applyPlan } from '../plan/apply-plan.ts';
import { applyKeptOut } from './apply-kept-out.ts';
import type { KeptOut } from '../../../../wire/batch/kept-out.ts';
import type { CompiledPlan, Violation } from '../../../../wire/tracking-plan/compile-plan.ts';

/** Dependencies of checking one segment. */
export interface SegmentCheckDeps {
  readonly runId: string;
  readonly read: RecordReader;
  /** Slug of the format. */
  readonly slug: string;
  /** Links that the reader creates once in the segment. */
  readonly links: Pick<Links, 'has'>;
  /** Memory of the reader. */
  readonly memory: Pick<SegmentMemory, 'exclude' | 'became' | 'links'>;
  /** Converts usual records without building objects; `undefined` if all records are read as objects. */
  readonly fast: FastConverter | undefined;
  readonly rows: SegmentRows;
  readonly devices: Pick<SharedDevices, 'add'>;
  readonly unmapped: UnmappedNames;
  /** Time fields of a record; `undefined` if the format does not declare them. */
  readonly times: RecordTimes | undefined;
  /** Combinations of event names that already have a sample. */
  readonly sampled: Set<string>;
  readonly eventBytesMax: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly held: HeldLines;
  readonly transform: Transform | undefined;
  /** Tracking plan of the project; `undefined` if none applies here. */
  readonly plan: CompiledPlan | undefined;
  /** Ids that the project keeps out; `undefined` without a list. */
  readonly keptOut: KeptOut | undefined;
  /** Called now and then with the number of lines read. */
  readonly onLines?: OnLines | undefined;
}

export type OnLines = (lines: number) => void;

export interface SegmentPlace {
  /** Key of the part. */
  readonly part: string;
  /** Lines of the part before this segment. */
  readonly linesBefore: number;
  /** `received_at` of the first line of the part, µs since the epoch. */
  readonly firstPlace: number;
}

/** A checked segment; its rows are in `deps.rows`. */
export interface SegmentCheck {
  readonly tally: SegmentTally;
  readonly rejected: RejectedFile;
  readonly deferred: Deferred;
}

/** Records between two checks of the signal, which also yield the thread to other work. */
const recordsPerTurn = 500;

export async function checkSegment(deps: SegmentCheckDeps, place: SegmentPlace, lines: Buffer): Promise<SegmentCheck> {
  const tally = createSegmentTally(deps.unmapped, deps.sampled, deps.now);
  const rejected = createRejectedFile();
  const ledger = createRecordLedger();
  const deferred: DeferredEvent[] = [];
  const counter = createCounter(deps, place, { tally, ledger, rejected, deferred });
  const { transform } = deps;
  const links = createSegmentLinks(deps.runId);
  const storeEach = createStoreRecord(deps, place, tally, counter);
  if (transform === undefined) await checkDirectly(deps, place, { tally, ledger, counter, storeEach, links, lines });
  else await checkTransformed(deps, transform, { storeEach, records: readRecords(deps, place, counter, lines) });
  const written = deps.rows.count + deferred.length + links.added;
  const differences = disagreements({ lines, tally, ledger, written });
  if (differences.length > 0)
    throw countsDiffer(`the lines of ${place.part} from ${place.linesBefore + 1}`, differences);
  for (const { link } of deferred) if (link !== undefined) link.ofLine = ledger.linksOf(link.line);
  return { tally, rejected, deferred: { events: deferred, links: links.pack() } };
}

/** Two independent counts. */
interface Counts {
  readonly tally: SegmentTally;
  readonly ledger: RecordLedger;
}

async function checkDirectly(
  deps: SegmentCheckDeps,
  place: SegmentPlace,
  {
    tally,
    ledger,
    counter,
    storeEach,
    links,
    lines,
  }: Counts & {
    readonly counter: Counter;
    readonly storeEach: StoreRecord;
    readonly links: SegmentLinks;
    readonly lines: Buffer;
  },
): Promise<void> {
  const { fast, rows, devices, signal, onLines } = deps;
  const id = { low: 0, high: 0 };
  const isText = isUtf8(lines);
  let at = 0;
  let line = place.linesBefore + 1;
  let turnAt = line + recordsPerTurn;
  const sink: RowSink = {
    rows,
    tally,
    ledger,
    placeOf: (line, index) => placeOf(place.firstPlace, line, index),
    takeLinks: (events, { line: of, micros }) => {
      noteDevices(devices, events);
      for (const event of events) {
        hashText(event.distinct_id, id);
        tally.link({ event: packedLinkName }, id);
        ledger.stored(of);
        links.add(event, micros, placeOf(place.firstPlace, of, 0));
      }
    },
  };
  while (at < lines.length) {
    if (line >= turnAt) {
      onLines?.(line - place.linesBefore);
      await yieldToLoop(signal);
      turnAt = line + recordsPerTurn;
    }
    try {
      const next = isText ? fast?.convert(lines, { at, line }, sink) : undefined;
      ({ at, line } = next ?? { at, line });
      if (next?.isUnusual === false) continue;
      const end = lineEnd(lines, at);
      readAsObject(end);
      at = end + 1;
      line += 1;
    } catch (error) {
      throw checkFailure(`checking line ${line} of ${place.part}`, error);
    }
  }

  function readAsObject(end: number): void {
    const each = readLine(lines, at, end, isText);
    if (each.kind !== 'record') return counter.skipLine(each, line);
    counter.record();
    storeEach({ line, text: each.text, result: readSafely(deps.read, each.record), failures: [] });
  }
}

async function checkTransformed(
  deps: SegmentCheckDeps,
  transform: Transform,
  { storeEach, records }: { readonly storeEach: StoreRecord; readonly records: Iterable<ReadRecord> },
): Promise<void> {
  for await (const record of transformRecords(transform, records, deps)) storeEach(record);
}

type StoreRecord = (record: TransformedRecord) => void;

/** Returns a function that counts a record that was read, and stores its events as the tracking plan permits. */
function createStoreRecord(
  deps: SegmentCheckDeps,
  { part }: SegmentPlace,
  tally: SegmentTally,
  counter: Counter,
): StoreRecord {
  const isLink = (event: WireEvent): boolean => isLinkOf(deps.links, event);
  return ({ line, text, result: read, failures: failed }) => {
    const onViolations = (found: readonly Violation[]): void => tally.violate(found, `${part}, line ${line}`);
    const { plan, keptOut } = deps;
    const kept = keptOut === undefined ? read : applyKeptOut(keptOut, read);
    const planned = plan && applyPlan({ plan, isLink, onViolations }, kept);
    const { result, failures } = planned ?? { result: kept, failures: [] };
    const all = failures.length === 0 ? failed : [...failed, ...failures];
    for (const failure of all) counter.refuse(failure, line, text);
    for (const event of counter.countResult(result, line, text, all.length)) counter.store(event, line, () => text);
  };
}

/** Events of a record that get separate places; further ones share the last place. */
export const placesPerRecord = 8;

/** Returns the place of an event in the source: its `received_at`, µs since the epoch. `line` counts from 1 in the part. */
function placeOf(firstPlace: number, line: number, index: number): number {
  return firstPlace + (line - 1) * placesPerRecord + Math.min(index, placesPerRecord - 1);
}

function* readRecords(
  { read, onLines }: SegmentCheckDeps,
  { linesBefore }: SegmentPlace,
  counter: Counter,
  lines: Buffer,
): Generator<ReadRecord> {
  let line = linesBefore;
  for (const each of segmentLines(lines)) {
    line += 1;
    if (line % recordsPerTurn === 0) onLines?.(line - linesBefore);
    if (each.kind !== 'record') counter.skipLine(each, line);
    else {
      counter.record();
      yield { line, text: each.text, result: readSafely(read, each.record) };
    }
  }
}

/** Counts the outcome of records and events, and turns events into rows or defers them. */
interface Counter {
  record(): void;
  skipLine(line: Exclude<SegmentLine, { kind: 'record' }>, at: number): void;
  /** Returns the events of a record to store. `refused` is the number of its events that are already refused. */
  countResult(result: RecordResult, line: number, text: string, refused?: number): readonly WireEvent[];
  refuse(refused: Pick<RefusedEvent, 'code' | 'reason'>, line: number, text: string): void;
  store(event: WireEvent, line: number, text: () => string): void;
}

interface Found extends Counts {
  readonly rejected: RejectedFile;
  readonly deferred: DeferredEvent[];
}

function createCounter(deps: SegmentCheckDeps, place: SegmentPlace, found: Found): Counter {
  const { tally, ledger } = found;
  const { runId, eventBytesMax, now } = deps;
  const options = { runId, eventBytesMax, now };
  const convert = createConverter({
    ...options,
    names: { onKey: tally.property, onNestedKey: tally.unusual.property },
  });
  const isCounted = createLinkRefusals(deps, createConverter({ ...options, names: ignoreKeys }));
  let ofRecord: readonly WireEvent[] = [];
  const put = createPut(deps, place, found);
  const held = deps.held.get(place.part);
  const reject = createReject(place, found);
  const refuse: Counter['refuse'] = (refused, line, original) => {
    ledger.refused(line);
    reject(refused, { line, original }, 'refused');
  };
  return {
    record: tally.record,
    skipLine: (each, line) => {
      if (each.kind !== 'none') tally.record();
      if (each.kind === 'blank') countBlank(tally, each.reason, held?.get(line));
      else if (each.kind === 'broken' && !noteIncomplete(deps, tally, each, `${place.part}, line ${line}`))
        reject(each, { line, original: each.text }, 'unreadable');
    },
    countResult: (result, line, text, refused = 0) => {
      noteFound(tally, result);
      if (result.kind === 'skipped') tally.skip(result.reason);
      else if (result.kind === 'unreadable') {
        noteUnreadableTime(deps, tally, text);
        reject({ code: 'unreadable_record', reason: result.reason }, { line, original: text }, 'unreadable');
      } else {
        const events = storedEvents(tally, result.events, refused);
        if (events.length + refused > 0) tally.convert(place.part, line, text, events);
        noteDevices(deps.devices, events);
        ofRecord = events;
        return events;
      }
      return [];
    },
    refuse,
    store: (event, line, text) => {
      const converted = convert(event);
      // A link repeats the values of its event.
      const isLink = isLinkOf(deps.links, event);
      if (!isLink) tally.unusual.event(event);
      if (converted.kind === 'ready') {
        put(converted, event.properties, { line, isLink });
        return;
      }
      if (isLink && !isCounted(event, ofRecord)) return tally.forget(1);
      if (converted.code === 'invalid_event_timestamp') tally.unusual.time(event.timestamp);
      refuse(converted, line, text());
    },
  };
}

type Reject = (
  why: Pick<RejectedRecord, 'code' | 'reason'>,
  what: Pick<RejectedRecord, 'line' | 'original'>,
  kind: 'unreadable' | 'refused',
) => void;

function createReject({ part }: SegmentPlace, { tally, rejected }: Found): Reject {
  return ({ code, reason }, { line, original }, kind) => {
    const record: RejectedRecord = { part, line, stage: 'check', code, reason, original };
    rejected.add(record);
    tally.reject(record, kind);
  };
}

function isLinkOf(links: SegmentCheckDeps['links'], { uuid }: WireEvent): boolean {
  return typeof uuid === 'string' && links.has(uuid);
}

const ignoreKeys = { onKey: (): void => {}, onNestedKey: (): void => {} };

/**
 * Returns a function that decides whether a refused link counts as a refused event. If the event of its record is refused too, for
 * example for a time that both share, the record counts once; so does a record with several links and no event.
 */
function createLinkRefusals(
  { links }: Pick<SegmentCheckDeps, 'links'>,
  convert: ConvertEvent,
): (link: WireEvent, ofRecord: readonly WireEvent[]) => boolean {
  return (link, ofRecord) => {
    const refused = ofRecord.filter((event) => convert(event).kind === 'refused');
    return (refused.find((event) => !isLinkOf(links, event)) ?? refused[0]) === link;
  };
}

const notAnEvent = `not stored as events: ${notEventNames.join(', ')}`;

/** Returns the events that can be stored; the same array if all can. A record without any is skipped. */
function storedEvents(tally: SegmentTally, events: readonly WireEvent[], refused: number): readonly WireEvent[] {
  const isStored = ({ event }: WireEvent): boolean => notEventWarning(event) === undefined;
  const stored = events.every(isStored) ? events : events.filter(isStored);
  tally.forget(events.length - stored.length);
  if (stored.length + refused === 0) tally.skip(events.length === 0 ? emptyResult : notAnEvent);
  return stored;
}

/** Records what a result contains in addition to its events. */
function noteFound(tally: SegmentTally, result: RecordResult): void {
  if (result.kind !== 'unreadable' && result.chosen !== undefined) tally.choose(result.chosen);
  if (result.unusual !== undefined) tally.unusual.ruled(result.unusual);
  if (result.notes !== undefined) tally.note(result.notes);
}

/** Returns whether a line that is not JSON is the source's note that records are missing. */
function noteIncomplete(
  { slug }: SegmentCheckDeps,
  tally: SegmentTally,
  { text }: Extract<SegmentLine, { kind: 'broken' }>,
  sample: string,
): boolean {
  const of = incompleteLine(slug, text);
  if (of === undefined) return false;
  tally.note([{ of, sample }]);
  tally.skip('a line in which the source reports that it ended early');
  return true;
}

/** Records the time of an unreadable record if that is the reason. */
function noteUnreadableTime({ times }: SegmentCheckDeps, tally: SegmentTally, text: string): void {
  const time = times === undefined ? undefined : unreadableTime(objectIn(text), times);
  if (time !== undefined) tally.unusual.time(time);
}

/** `held` is the rejected record that the line represents; the export has already stored it. */
function countBlank(tally: SegmentTally, reason: string, held: RejectedRecord | undefined): void {
  if (held === undefined) tally.skip(reason);
  else tally.reject(held, 'unreadable');
}

async function yieldToLoop(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/** Turns exceptions of a reader into unreadable records, so that no record stops a run. */
function readSafely(read: RecordReader, record: unknown): RecordResult {
  try {
    return read(record);
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'unreadable', reason: tooDeepReason };
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'unreadable', reason: `the reader of the format failed at this record: ${message.slice(0, 200)}` };
  }
}

function noteDevices(devices: Pick<SharedDevices, 'add'>, events: readonly WireEvent[]): void {
  for (const { event, distinct_id: id, properties } of events) {
    if (event !== '$identify') continue;
    const anonymous = properties['$anon_distinct_id'];
    if (typeof anonymous === 'string') devices.add(anonymous, id);
  }
}

interface PutAt {
  readonly line: number;
  readonly isLink: boolean;
}

type Put = (event: ReadyEvent, properties: WireEvent['properties'], at: PutAt) => void;

const deferredNames: ReadonlySet<string> = new Set(Object.values(addedOnce));

/** Counts an event and writes its row, or defers it if other segments or the target decide whether it is stored. */
function createPut(
  { rows }: Pick<SegmentCheckDeps, 'rows'>,
  { firstPlace }: SegmentPlace,
  { tally, ledger, deferred }: Found,
): Put {
  const id = { low: 0, high: 0 };
  const sum = new Uint32Array(2);
  const sums = { micros: 0, place: 0, name: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0 };
  const row = { uuid: '', event: '', distinctId: '', text: '', properties: {} as WireEvent['properties'] };
  /** Line of the current event, and its index in that line. */
  const at = { line: 0, index: 0 };
  return (event, properties, { line, isLink }) => {
    const { uuid, event: name, distinctId, micros, stored, text } = event;
    at.index = at.line === line ? at.index + 1 : 0;
    at.line = line;
    const place = placeOf(firstPlace, line, at.index);
    hashText(distinctId, id);
    const { index } = isLink ? tally.link(event, id) : tally.event(event, id);
    ledger.stored(line, isLink);
    if (isLink || deferredNames.has(name)) {
      const link = isLink ? { line, ofLine: 0 } : undefined;
      deferred.push({ uuid, event: name, distinctId, micros, place, text, link });
      return;
    }
    identityWords(uuid, distinctId, micros, sum);
    sums.micros = micros;
    sums.place = place;
    sums.name = index;
    sums.sumLow = sum[0] as number;
    sums.sumHigh = sum[1] as number;
    contentWords(stored, sums.sumLow, sums.sumHigh, sum);
    sums.contentLow = sum[0] as number;
    sums.contentHigh = sum[1] as number;
    row.uuid = uuid;
    row.event = name;
    row.distinctId = distinctId;
    row.text = text;
    row.properties = properties;
    rows.add(row, sums);
  };
}
