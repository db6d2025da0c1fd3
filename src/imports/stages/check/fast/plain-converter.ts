import { latestMicros } from '../../../../wire/batch/event-time.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { runMark } from '../../../checksum.ts';
import { partsSeparator } from '../../../formats/derived-uuids.ts';
import type { RecordReader } from '../../../formats/format.ts';
import type { IdCounter } from '../../../formats/occurrences.ts';
import type { PlainTable } from './plain-table.ts';
import type { IdCount, NameEntry } from '../tally/event-tally.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import type { RowColumns } from '../../../../stores/events/rows.ts';
import { microsOfRow, rowFlags, rowsMax, rowWords as word, says, wordsPerRow } from '../rows/converted-rows.ts';
import type { RecordLedger } from '../segment/record-ledger.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';
import type { SegmentRows } from '../rows/segment-rows.ts';
import { nameFlags, nameWords, type PlacedName } from './answers.ts';
import { compileTable } from './compiled-table.ts';
import type { KnownIdentity, KnownName } from './known.ts';
import { nameNumbersMax } from './name-numbers.ts';
import type { Asked, PlainMachine } from './machine.ts';
import { MemoryRoom, RoomFullError } from './memory-room.ts';
import { plainOf } from './plain-of-map.ts';
import { writeTable, type TableMemory } from './table-memory.ts';
import { wordBytes } from './writing.ts';

/**
 * Converts plain records from bytes to columns, by the table of their format. What it makes of a record is what the reader and the
 * converter of events make of it; a record of which that is not sure is odd and goes to them.
 */
export interface PlainConverter {
  /**
   * Converts records from `at` on, some hundreds at once, and stops before the first that is odd, of which nothing is remembered. Gives
   * where it stopped. `links` is called for a record that may tell of a link, before its row is counted.
   */
  convert(lines: Buffer, at: PlainPlace, into: PlainSink): PlainPlace & { readonly isUnusual: boolean };
}

/** A line: its offset, its number in the part, from 1. */
export interface PlainPlace {
  readonly at: number;
  readonly line: number;
}

/** Where rows go, and what counts them. */
export interface PlainSink {
  readonly rows: Pick<SegmentRows, 'addConverted'>;
  readonly tally: SegmentTally;
  readonly ledger: Pick<RecordLedger, 'stored'>;
  /** `received_at` of a line, µs since the epoch. */
  placeOf(line: number, index: number): number;
  /** Takes what a record tells of a link: events that come before its own. */
  takeLinks(events: readonly WireEvent[], of: { readonly line: number; readonly micros: number }): void;
}

export interface PlainConverterOptions {
  /** Whose table it is, and who has the same memory. */
  readonly read: RecordReader;
  readonly runId: string;
  readonly eventBytesMax: number;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly unmapped: UnmappedNames;
  /** What it works with; undefined: there is none, and neither is a converter. */
  readonly machine: PlainMachine | undefined;
}

/** One per reader; undefined: it takes no record of its map. A machine works for the one that was made last. */
export function createPlainConverter(options: PlainConverterOptions): PlainConverter | undefined {
  const { machine, read } = options;
  const table = read.map && plainOf(read.map);
  return machine && table && new Converter(machine, table, options);
}

/** Lines are looked at in pieces of so many bytes; a longer one is odd. */
const sliceBytes = 1 << 20;
/** Behind texts that are read by sixteen bytes. */
const slackBytes = 64;
const messageBytes = sliceBytes + 4096;
/** A longer event is odd. */
const outBytes = 4 << 20;
const answersBytes = 16 << 20;
/** When there is less room for answers, all of them are forgotten. */
const answersLeftMin = 1 << 20;
const newline = 0x0a;
/** Words of `Block` in assembly/convert.ts. */
const blockWords = {
  rows: 0,
  lines: 1,
  skipped: 2,
  heard: 3,
  eventsBytes: 4,
  idsBytes: 5,
  propertiesBytes: 6,
  stop: 7,
  name: 8,
  isLinked: 9,
} as const;
const stops = { end: 0, unusual: 1, unsampled: 2 } as const;
const linesMax = 4096;
/** Of names and ids, each with its length. */
const textBytesMax = 2048;
const propertiesFull = 1 << 20;

