import { latestMicros } from '../../../../wire/batch/event-time.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { runMark } from '../../../checksum.ts';
import { partsSeparator } from '../../../formats/derived-uuids.ts';
import type { RecordReader } from '../../../formats/format.ts';
import type { IdCounter } from '../../../formats/occurrences.ts';
import type { RecordMap } from '../../../formats/record-map.ts';
import type { IdCount, NameEntry } from '../tally/event-tally.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import type { RowColumns } from '../../../../stores/events/rows.ts';
import { microsOfRow, personEffect, rowFlags, rowsMax, rowWords as word, wordsPerRow } from '../rows/converted-rows.ts';
import type { RecordLedger } from '../segment/record-ledger.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';
import type { SegmentRows } from '../rows/segment-rows.ts';
import { nameFlags, nameWords, type KnownIdentity, type KnownName } from './answers.ts';
import { compileMap, type CompiledMap } from './compiled-map.ts';
import { nameNumbersMax } from './key-meaning.ts';
import type { Host, ConvertModule } from './convert-module.ts';
import { Arena, ArenaFullError, wordBytes } from './arena.ts';
import { contentOf, writeMap, type MapMemory } from './map-memory.ts';

/**
 * Converts usual records from bytes to columns, by the map of their format. The result for a record equals that of the reader and of
 * convert-event.ts; records for which this is not certain are unusual and are left to them.
 */
export interface FastConverter {
  /** Converts some hundreds of records from `at` on, up to the first unusual one, which leaves no trace. Returns where it stopped. */
  convert(lines: Buffer, at: LinePosition, into: RowSink): LinePosition & { readonly isUnusual: boolean };
}

/** Start of a line: its offset, and its number in the part, from 1. */
export interface LinePosition {
  readonly at: number;
  readonly line: number;
}

/** Receives and counts rows. */
export interface RowSink {
  readonly rows: Pick<SegmentRows, 'addConverted'>;
  readonly tally: SegmentTally;
  readonly ledger: Pick<RecordLedger, 'stored'>;
  /** Returns the `received_at` of an event of a line, in µs since the epoch. */
  placeOf(line: number, index: number): number;
  /** Receives the links of a record, which come before its own event. */
  takeLinks(events: readonly WireEvent[], of: { readonly line: number; readonly micros: number }): void;
}

export interface FastConverterOptions {
  readonly read: RecordReader;
  readonly runId: string;
  readonly eventBytesMax: number;
  /** Current time, in ms since the epoch. */
  readonly now: () => number;
  readonly unmapped: UnmappedNames;
  /** `undefined` creates no converter. */
  readonly module: ConvertModule | undefined;
}

/**
 * Creates the converter of a reader; `undefined` if it would handle no records. The module serves the converter that was created last.
 */
export function createFastConverter(options: FastConverterOptions): FastConverter | undefined {
  const { module, read, unmapped } = options;
  const compiled = module && read.map && compileMap(read.map, unmapped);
  return compiled && new Converter(module, compiled, options);
}

/** Lines are converted in slices; a longer line is unusual. */
const sliceBytes = 1 << 20;
/** Follows texts, which are read in blocks of 16 bytes. */
const slackBytes = 64;
const messageBytes = sliceBytes + 4096;
/** A longer event is unusual. */
const outBytes = 4 << 20;
const answersBytes = 16 << 20;
/** With less free memory than this, all answers are dropped. */
const answersLeftMin = 1 << 20;
const newline = 0x0a;
/** Words of `Block` in assembly/convert.ts. */
const blockWords = {
  rows: 0,
  lines: 1,
  skipped: 2,
  unmapped: 3,
  eventsBytes: 4,
  idsBytes: 5,
  propertiesBytes: 6,
  stop: 7,
  name: 8,
  isLinked: 9,
} as const;
const stops = { end: 0, unusual: 1, unsampled: 2 } as const;
const linesMax = 4096;
/** Maximum of a name or an id, with its length. */
const textBytesMax = 2048;
const propertiesFull = 1 << 20;

