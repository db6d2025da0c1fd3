import { dayMicros } from '../../../batch/timestamps.ts';
import { scanLimits } from '../../../batch/limits.ts';
import { scanBatch } from '../../../batch/scan.ts';
import { eventFlag, span, spanStride, type ScannedBatch } from '../../../batch/scanned-batch.ts';
import { stringAt, textAt } from '../../../batch/spans.ts';
import { freeMemory } from '../../../base/free-memory.ts';
import { parseExactValues } from '../../../base/exact-json.ts';
import type { JsonObject } from '../../../base/json.ts';
import { profileEvents } from '../../../contract/profile-events.ts';
import type { RowBatch } from '../../../eventstore/eventstore.ts';
import { EventRowWriter } from '../../../eventstore/rows.ts';
import { createDaySums, type DaySums } from './day-sums.ts';
import { createFacts, type Facts } from './facts.ts';

/** Rows of the events of one segment, for the table of the run, and what they say of persons and groups. */
export interface SegmentRows {
  /** An event that was read as an object. */
  add(event: RowEvent, sums: EventSums): void;
  /** Where the JSON of the next event may be written into `arena`, up to so many bytes. */
  place(bytesMax: number): number;
  readonly arena: Buffer;
  /** Takes the event whose JSON was written there, up to `end`. */
  keep(sums: EventSums, end: number): void;
  /** Rows so far. */
  readonly count: number;
  /** All of them; afterwards there are none. `names`: of the indices. */
  take(names: readonly string[]): RowsOfSegment;
}

/** What an event adds to the checksums of its day and name (src/imports/checksum.ts), and where it stands. */
export interface EventSums {
  /** µs since the epoch. */
  readonly micros: number;
  /** Its `received_at`, µs since the epoch. */
  readonly place: number;
  /** Index of its name in the segment. */
  readonly name: number;
  readonly sumLow: number;
  readonly sumHigh: number;
  readonly contentLow: number;
  readonly contentHigh: number;
}

/** An event as the store will have it. */
export interface RowEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** Text of its properties with the mark of the run. */
  readonly text: string;
  /** The same as an object. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Structured clone. */
export interface RowsOfSegment {
  readonly rows: RowBatch;
  /** Undefined: the run needs none. */
  readonly facts: RowBatch | undefined;
  readonly sums: readonly DaySum[];
}
export type DaySum = ReturnType<DaySums['list']>[number];

export interface SegmentRowsOptions {
  readonly projectId: number;
  readonly runId: string;
  /** Of JSON, one event. */
  readonly eventBytesMax: number;
  /** Whether persons and groups of the target learn from facts. */
  readonly wantsFacts: boolean;
  /** JSON that is scanned at once. */
  readonly arenaBytes?: number;
}

const arenaBytesDefault = 4 << 20;
const eventsMax = 1 << 14;
const openArray = 0x5b;
const closeArray = 0x5d;
const comma = 0x2c;
const backslash = 0x5c;
const noBytes = new Uint8Array(0);

export function createSegmentRows(options: SegmentRowsOptions): SegmentRows {
  return new Rows(options);
}

class Rows implements SegmentRows {
  readonly #options: SegmentRowsOptions;
  readonly #writer = new EventRowWriter();
  readonly #facts: Facts | undefined;
  readonly #limits: ReturnType<typeof scanLimits>;
  #sums = createDaySums();
  #arena: Buffer;
  #used = 1;
  #waiting = 0;
  #count = 0;
  readonly #micros = new Float64Array(eventsMax);
  readonly #places = new Float64Array(eventsMax);

  constructor(options: SegmentRowsOptions) {
    const { projectId, runId, eventBytesMax, wantsFacts, arenaBytes = arenaBytesDefault } = options;
    this.#options = options;
    this.#facts = wantsFacts ? createFacts({ projectId, runId }) : undefined;
    this.#limits = scanLimits(eventBytesMax);
    this.#arena = Buffer.allocUnsafeSlow(arenaBytes);
  }

  get count(): number {
    return this.#count;
  }

  get arena(): Buffer {
    return this.#arena;
  }