class Converter implements PlainConverter, Asked {
  readonly #machine: PlainMachine;
  readonly #table: PlainTable;
  readonly #memory: TableMemory;
  readonly #answers: MemoryRoom;
  readonly #names: PlacedName[] = [];
  readonly #sampledNames = new Map<string, number>();
  readonly #identities: KnownIdentity[] = [];
  readonly #heard: string[] = [];
  readonly #slice: number;
  readonly #timeText: number;
  readonly #now: () => number;
  readonly #columns: ReturnType<typeof placeColumns>;
  /** What the last call came to. */
  readonly #block: Uint32Array;
  readonly #words: Uint32Array;
  readonly #doubles: Float64Array;
  readonly #made = {
    micros: new Float64Array(rowsMax),
    places: new Float64Array(rowsMax),
    names: new Int32Array(rowsMax),
    ids: new Int32Array(rowsMax),
    says: new Uint8Array(rowsMax),
  };
  #microsMax = Number.NaN;
  /** Where the record stands that stopped the last call, and is not wanted as a sample; -1: there is none. */
  #unsampledAt = -1;
  /** What stands in the slice: [from, to) of some lines, whole ones. */
  #lines: Buffer | undefined;
  #from = 0;
  #to = 0;

  constructor(
    machine: PlainMachine,
    table: PlainTable,
    { runId, eventBytesMax, now, unmapped }: PlainConverterOptions,
  ) {
    this.#machine = machine;
    this.#table = table;
    this.#now = now;
    machine.asked = this;
    const room = new MemoryRoom(machine, machine.code.heapBase());
    this.#slice = room.take(sliceBytes + slackBytes);
    this.#timeText = room.take(slackBytes);
    const texts = room.take(sliceBytes + slackBytes);
    const message = room.take(messageBytes + slackBytes);
    const place = room.take(answersBytes + slackBytes);
    this.#answers = new MemoryRoom(machine, place, place + answersBytes);
    this.#memory = writeTable(machine, room, {
      table,
      compiled: compileTable(table, unmapped),
      room: this.#answers,
      heardNumber: (name) => this.#numberOfHeard(name),
      names: this.#names,
      sampledNames: this.#sampledNames,
      identities: this.#identities,
    });
    this.#columns = placeColumns(room);
    const ending = room.putText(runMark(runId));
    room.take(slackBytes);
    machine.set({
      ...this.#columns,
      texts,
      textsEnd: texts + sliceBytes,
      message,
      messageBytes,
      ending: ending.from,
      endingBytes: ending.bytes,
      eventBytesMax: Math.min(eventBytesMax, outBytes),
    });
    const { buffer } = machine.bytes;
    this.#block = new Uint32Array(buffer, machine.code.block(), blockWords.isLinked + 1);
    this.#words = new Uint32Array(buffer, this.#columns.rows, rowsMax * wordsPerRow);
    this.#doubles = new Float64Array(buffer, this.#columns.rows, (rowsMax * wordsPerRow) / 2);
  }

  convert(lines: Buffer, place: PlainPlace, sink: PlainSink): PlainPlace & { readonly isUnusual: boolean } {
    if (this.#answers.left < answersLeftMin) this.#memory.forget();
    if (lines !== this.#lines || place.at < this.#from || place.at >= this.#to) this.#load(lines, place.at);
    // A line that is longer than the slice.
    if (this.#to <= place.at) return { ...place, isUnusual: true };
    this.#noteTime();
    const offset = this.#slice - this.#from;
    const end = this.#machine.code.convert(place.at + offset, this.#to + offset) - offset;
    const next = { at: end, line: place.line + (this.#block[blockWords.lines] as number) };
    this.#take(place.line, sink);
    const stop = this.#block[blockWords.stop] as number;
    // A record that stops the machine twice goes to the reader, whatever the reason.
    const isAgain = this.#unsampledAt === next.at;
    const isUnusual =
      stop === stops.unusual || (stop === stops.unsampled && (!this.#markSampled(sink.tally) || isAgain));
    this.#unsampledAt = isUnusual || stop === stops.end ? -1 : next.at;
    return { ...next, isUnusual };
  }

  /** Counts the rows and hands them over. */
  #take(firstLine: number, sink: PlainSink): void {
    const { tally } = sink;
    const block = this.#block;
    for (let each = 0; each < (block[blockWords.skipped] as number); each += 1) {
      tally.record();
      const name = this.#machine.words[this.#columns.skipped / wordBytes + each] as number;
      tally.skip((this.#names[name] as PlacedName).leftOut ?? '');
    }
    const rows = block[blockWords.rows] as number;
    if (rows === 0) return;
    for (let row = 0; row < rows; row += 1) this.#count(row, firstLine, sink);
    if ((block[blockWords.heard] as number) > 0) this.#tellHeard(tally);
    sink.rows.addConverted({ ...this.#made, words: this.#words, columns: this.#columnsOf(rows) });
  }

  #count(row: number, firstLine: number, { tally, ledger, placeOf, takeLinks }: PlainSink): void {
    const made = this.#made;
    const words = this.#words;
    const first = row * wordsPerRow;
    const name = this.#names[words[first + word.name] as number] as PlacedName;
    const identity = this.#identities[words[first + word.identity] as number] as KnownIdentity;
    const flags = words[first + word.flags] as number;
    const micros = this.#doubles[row * (wordsPerRow / 2) + microsOfRow] as number;
    const line = firstLine + (words[first + word.line] as number);
    tally.record();
    tally.convertPlain();
    let index = 0;
    if ((flags & rowFlags.tellsOfLink) !== 0) {
      const links = this.#linksOf(identity, micros);
      takeLinks(links, { line, micros });
      index = links.length;
    }
    const entry = entryOf(name, tally);
    const count = countOf(identity, tally);
    tally.events.count(entry, identity, count, micros);
    ledger.stored(line);
    made.micros[row] = micros;
    made.places[row] = placeOf(line, index);
    made.names[row] = entry.index;
    made.ids[row] = count.index;
    const saysMore = (flags & rowFlags.special) !== 0;
    made.says[row] = saysMore ? says.more : name.saysNothing ? says.nothing : says.properties;
  }

  #linksOf({ link }: KnownIdentity, micros: number): readonly WireEvent[] {
    const { identify } = this.#table;
    if (link === undefined || identify === undefined) return [];
    const { bytes, code } = this.#machine;
    // `2021-03-04T05:06:07.089Z`, with six digits where there are microseconds.
    const time = bytes.toString('latin1', this.#timeText, code.writeTimeOf(this.#timeText, micros));
    return identify(link.user, link.device, time);
  }

  /** Whether the record at which the last call stopped is not wanted as a sample: then its like are not, from now on. */
  #markSampled(tally: SegmentTally): boolean {
    const { name, place } = this.#names[this.#block[blockWords.name] as number] as PlacedName;
    const isLinked = this.#block[blockWords.isLinked] === 1;
    const isSampled = !tally.wantsSample([name]);
    const isSampledLinked = isLinked && !tally.wantsSample(['$identify', name]);
    const flags = (isSampled ? nameFlags.sampled : 0) | (isSampledLinked ? nameFlags.sampledLinked : 0);
    const { words } = this.#machine;
    const at = place / wordBytes + nameWords.flags;
    words[at] = (words[at] as number) | flags;
    this.#sampledNames.set(name, words[at] as number);
    return isSampled && (!isLinked || isSampledLinked);
  }

  #columnsOf(rows: number): RowColumns {
    const { bytes } = this.#machine;
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
    return orUnusual(keys.unusualEntry, () => keys.meaningOfKey(table, this.#machine.bytes.subarray(from, to)));
  }

  answerTo(memo: number): number {
    return orUnusual(0, () => this.#memory.memos.answerTo(memo));
  }

  fromZone(zone: number, ms: number): number {
    return this.#memory.zones[zone]?.(ms) ?? Number.NaN;
  }

  saysTwoCharacters(from: number, to: number): boolean {
    return String(JSON.parse(this.#machine.bytes.toString('utf8', from, to))).length === 2;
  }

  countUuid(isContent: boolean, uuid: number, at: number): number {
    const { bytes } = this.#machine;
    const occurrence = counterOf(this.#table, isContent)?.next(bytes.toString('latin1', uuid, uuid + 36)) ?? 1;
    return occurrence > 1 ? bytes.write(`${partsSeparator}${occurrence}`, at, 'latin1') : 0;
  }

  #noteTime(): void {
    const microsMax = latestMicros(this.#now());
    if (microsMax === this.#microsMax) return;
    this.#microsMax = microsMax;
    this.#machine.set({ microsMax });
  }

  /** Whole lines from there on, as many as there is room for. */
  #load(lines: Buffer, from: number): void {
    const { bytes } = this.#machine;
    const copied = lines.copy(bytes, this.#slice, from, Math.min(lines.length, from + sliceBytes));
    bytes[this.#slice + copied] = newline;
    const isEnd = from + copied === lines.length;
    this.#lines = lines;
    this.#from = from;
    this.#to = isEnd ? lines.length : lines.lastIndexOf(newline, from + copied - 1) + 1;
  }

  #numberOfHeard(name: string): number {
    const known = this.#heard.indexOf(name);
    return known < 0 ? this.#heard.push(name) - 1 : known;
  }

  #tellHeard(tally: SegmentTally): void {
    const { words } = this.#machine;
    const first = this.#columns.heardCounts / wordBytes;
    for (const [number, name] of this.#heard.entries()) {
      for (let times = words[first + number] as number; times > 0; times -= 1) tally.property(name);
      words[first + number] = 0;
    }
  }
}

/** By the variables of assembly/convert.ts. */
function placeColumns(room: MemoryRoom) {
  return {
    rows: room.take(rowsMax * wordsPerRow * wordBytes),
    uuids: room.take(rowsMax * 16),
    times: room.take(rowsMax * 8),
    days: room.take(rowsMax * 4),
    events: room.take(rowsMax * textBytesMax + slackBytes),
    ids: room.take(rowsMax * textBytesMax + slackBytes),
    propertiesColumn: room.take(propertiesFull + outBytes + slackBytes),
    skipped: room.take(linesMax * wordBytes),
    heardCounts: room.takeZeros(nameNumbersMax * 2 * wordBytes),
  };
}

/** Where there is no room for an answer the record is odd. */
function orUnusual(unusual: number, answer: () => number): number {
  try {
    return answer();
  } catch (error) {
    if (error instanceof RoomFullError) return unusual;
    throw error;
  }
}

function counterOf({ uuid }: PlainTable, isContent: boolean): IdCounter | undefined {
  if (uuid.is === 'content') return uuid.occurrences;
  if (uuid.is !== 'name') return undefined;
  return isContent ? uuid.otherwise?.occurrences : uuid.occurrences;
}

/** Of the segment that is counted. */
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
