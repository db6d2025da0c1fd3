import { dayMicros } from '../../../batch/timestamps.ts';
import { dayOfMicros } from './event-times.ts';
import { createBlockWriter, emptyBlockEvent, type BlockEvent, type BlockWriter } from './spill-block.ts';

/** Where the events of one day lie in a spill, in the order of their time. */
export interface SpillRun {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly blocks: readonly SpillBlock[];
}

/** Offsets in bytes; `bytes` of JSON. */
export interface SpillBlock {
  readonly start: number;
  readonly end: number;
  readonly events: number;
  readonly bytes: number;
}

/** A spill that is being written: how long it is, and what it holds so far. */
export interface SpillFile {
  length: number;
  readonly runs: SpillRun[];
}

/** Events in one piece of memory until it is full; then they leave it by day and time. */
export interface SpillBuffer {
  /** False: full, `flush` first. An event alone always finds room. */
  add(event: BlockEvent, json: string): boolean;
  /** Where the JSON of the next event may be written into `arena`, up to so many bytes; -1: full, `flush` first. */
  place(bytesMax: number): number;
  readonly arena: Buffer;
  /** Takes the event whose JSON was written there, up to `end`. */
  keep(event: BlockEvent, end: number): void;
  /** Compressed blocks, to be written one after the other; a run per day is noted in `file`. Empties the buffer. */
  flush(file: SpillFile): Generator<Buffer>;
  clear(): void;
}

export interface SpillLimits {
  /** JSON that is kept in memory. */
  readonly bufferBytes: number;
  /** JSON of one block. */
  readonly blockBytes: number;
}

const eventsMax = 1 << 17;
/** Columns of whole numbers. */
const column = {
  keyLow: 0,
  keyHigh: 1,
  sumLow: 2,
  sumHigh: 3,
  contentLow: 4,
  contentHigh: 5,
  name: 6,
  from: 7,
  to: 8,
} as const;
const columns = 9;

interface Stored {
  arena: Buffer;
  readonly micros: Float64Array;
  readonly words: Uint32Array;
  count: number;
  used: number;
  isSorted: boolean;
}

export function createSpillBuffer(limits: SpillLimits): SpillBuffer {
  const stored: Stored = {
    arena: Buffer.allocUnsafeSlow(limits.bufferBytes),
    micros: new Float64Array(eventsMax),
    words: new Uint32Array(eventsMax * columns),
    count: 0,
    used: 0,
    isSorted: true,
  };
  const writer = createBlockWriter(limits.blockBytes);
  return {
    add: (event, json) => {
      if (!hasRoom(stored, json)) return false;
      append(stored, event, json);
      return true;
    },
    place: (bytesMax) => {
      const room = stored.arena.length - stored.used - 1;
      if (stored.count === eventsMax || (bytesMax > room && stored.count > 0)) return -1;
      if (bytesMax > room) stored.arena = Buffer.allocUnsafeSlow(bytesMax + 1);
      return stored.used;
    },
    get arena() {
      return stored.arena;
    },
    keep: (event, end) => keep(stored, event, end),
    flush: function* (file) {
      yield* writeRuns(stored, writer, file);
      empty(stored, limits);
    },
    clear: () => empty(stored, limits),
  };
}

function empty(stored: Stored, { bufferBytes }: SpillLimits): void {
  stored.count = 0;
  stored.used = 0;
  stored.isSorted = true;
  if (stored.arena.length > bufferBytes) stored.arena = Buffer.allocUnsafeSlow(bufferBytes);
}

function hasRoom(stored: Stored, json: string): boolean {
  const room = stored.arena.length - stored.used - 1;
  if (stored.count === eventsMax) return false;
  if (json.length * 3 <= room) return true;
  const bytes = Buffer.byteLength(json);
  if (bytes <= room) return true;
  if (stored.count > 0) return false;
  stored.arena = Buffer.allocUnsafeSlow(bytes + 1);
  return true;
}

function append(stored: Stored, event: BlockEvent, json: string): void {
  keep(stored, event, stored.used + stored.arena.write(json, stored.used));
}

function keep(stored: Stored, event: BlockEvent, end: number): void {
  const { arena, micros, words, count } = stored;
  const at = count * columns;
  arena[end] = 0x0a;
  micros[count] = event.micros;
  words[at + column.keyLow] = event.keyLow;
  words[at + column.keyHigh] = event.keyHigh;
  words[at + column.sumLow] = event.sumLow;
  words[at + column.sumHigh] = event.sumHigh;
  words[at + column.contentLow] = event.contentLow;
  words[at + column.contentHigh] = event.contentHigh;
  words[at + column.name] = event.name;
  words[at + column.from] = stored.used;
  words[at + column.to] = end + 1;
  if (count > 0 && event.micros < (micros[count - 1] as number)) stored.isSorted = false;
  stored.used = end + 1;
  stored.count = count + 1;
}

function* writeRuns(stored: Stored, writer: BlockWriter, file: SpillFile): Generator<Buffer> {
  const { arena, micros, words } = stored;
  const event = emptyBlockEvent();
  let blocks: SpillBlock[] = [];
  let dayEnd = -Infinity;
  for (const index of inOrder(stored)) {
    const at = index * columns;
    const from = words[at + column.from] as number;
    const to = words[at + column.to] as number;
    event.micros = micros[index] as number;
    const isNextDay = event.micros >= dayEnd;
    if (writer.count > 0 && (isNextDay || writer.isFullFor(to - from))) yield* closeBlock(writer, file, blocks);
    if (isNextDay) {
      blocks = [];
      file.runs.push({ day: dayOfMicros(event.micros), blocks });
      dayEnd = (Math.floor(event.micros / dayMicros) + 1) * dayMicros;
    }
    event.keyLow = words[at + column.keyLow] as number;
    event.keyHigh = words[at + column.keyHigh] as number;
    event.sumLow = words[at + column.sumLow] as number;
    event.sumHigh = words[at + column.sumHigh] as number;
    event.contentLow = words[at + column.contentLow] as number;
    event.contentHigh = words[at + column.contentHigh] as number;
    event.name = words[at + column.name] as number;
    writer.add(event, arena, from, to);
  }
  if (writer.count > 0) yield* closeBlock(writer, file, blocks);
}

/** Finishes the writer's block and notes where it will lie. */
export function* closeBlock(writer: BlockWriter, file: { length: number }, blocks: SpillBlock[]): Generator<Buffer> {
  const { count: events, jsonBytes: bytes } = writer;
  const block = writer.finish();
  blocks.push({ start: file.length, end: file.length + block.length, events, bytes });
  file.length += block.length;
  yield block;
}

/** Indices by time; events of the same time in the order in which they came. */
function inOrder({ micros, count, isSorted }: Stored): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  return isSorted ? order : order.sort((a, b) => (micros[a] as number) - (micros[b] as number) || a - b);
}
