import { crc32 } from 'node:zlib';
import { freeMemory } from '../../../base/free-memory.ts';
import type { DayIndex } from '../../staging.ts';
import { compress } from './compress.ts';
import { createKeySet } from './key-set.ts';
import type { Stretch } from './merge-runs.ts';
import type { IsRepeated } from './repeated-links.ts';
import type { Block } from './spill-block.ts';

/** Makes the frames of a day from its events in order: leaves out duplicates, counts, and adds up the checksums. */
export interface DayWriter {
  /** Frames that were finished by it, compressed. */
  take(stretch: Stretch): readonly Buffer[];
  /** The last frame, if there is one. Nothing may be taken afterwards. */
  close(): readonly Buffer[];
  readonly frames: DayIndex['frames'];
  readonly totals: DayTotals;
}

export interface DayTotals {
  readonly events: number;
  /** Of JSON. */
  readonly bytes: number;
  readonly duplicates: number;
  /** Of these, with other properties or another time than the first one. */
  readonly changed: number;
  /** By index of the name. */
  readonly expected: ReadonlyMap<number, ExpectedSum>;
}

export interface ExpectedSum {
  count: number;
  low: number;
  high: number;
  contentLow: number;
  contentHigh: number;
}

export interface DayWriterOptions {
  readonly frameEvents: number;
  readonly frameBytes: number;
  /** Events of the day with its duplicates. */
  readonly eventsMax: number;
  /** Hears the key of every event, of duplicates too. */
  readonly onKey: (low: number, high: number) => void;
  /** Whether the target has the event already, on another day; `name` is its index. */
  readonly isElsewhere: (name: number, low: number, high: number) => boolean;
  readonly isRepeated: IsRepeated;
  /** Whether events of this name may merge persons; `name` is its index. */
  readonly isMerge: (name: number) => boolean;
}

const level = 1;

export function createDayWriter(options: DayWriterOptions): DayWriter {
  const { frameEvents, frameBytes, onKey, isElsewhere, isRepeated, isMerge } = options;
  const keys = createKeySet(options.eventsMax);
  const frames: Frame[] = [];
  const expected = new Map<number, ExpectedSum>();
  let lines = Buffer.allocUnsafe(frameBytes);
  /** Of the frame: copied to `lines`; counted, with what is still to be copied. */
  let copied = 0;
  let bytes = 0;
  let events = 0;
  let merges = 0;
  const totals = { events: 0, bytes: 0, duplicates: 0, changed: 0, expected };

  const copy = (block: Block, from: number, to: number): void => {
    copied += block.json.copy(lines, copied, block.start[from], block.start[to]);
  };
  const closeFrame = (): Buffer => {
    // Without the \n of the last line.
    const chunk = compress(lines.subarray(0, copied - 1), level);
    addFrame(frames, chunk, { events, bytes: copied - 1, merges: merges > 0 });
    totals.events += events;
    totals.bytes += copied - 1;
    copied = bytes = events = merges = 0;
    return chunk;
  };

  return {
    take: ({ block, names, segment, from: begin, to }) => {
      const done: Buffer[] = [];
      // What lies side by side is copied in one piece.
      let from = begin;
      for (let at = begin; at < to; at += 1) {
        const low = block.keyLow[at] as number;
        const high = block.keyHigh[at] as number;
        const name = nameAt(block, at, names);
        const isLeftOut = segment !== undefined && isRepeated(segment, name, low, high, block.micros[at] as number);
        if (!isLeftOut) onKey(low, high);
        const first = isLeftOut ? undefined : keys.add(low, high, contentAt(block, at));
        if (first !== undefined && first !== contentAt(block, at)) totals.changed += 1;
        const isNew = !isLeftOut && first === undefined && !isElsewhere(name, low, high);
        const size = sizeAt(block, at);
        const isFull = events === frameEvents || bytes + size > frameBytes;
        if (!isNew || isFull) {
          copy(block, from, at);
          from = isNew ? at : at + 1;
        }
        if (!isNew && !isLeftOut) totals.duplicates += 1;
        if (!isNew) continue;
        if (isFull) {
          if (events > 0) done.push(closeFrame());
          if (size > lines.length) lines = Buffer.allocUnsafe(size);
        }
        events += 1;
        bytes += size;
        if (isMerge(name)) merges += 1;
        addExpected(expected, name, block, at);
      }
      copy(block, from, to);
      return done;
    },
    close: () => {
      const last = events > 0 ? [closeFrame()] : [];
      freeMemory(lines);
      return last;
    },
    frames,
    totals,
  };
}

type Frame = DayIndex['frames'][number];

function addFrame(frames: Frame[], chunk: Buffer, of: Pick<Frame, 'events' | 'bytes' | 'merges'>): void {
  const start = frames.at(-1)?.end ?? 0;
  frames.push({ start, end: start + chunk.length, ...of, crc32: crc32(chunk) });
}

function sizeAt({ start }: Block, at: number): number {
  return (start[at + 1] as number) - (start[at] as number);
}

/** Stands for properties and time of an event. */
function contentAt({ contentLow, contentHigh }: Block, at: number): number {
  return ((contentLow[at] as number) ^ (contentHigh[at] as number)) >>> 0;
}

/** Index of an event's name in the run of the import. */
export function nameAt(block: Block, at: number, names: Uint32Array | undefined): number {
  const index = block.name[at] as number;
  return names === undefined ? index : (names[index] as number);
}

function addExpected(expected: Map<number, ExpectedSum>, name: number, block: Block, at: number): void {
  let sum = expected.get(name);
  if (sum === undefined) {
    sum = { count: 0, low: 0, high: 0, contentLow: 0, contentHigh: 0 };
    expected.set(name, sum);
  }
  sum.count += 1;
  sum.low ^= block.sumLow[at] as number;
  sum.high ^= block.sumHigh[at] as number;
  sum.contentLow ^= block.contentLow[at] as number;
  sum.contentHigh ^= block.contentHigh[at] as number;
}
