import { isTooFarAhead } from '../../../../batch/event-time.ts';
import type { WireEvent } from '../../../../contract/wire-event.ts';
import { runMark } from '../../../checksum.ts';
import type { RecordReader } from '../../../formats/format.ts';
import type { PlainTable } from '../../../formats/plain-table.ts';
import { hashIdentityWords } from '../event-keys.ts';
import type { UnmappedNames } from '../find-unmapped.ts';
import type { IdCount, NameEntry } from '../event-tally.ts';
import type { SegmentTally } from '../segment-tally.ts';
import { emptyBlockEvent } from '../spill-block.ts';
import type { SpillBuffer } from '../spill-buffer.ts';
import { putBytes, type ByteWriter } from './byte-writer.ts';
import { compileTable } from './compiled-table.ts';
import type { Answers } from './fragments.ts';
import { createKnownIdentities, createKnownNames, type KnownIdentity, type KnownName } from './known.ts';
import { createPlainUuids, type PlainUuids } from './plain-uuids.ts';
import { createPlainTimes, createTimeWriter, type PlainTimes } from './plain-times.ts';
import { createPropertiesWriter, type PropertiesWriter } from './properties-writer.ts';
import { createRecordSpans, type RecordSpans } from './record-spans.ts';
import { createRowChecksums } from './row-checksums.ts';

/**
 * Converts plain records from bytes to bytes, by the table of their format. What it makes of a record is what the reader and the
 * converter of events make of it; a record of which that is not sure is odd and goes to them.
 */
export interface PlainConverter {
  /** False: the record is odd, and nothing is remembered of it. */
  read(json: Buffer, from: number, to: number, tally: SegmentTally): boolean;
  /** Why there is no event of the record that was read; undefined: there is one. */
  leftOut(): string | undefined;
  /** Links that come before the event that was read. */
  links(): readonly WireEvent[];
  /** Puts the event that was read into the buffer and counts it; false: the buffer is full, flush it and call again. */
  put(buffer: SpillBuffer, tally: SegmentTally): boolean;
}

export interface PlainConverterOptions {
  /** Whose table it is, and who has the same memory. */
  readonly read: RecordReader;
  readonly runId: string;
  readonly eventBytesMax: number;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly unmapped: UnmappedNames;
}

const year2000 = Date.UTC(2000, 0, 1) * 1000;
const head = {
  uuid: Buffer.from('{"uuid":"'),
  event: Buffer.from('","event":'),
  distinctId: Buffer.from(',"distinct_id":'),
  timestamp: Buffer.from(',"timestamp":"'),
  properties: Buffer.from('","properties":{'),
};
/** Of an event beside its properties, its name and its id. */
const headBytes = 256;

/** One per reader; undefined: the reader has no table. */
export function createPlainConverter(options: PlainConverterOptions): PlainConverter | undefined {
  const { plain } = options.read;
  return plain && new Converter(plain, options);
}

class Converter implements PlainConverter {
  readonly #table: PlainTable;
  readonly #eventBytesMax: number;
  readonly #now: () => number;
  readonly #spans: RecordSpans;
  readonly #names: Answers<KnownName>;
  readonly #identities: Answers<KnownIdentity>;
  readonly #properties: PropertiesWriter;
  readonly #uuids: PlainUuids;
  readonly #addChecksums = createRowChecksums();
  readonly #writeTime = createTimeWriter();
  readonly #times: PlainTimes;
  /** Behind the properties: the mark of the run. */
  readonly #end: Buffer;
  readonly #writer: ByteWriter = { bytes: Buffer.alloc(0), at: 0 };
  readonly #row = emptyBlockEvent();
  readonly #key = { low: 0, high: 0 };
  readonly #timeText = Buffer.alloc(32);
  /** Of the record that was read last. */
  #json: Buffer = Buffer.alloc(0);
  #name: KnownName | undefined;
  #identity: KnownIdentity | undefined;
  #micros = 0;
  #bytes = 0;

  constructor(table: PlainTable, { runId, eventBytesMax, now, unmapped }: PlainConverterOptions) {
    const compiled = compileTable(table, unmapped);
    this.#table = table;
    this.#eventBytesMax = eventBytesMax;
    this.#now = now;
    this.#spans = createRecordSpans(compiled);
    this.#names = createKnownNames(table, compiled);
    this.#identities = createKnownIdentities(table, compiled);
    this.#properties = createPropertiesWriter(table, compiled, this.#spans);
    this.#uuids = createPlainUuids(table.uuid, compiled);
    this.#times = createPlainTimes(table.time, compiled);
    this.#end = Buffer.from(`${runMark(runId)}}`);
  }