  add({ uuid, event, distinctId, text, properties }: RowEvent, sums: EventSums): void {
    const { micros, place } = sums;
    this.#writer.write({
      ...this.#numbers(micros, place),
      uuid,
      event,
      distinctId,
      properties: text,
      importRun: this.#options.runId,
    });
    this.#facts?.add({ uuid, event, distinctId, micros, place, properties });
    this.#sums.add(sums);
    this.#count += 1;
  }

  place(bytesMax: number): number {
    // A comma before it, the bracket behind it.
    const needed = bytesMax + 2;
    if (this.#waiting === eventsMax || this.#used + needed > this.#arena.length) this.#drain();
    if (this.#used + needed > this.#arena.length) this.#arena = Buffer.allocUnsafeSlow(this.#used + needed);
    return this.#waiting === 0 ? this.#used : this.#used + 1;
  }

  keep(sums: EventSums, end: number): void {
    if (this.#waiting > 0) this.#arena[this.#used] = comma;
    this.#micros[this.#waiting] = sums.micros;
    this.#places[this.#waiting] = sums.place;
    this.#waiting += 1;
    this.#used = end;
    this.#sums.add(sums);
    this.#count += 1;
  }

  take(names: readonly string[]): RowsOfSegment {
    this.#drain();
    const taken = { rows: this.#writer.take(), facts: this.#facts?.take(), sums: this.#sums.list(names) };
    this.#sums = createDaySums();
    this.#count = 0;
    return taken;
  }

  /** Rows of the events whose JSON waits in the arena. */
  #drain(): void {
    if (this.#waiting === 0) return;
    this.#arena[0] = openArray;
    this.#arena[this.#used] = closeArray;
    const scan = scanBatch(this.#arena.subarray(0, this.#used + 1), this.#limits);
    for (let index = 0; index < scan.count; index += 1) this.#write(scan, index);
    freeMemory(scan.spans);
    this.#used = 1;
    this.#waiting = 0;
  }

  #write(scan: ScannedBatch, index: number): void {
    const { json, spans } = scan;
    const at = (field: number): number => spans[index * spanStride + field] as number;
    const micros = this.#micros[index] as number;
    const place = this.#places[index] as number;
    const [eventFrom, eventTo] = [at(span.name) + 1, at(span.name + 1) - 1];
    const [idFrom, idTo] = [at(span.distinctId) + 1, at(span.distinctId + 1) - 1];
    const flags = at(span.flags);
    const isPlain = !hasEscapes(json, eventFrom, eventTo) && !hasEscapes(json, idFrom, idTo);
    if (isPlain) {
      this.#writer.splice({
        ...this.#numbers(micros, place),
        json,
        uuidFrom: at(span.uuid) + 1,
        eventFrom,
        eventTo,
        idFrom,
        idTo,
        propsFrom: at(span.properties),
        propsTo: at(span.properties + 1),
        propsPrefix: noBytes,
      });
    }
    const isSpecial = (flags & eventFlag.special) !== 0;
    const mayBeProfile = (flags & eventFlag.dollarName) !== 0;
    if (isPlain && !isSpecial && !(mayBeProfile && profileEvents.has(json.toString('utf8', eventFrom, eventTo)))) {
      this.#facts?.addScanned(scan, index, micros, place);
      return;
    }
    if (isPlain && this.#facts === undefined) return;
    const text = textAt(json, at(span.properties), at(span.properties + 1));
    const event = {
      uuid: textAt(json, at(span.uuid) + 1, at(span.uuid + 1) - 1),
      event: stringAt(json, eventFrom - 1, eventTo + 1),
      distinctId: stringAt(json, idFrom - 1, idTo + 1),
    };
    if (!isPlain) {
      const importRun = this.#options.runId;
      this.#writer.write({ ...this.#numbers(micros, place), ...event, properties: text, importRun });
    }
    this.#facts?.add({ ...event, micros, place, properties: parseExactValues(text) as JsonObject });
  }

  #numbers(timestampMicros: number, receivedAtMicros: number) {
    const { projectId } = this.#options;
    const keyDay = Math.floor(timestampMicros / dayMicros);
    return { projectId, historical: true, receivedAtMicros, timestampMicros, keyDay };
  }
}

function hasEscapes(json: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (json[at] === backslash) return true;
  return false;
}