class Converter implements FastConverter, Host {
  readonly #module: ConvertModule;
  readonly #map: RecordMap;
  readonly #memory: MapMemory;
  readonly #answers: Arena;
  readonly #names: KnownName[] = [];
  readonly #sampledNames = new Map<string, number>();
  readonly #identities: KnownIdentity[] = [];
  readonly #unmapped: string[] = [];
  readonly #slice: number;
  readonly #timeText: number;
  readonly #now: () => number;
  readonly #columns: ReturnType<typeof placeColumns>;
  /** Result of the last call. */
  readonly #block: Uint32Array;
  readonly #words: Uint32Array;
  readonly #doubles: Float64Array;
  readonly #rows = {
    micros: new Float64Array(rowsMax),
    places: new Float64Array(rowsMax),
    names: new Int32Array(rowsMax),
    ids: new Int32Array(rowsMax),
    personEffects: new Uint8Array(rowsMax),
  };
  #microsMax = Number.NaN;
  /** Position of a record that stopped the last call and is not needed as a sample; -1 without one. */
  #unsampledAt = -1;
  /** Content of the slice: the whole lines in [from, to) of `lines`. */
  #lines: Buffer | undefined;
  #from = 0;
  #to = 0;

  constructor(module: ConvertModule, compiled: CompiledMap, { runId, eventBytesMax, now }: FastConverterOptions) {
    this.#module = module;
    this.#map = compiled.map;
    this.#now = now;
    module.host = this;
    const arena = new Arena(module, module.code.heapBase());
    this.#slice = arena.allocate(sliceBytes + slackBytes);
    this.#timeText = arena.allocate(slackBytes);
    const texts = arena.allocate(sliceBytes + slackBytes);
    const message = arena.allocate(messageBytes + slackBytes);
    const answers = arena.allocate(answersBytes + slackBytes);
    this.#answers = new Arena(module, answers, answers + answersBytes);
    this.#memory = writeMap(module, arena, {
      compiled,
      arena: this.#answers,
      unmappedNumber: (name) => this.#unmappedNumber(name),
      names: this.#names,
      sampledNames: this.#sampledNames,
      identities: this.#identities,
    });
    this.#columns = placeColumns(arena);
    const ending = arena.putText(runMark(runId));
    arena.allocate(slackBytes);
    module.set({
      ...this.#columns,
      texts,
      textsEnd: texts + sliceBytes,
      message,
      messageBytes,
      ending: ending.from,
      endingBytes: ending.bytes,
      eventBytesMax: Math.min(eventBytesMax, outBytes),
    });
    const { buffer } = module.bytes;
    this.#block = new Uint32Array(buffer, module.code.block(), blockWords.isLinked + 1);
    this.#words = new Uint32Array(buffer, this.#columns.rows, rowsMax * wordsPerRow);
    this.#doubles = new Float64Array(buffer, this.#columns.rows, (rowsMax * wordsPerRow) / 2);
  }

  convert(lines: Buffer, from: LinePosition, sink: RowSink): LinePosition & { readonly isUnusual: boolean } {
    if (this.#answers.left < answersLeftMin) this.#memory.clear();
    if (lines !== this.#lines || from.at < this.#from || from.at >= this.#to) this.#load(lines, from.at);
    // The line is longer than the slice.
    if (this.#to <= from.at) return { ...from, isUnusual: true };
    this.#updateTime();
    const offset = this.#slice - this.#from;
    const end = this.#module.code.convert(from.at + offset, this.#to + offset) - offset;
    const next = { at: end, line: from.line + (this.#block[blockWords.lines] as number) };
    this.#takeRows(from.line, sink);
    const stop = this.#block[blockWords.stop] as number;
    // A record that stops the module twice goes to the reader.
    const isAgain = this.#unsampledAt === next.at;
    const isUnusual =
      stop === stops.unusual || (stop === stops.unsampled && (!this.#markSampled(sink.tally) || isAgain));
    this.#unsampledAt = isUnusual || stop === stops.end ? -1 : next.at;
    return { ...next, isUnusual };
  }

  /** Counts the rows and passes them to the sink. */
  #takeRows(firstLine: number, sink: RowSink): void {
    const { tally } = sink;
    const block = this.#block;
    for (let each = 0; each < (block[blockWords.skipped] as number); each += 1) {
      tally.record();
      const name = this.#module.words[this.#columns.skipped / wordBytes + each] as number;
      tally.skip((this.#names[name] as KnownName).skipReason ?? '');
    }
    const rows = block[blockWords.rows] as number;
    if (rows === 0) return;
    for (let row = 0; row < rows; row += 1) this.#count(row, firstLine, sink);
    if ((block[blockWords.unmapped] as number) > 0) this.#reportUnmapped(tally);
    sink.rows.addConverted({ ...this.#rows, words: this.#words, columns: this.#columnsOf(rows) });
  }

  #count(row: number, firstLine: number, { tally, ledger, placeOf, takeLinks }: RowSink): void {
    const rows = this.#rows;
    const words = this.#words;
    const first = row * wordsPerRow;
    const name = this.#names[words[first + word.name] as number] as KnownName;
    const identity = this.#identities[words[first + word.identity] as number] as KnownIdentity;
    const flags = words[first + word.flags] as number;
    const micros = this.#doubles[row * (wordsPerRow / 2) + microsOfRow] as number;
    const line = firstLine + (words[first + word.line] as number);
    tally.record();
    tally.convertPlain();
    let index = 0;
    if ((flags & rowFlags.statesLink) !== 0) {
      const links = this.#linksOf(identity, micros);
      takeLinks(links, { line, micros });
      index = links.length;
    }
    const entry = entryOf(name, tally);
    const count = countOf(identity, tally);
    tally.events.count(entry, identity, count, micros);
    ledger.stored(line);
    rows.micros[row] = micros;
    rows.places[row] = placeOf(line, index);
    rows.names[row] = entry.index;
    rows.ids[row] = count.index;
    const isSpecial = (flags & rowFlags.special) !== 0;
    const effect = name.changesNothing ? personEffect.none : personEffect.properties;
    rows.personEffects[row] = isSpecial ? personEffect.other : effect;
  }

  #linksOf({ link }: KnownIdentity, micros: number): readonly WireEvent[] {
    const { links } = this.#map;
    if (link === undefined || links === undefined) return [];
    const { bytes, code } = this.#module;
    // `2021-03-04T05:06:07.089Z`, with six digits if there are microseconds.
    const time = bytes.toString('latin1', this.#timeText, code.writeTimeOf(this.#timeText, micros));
    return links(link.user, link.device, time);
  }

  /** Whether the record that stopped the last call is not needed as a sample; then similar ones will not stop either. */
  #markSampled(tally: SegmentTally): boolean {
    const { name, address } = this.#names[this.#block[blockWords.name] as number] as KnownName;
    const isLinked = this.#block[blockWords.isLinked] === 1;
    const isSampled = !tally.wantsSample([name]);
    const isSampledLinked = isLinked && !tally.wantsSample(['$identify', name]);
    const flags = (isSampled ? nameFlags.sampled : 0) | (isSampledLinked ? nameFlags.sampledLinked : 0);
    const { words } = this.#module;
    const at = address / wordBytes + nameWords.flags;
    words[at] = (words[at] as number) | flags;
    this.#sampledNames.set(name, words[at] as number);
    return isSampled && (!isLinked || isSampledLinked);
  }

  #columnsOf(rows: number): RowColumns {
    const { bytes } = this.#module;
    const columns = this.#columns;
    const block = this.#block;
    const view = (from: number, size: number): Uint8Array => bytes.subarray(from, from + size);
    return {
      rows,
      day: view(columns.days, rows * 4),
      uuid: view(columns.uuids, rows * 16),
      timestamp: view(columns.times, rows * 8),
      event: view(columns.events, block[blockWords.eventsBytes] as number),
      distinctId: view(columns.ids, block[blockWords.idsBytes] as number),
      properties: view(columns.propertiesColumn, block[blockWords.propertiesBytes] as number),
    };
  }

  meaningOfKey(table: number, from: number, to: number): number {
    const { keys } = this.#memory;
    return orUnusual(keys.unusualEntry, () => keys.meaningOfKey(table, this.#module.bytes.subarray(from, to)));
  }

  answerTo(memo: number): number {
    return orUnusual(0, () => this.#memory.memos.answerTo(memo));
  }

  fromZone(zone: number, ms: number): number {
    return this.#memory.zones[zone]?.(ms) ?? Number.NaN;
  }

  hasTwoCharacters(from: number, to: number): boolean {
    return String(JSON.parse(this.#module.bytes.toString('utf8', from, to))).length === 2;
  }

  countUuid(isContent: boolean, uuid: number, at: number): number {
    const { bytes } = this.#module;
    const occurrence = counterOf(this.#map, isContent)?.next(bytes.toString('latin1', uuid, uuid + 36)) ?? 1;
    return occurrence > 1 ? bytes.write(`${partsSeparator}${occurrence}`, at, 'latin1') : 0;
  }

  #updateTime(): void {
    const microsMax = latestMicros(this.#now());
    if (microsMax === this.#microsMax) return;
    this.#microsMax = microsMax;
    this.#module.set({ microsMax });
  }

  /** Copies as many whole lines as fit into the slice. */
  #load(lines: Buffer, from: number): void {
    const { bytes } = this.#module;
    const copied = lines.copy(bytes, this.#slice, from, Math.min(lines.length, from + sliceBytes));
    bytes[this.#slice + copied] = newline;
    const isEnd = from + copied === lines.length;
    this.#lines = lines;
    this.#from = from;
    this.#to = isEnd ? lines.length : lines.lastIndexOf(newline, from + copied - 1) + 1;
  }

  #unmappedNumber(name: string): number {
    const known = this.#unmapped.indexOf(name);
    return known < 0 ? this.#unmapped.push(name) - 1 : known;
  }

  #reportUnmapped(tally: SegmentTally): void {
    const { words } = this.#module;
    const first = this.#columns.unmappedCounts / wordBytes;
    for (const [number, name] of this.#unmapped.entries()) {
      for (let times = words[first + number] as number; times > 0; times -= 1) tally.property(name);
      words[first + number] = 0;
    }
  }
}

/** Allocates the columns, named after the variables of assembly/convert.ts. */
function placeColumns(arena: Arena) {
  return {
    rows: arena.allocate(rowsMax * wordsPerRow * wordBytes),
    uuids: arena.allocate(rowsMax * 16),
    times: arena.allocate(rowsMax * 8),
    days: arena.allocate(rowsMax * 4),
    events: arena.allocate(rowsMax * textBytesMax + slackBytes),
    ids: arena.allocate(rowsMax * textBytesMax + slackBytes),
    propertiesColumn: arena.allocate(propertiesFull + outBytes + slackBytes),
    skipped: arena.allocate(linesMax * wordBytes),
    unmappedCounts: arena.allocateZeros(nameNumbersMax * 2 * wordBytes),
  };
}

/** Makes a record unusual if there is no memory for an answer. */
function orUnusual(unusual: number, answer: () => number): number {
  try {
    return answer();
  } catch (error) {
    if (error instanceof ArenaFullError) return unusual;
    throw error;
  }
}

function counterOf({ uuid }: RecordMap, isContent: boolean): IdCounter | undefined {
  if (isContent) return contentOf(uuid)?.occurrences;
  return uuid.is === 'name' ? uuid.occurrences : undefined;
}

/** Returns the entry of the current segment. */
function entryOf(name: KnownName, tally: SegmentTally): NameEntry {
  if (name.entry === undefined || name.tally !== tally) {
    name.entry = tally.events.entryOf(name.name);
    name.tally = tally;
  }
  return name.entry;
}

function countOf(identity: KnownIdentity, tally: SegmentTally): IdCount {
  if (identity.count === undefined || identity.tally !== tally) {
    identity.count = tally.events.idCountOf(identity.distinctId);
    identity.tally = tally;
  }
  return identity.count;
}