  read(line: Buffer, from: number, to: number, tally: SegmentTally): boolean {
    const spans = this.#spans;
    if (!spans.read(line, from, to)) return false;
    const { json } = spans;
    this.#json = json;
    const name = this.#names.of(spans, json);
    if (name === undefined) return false;
    const micros = this.#times(spans, json);
    if (!(micros >= year2000) || isTooFarAhead(micros, this.#now())) return false;
    const identity = this.#identities.of(spans, json);
    if (identity === undefined || !this.#uuids.prepare(spans, json, micros)) return false;
    const needed = this.#properties.prepare(json, identity.fragment);
    const bytes = needed + headBytes + name.json.length + identity.json.length + this.#end.length;
    if (needed < 0 || bytes > this.#eventBytesMax) return false;
    this.#name = name;
    this.#identity = identity;
    this.#micros = micros;
    this.#bytes = bytes;
    // Whether such a record tells of a link, and whether it counts, is the reader's to say.
    if (name.leftOut !== undefined)
      return (identity.link === undefined || identity.isLinked) && !this.#uuids.isCounted();
    if (!isKnownToSamples(name, identity, tally)) return false;
    this.#uuids.derive(json);
    return true;
  }

  leftOut(): string | undefined {
    return this.#name?.leftOut;
  }

  links(): readonly WireEvent[] {
    const identity = this.#identity;
    if (identity?.link === undefined || identity.isLinked) return [];
    identity.isLinked = true;
    const text = this.#timeText.toString('latin1', 0, this.#writeTime(this.#timeText, 0, this.#micros));
    return this.#table.identify?.(identity.link.user, identity.link.device, text) ?? [];
  }

  put(buffer: SpillBuffer, tally: SegmentTally): boolean {
    const name = this.#name;
    const identity = this.#identity;
    if (name === undefined || identity === undefined) throw new Error('expected an event that was read');
    const at = buffer.place(this.#bytes);
    if (at < 0) return false;
    const writer = this.#writer;
    const row = this.#row;
    writer.bytes = buffer.arena;
    writer.at = at;
    this.#write(name, identity);
    const entry = entryOf(name, tally);
    for (const heard of this.#spans.heard) tally.property(heard);
    tally.events.count(entry, identity.hash, countOf(identity, tally), this.#micros);
    row.micros = this.#micros;
    row.name = entry.index;
    hashIdentityWords(this.#uuids.words, entry.hash, identity.hash, this.#key);
    row.keyLow = this.#key.low;
    row.keyHigh = this.#key.high;
    buffer.keep(row, writer.at);
    return true;
  }

  #write(name: KnownName, identity: KnownIdentity): void {
    const writer = this.#writer;
    putBytes(writer, head.uuid);
    putBytes(writer, this.#uuids.text);
    putBytes(writer, head.event);
    putBytes(writer, name.json);
    putBytes(writer, head.distinctId);
    putBytes(writer, identity.json);
    putBytes(writer, head.timestamp);
    writer.at = this.#writeTime(writer.bytes, writer.at, this.#micros);
    putBytes(writer, head.properties);
    const from = writer.at - 1;
    this.#properties.write(writer, this.#json);
    const { text: uuid } = this.#uuids;
    const { bytes: json, at: to } = writer;
    this.#addChecksums(this.#row, { uuid, distinctId: identity.bytes, micros: this.#micros, json, from, to });
    putBytes(writer, this.#end);
  }
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

/** Records that are kept as samples are read as objects. */
function isKnownToSamples(name: KnownName, identity: KnownIdentity, tally: SegmentTally): boolean {
  const mayLink = identity.link !== undefined && !identity.isLinked;
  if (!name.isSampled) name.isSampled = !tally.wantsSample([name.name]);
  if (mayLink && !name.isSampledLinked) name.isSampledLinked = !tally.wantsSample(['$identify', name.name]);
  const isKnown = name.isSampled && (!mayLink || name.isSampledLinked);
  // The reader will tell the writer of the link.
  if (!isKnown) identity.isLinked = true;
  return isKnown;
}
