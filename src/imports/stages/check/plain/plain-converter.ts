import { latestMicros } from '../../../../batch/event-time.ts';
import type { WireEvent } from '../../../../contract/wire-event.ts';
import { runMark } from '../../../checksum.ts';
import { partsSeparator } from '../../../formats/derived-uuids.ts';
import type { RecordReader } from '../../../formats/format.ts';
import type { IdCounter } from '../../../formats/occurrences.ts';
import type { PlainTable } from './plain-table.ts';
import type { IdCount, NameEntry } from '../event-tally.ts';
import type { UnmappedNames } from '../find-unmapped.ts';
import type { SegmentTally } from '../segment-tally.ts';
import type { SegmentRows } from '../segment-rows.ts';
import { compileTable } from './compiled-table.ts';
import type { KnownIdentity, KnownName } from './known.ts';
import type { Asked, PlainMachine } from './machine.ts';
import { MemoryRoom, RoomFullError } from './memory-room.ts';
import { plainOf } from './plain-of-map.ts';
import { writeTable, type TableMemory } from './table-memory.ts';

/**
 * Converts plain records from bytes to bytes, by the table of their format. What it makes of a record is what the reader and the
 * converter of events make of it; a record of which that is not sure is odd and goes to them.
 */
export interface PlainConverter {
  /** False: the record is odd, and nothing is remembered of it. */
  read(json: Buffer, from: number, to: number, tally: SegmentTally): boolean;
  /** Why there is no event of the record that was read; undefined: there is one. */
  leftOut(): string | undefined;
  /** Whether there may be links before the event that was read. */
  hasLinks(): boolean;
  /** They, each told once. */
  links(): readonly WireEvent[];
  /** Makes a row of the event that was read, and counts it. `place`: its `received_at`, µs since the epoch. */
  put(rows: SegmentRows, tally: SegmentTally, place: number): void;
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
/** Words of `Result` in assembly/convert.ts. */
const result = {
  name: 0,
  identity: 1,
  bytes: 2,
  isCounted: 3,
  heardCount: 4,
  sumLow: 5,
  sumHigh: 6,
  contentLow: 7,
  contentHigh: 8,
  micros: 10,
} as const;

class Converter implements PlainConverter, Asked {
  readonly #machine: PlainMachine;
  readonly #table: PlainTable;
  readonly #memory: TableMemory;
  readonly #answers: MemoryRoom;
  readonly #names: KnownName[] = [];
  readonly #identities: KnownIdentity[] = [];
  readonly #heard: string[] = [];
  readonly #slice: number;
  readonly #out: number;
  readonly #now: () => number;
  /** What the machine says of the record that was read last. */
  readonly #result: Uint32Array;
  readonly #resultMicros: Float64Array;
  readonly #sums = { micros: 0, place: 0, name: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0 };
  #microsMax = Number.NaN;
  /** What stands in the slice: [from, to) of some lines. */
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
    this.#out = room.take(outBytes + slackBytes);
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
      identities: this.#identities,
    });
    const ending = room.putText(`${runMark(runId)}}`);
    room.take(slackBytes);
    machine.set({
      texts,
      textsEnd: texts + sliceBytes,
      message,
      messageBytes,
      ending: ending.from,
      endingBytes: ending.bytes,
      eventBytesMax: Math.min(eventBytesMax, outBytes),
    });
    const { buffer } = machine.bytes;
    this.#result = new Uint32Array(buffer, machine.code.result(), result.micros);
    this.#resultMicros = new Float64Array(buffer, machine.code.result() + result.micros * 4, 1);
  }

  read(lines: Buffer, from: number, to: number, tally: SegmentTally): boolean {
    if (to - from > sliceBytes) return false;
    if (this.#answers.left < answersLeftMin) this.#memory.forget();
    if (lines !== this.#lines || from < this.#from || to > this.#to) this.#load(lines, from);
    const place = this.#slice + from - this.#from;
    this.#noteTime();
    if (this.#machine.code.read(place, place + to - from) === 0) return false;
    const name = this.#name();
    const identity = this.#identity();
    // Whether such a record tells of a link, and whether it counts, is the reader's to say.
    if (name.leftOut !== undefined) return !this.hasLinks() && this.#result[result.isCounted] === 0;
    return this.#isKnownToSamples(name, identity, tally);
  }

  leftOut(): string | undefined {
    return this.#name().leftOut;
  }

  hasLinks(): boolean {
    const { link, linkedMicros } = this.#identity();
    return link !== undefined && (this.#resultMicros[0] as number) < linkedMicros;
  }

  links(): readonly WireEvent[] {
    const identity = this.#identity();
    if (identity.link === undefined || !this.hasLinks()) return [];
    identity.linkedMicros = this.#resultMicros[0] as number;
    const time = this.#timeText();
    return this.#table.identify?.(identity.link.user, identity.link.device, time) ?? [];
  }

  put(rows: SegmentRows, tally: SegmentTally, place: number): void {
    const found = this.#result;
    const at = rows.place(found[result.bytes] as number);
    const end = this.#machine.code.write(this.#out);
    this.#machine.bytes.copy(rows.arena, at, this.#out, end);
    const identity = this.#identity();
    const entry = entryOf(this.#name(), tally);
    const micros = this.#resultMicros[0] as number;
    this.#tellHeard(tally);
    tally.events.count(entry, identity.hash, countOf(identity, tally), micros);
    const sums = this.#sums;
    sums.micros = micros;
    sums.place = place;
    sums.name = entry.index;
    sums.sumLow = found[result.sumLow] as number;
    sums.sumHigh = found[result.sumHigh] as number;
    sums.contentLow = found[result.contentLow] as number;
    sums.contentHigh = found[result.contentHigh] as number;
    rows.keep(sums, at + end - this.#out);
  }

  meaningOfKey(table: number, from: number, to: number): number {
    const { keys } = this.#memory;
    return orOdd(keys.oddEntry, () => keys.meaningOfKey(table, this.#machine.bytes.subarray(from, to)));
  }

  answerTo(memo: number): number {
    return orOdd(0, () => this.#memory.memos.answerTo(memo));
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

  /** Records that are kept as samples are read as objects. */
  #isKnownToSamples(name: KnownName, identity: KnownIdentity, tally: SegmentTally): boolean {
    const mayLink = this.hasLinks();
    if (!name.isSampled) name.isSampled = !tally.wantsSample([name.name]);
    if (mayLink && !name.isSampledLinked) name.isSampledLinked = !tally.wantsSample(['$identify', name.name]);
    const isKnown = name.isSampled && (!mayLink || name.isSampledLinked);
    // The reader will tell the writer of the link.
    if (!isKnown && mayLink) identity.linkedMicros = this.#resultMicros[0] as number;
    return isKnown;
  }

  /** What the machine is told to look at next. */
  #load(lines: Buffer, from: number): void {
    const { bytes } = this.#machine;
    const copied = lines.copy(bytes, this.#slice, from, Math.min(lines.length, from + sliceBytes + 1));
    bytes[this.#slice + copied] = newline;
    this.#lines = lines;
    this.#from = from;
    this.#to = from + copied;
  }

  #name(): KnownName {
    return this.#names[this.#result[result.name] as number] as KnownName;
  }

  #identity(): KnownIdentity {
    return this.#identities[this.#result[result.identity] as number] as KnownIdentity;
  }

  /** `2021-03-04T05:06:07.089Z`, with six digits where there are microseconds. */
  #timeText(): string {
    const { bytes, code } = this.#machine;
    return bytes.toString('latin1', this.#out, code.writeTimeOfRecord(this.#out));
  }

  #numberOfHeard(name: string): number {
    const known = this.#heard.indexOf(name);
    return known < 0 ? this.#heard.push(name) - 1 : known;
  }

  #tellHeard(tally: SegmentTally): void {
    const count = this.#result[result.heardCount] as number;
    const first = this.#memory.keys.heard / 4;
    for (let at = 0; at < count; at += 1) tally.property(this.#heard[this.#machine.words[first + at] as number] ?? '');
  }
}

/** Where there is no room for an answer the record is odd. */
function orOdd(odd: number, answer: () => number): number {
  try {
    return answer();
  } catch (error) {
    if (error instanceof RoomFullError) return odd;
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
