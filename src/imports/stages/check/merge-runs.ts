import { freeMemory } from '../../../base/free-memory.ts';
import type { Staging } from '../../staging.ts';
import { blockBytes, freeBlock, readBlock, type Block } from './spill-block.ts';
import type { SpillBlock } from './spill-buffer.ts';
import { RunFailedError } from '../../run/leased-run.ts';

/** Events of one day in the order of their time, in a file of staging. */
export interface DayRun {
  readonly key: string;
  readonly blocks: readonly SpillBlock[];
  /** Index in the block → index of the name in the run of the import; undefined: the same. */
  readonly names: Uint32Array | undefined;
  /** Number of the segment in the run of the import; undefined: of several, of which nothing is repeated. */
  readonly segment: number | undefined;
}

/** What is read of staging, and its name for messages. */
type ReadStaging = Pick<Staging, 'read' | 'description'>;

/** Neighbours in the order of the day that lie side by side in a block as well. The same object at every call. */
export interface Stretch {
  block: Block;
  names: Uint32Array | undefined;
  segment: number | undefined;
  from: number;
  to: number;
}

/**
 * Events of several runs as one sequence, for `take`: by time, those of the same time in the order of the runs. A block of each run
 * is in memory at a time; a stretch is empty once `take` has returned. Where it returns true there is a step, for whoever has something
 * to do that takes time; a step for every stretch would cost more than the stretch, which may be a single event.
 */
export async function* mergeRuns(
  staging: ReadStaging,
  runs: readonly DayRun[],
  bytesMax: number,
  take: (stretch: Stretch) => boolean,
): AsyncGenerator<void> {
  const readAhead = Math.max(1, Math.floor(bytesMax / Math.max(1, runs.length)));
  const heap: Cursor[] = [];
  for (const [order, run] of runs.entries()) {
    const cursor = createCursor(staging, run, order, readAhead);
    if (await cursor.load()) push(heap, cursor);
  }
  const stretch: Stretch = { block: noBlock, names: undefined, segment: undefined, from: 0, to: 0 };
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    takeStretch(heap, top, stretch);
    if (take(stretch)) yield;
    if (top.at === top.block.count && !(await top.load())) removeTop(heap);
    else sink(heap, 0);
  }
}

interface Cursor {
  readonly order: number;
  readonly names: Uint32Array | undefined;
  readonly segment: number | undefined;
  block: Block;
  /** Next event. */
  at: number;
  /** The next block; false: there is none. */
  load(): Promise<boolean>;
}

const none = new Uint32Array(0);
const noBlock: Block = {
  count: 0,
  micros: new Float64Array(0),
  keyLow: none,
  keyHigh: none,
  sumLow: none,
  sumHigh: none,
  contentLow: none,
  contentHigh: none,
  name: none,
  start: none,
  json: Buffer.alloc(0),
};

function createCursor(staging: ReadStaging, run: DayRun, order: number, readAhead: number): Cursor {
  let next = 0;
  let ahead: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) };
  const cursor: Cursor = {
    order,
    names: run.names,
    segment: run.segment,
    block: noBlock,
    at: 0,
    load: async () => {
      const place = run.blocks[next];
      // Lets go of what was read, also at the end.
      freeBlock(cursor.block);
      cursor.block = noBlock;
      cursor.at = 0;
      if (place === undefined) {
        freeMemory(ahead.bytes);
        return false;
      }
      if (place.end > ahead.start + ahead.bytes.length) {
        freeMemory(ahead.bytes);
        const { start, end } = aheadOf(run.blocks, next, readAhead);
        ahead = { start, bytes: await readRange(staging, run.key, start, end) };
      }
      const bytes = ahead.bytes.subarray(place.start - ahead.start, place.end - ahead.start);
      cursor.block = openBlock(staging, run.key, bytes, place);
      next += 1;
      return true;
    },
  };
  return cursor;
}

/** As many blocks from `first` on as may be read at once, at least one. */
function aheadOf(
  blocks: readonly SpillBlock[],
  first: number,
  bytesMax: number,
): { readonly start: number; readonly end: number } {
  const start = blocks[first]?.start ?? 0;
  let end = blocks[first]?.end ?? start;
  for (let index = first + 1; index < blocks.length; index += 1) {
    const block = blocks[index];
    if (block === undefined || block.end - start > bytesMax) break;
    end = block.end;
  }
  return { start, end };
}

/** In memory of its own. */
async function readRange(staging: ReadStaging, key: string, start: number, end: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key, { start, end })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function openBlock(staging: ReadStaging, key: string, bytes: Buffer, { events, bytes: jsonBytes }: SpillBlock): Block {
  try {
    const block = readBlock(bytes, blockBytes(events, jsonBytes));
    if (block.count === events) return block;
    throw new Error(`expected ${events} events, got: ${block.count}`);
  } catch (cause) {
    throw new RunFailedError(`expected ${key} in ${staging.description} as the check wrote it, got: a damaged file`, {
      advice: 'startAnew',
      cause,
    });
  }
}

/** Everything at the top cursor that comes before the other runs. */
function takeStretch(heap: readonly Cursor[], top: Cursor, stretch: Stretch): void {
  const { block } = top;
  const rival = earlier(heap[1], heap[2]);
  let to = top.at + 1;
  if (rival === undefined) to = block.count;
  else {
    const limit = timeOf(rival);
    const mayEqual = top.order < rival.order;
    while (to < block.count) {
      const micros = block.micros[to] as number;
      if (micros > limit || (micros === limit && !mayEqual)) break;
      to += 1;
    }
  }
  stretch.block = block;
  stretch.names = top.names;
  stretch.segment = top.segment;
  stretch.from = top.at;
  stretch.to = to;
  top.at = to;
}

function timeOf({ block, at }: Cursor): number {
  return block.micros[at] as number;
}

function isBefore(one: Cursor, other: Cursor): boolean {
  const difference = timeOf(one) - timeOf(other);
  return difference === 0 ? one.order < other.order : difference < 0;
}

function earlier(one: Cursor | undefined, other: Cursor | undefined): Cursor | undefined {
  if (one === undefined || other === undefined) return one;
  return isBefore(one, other) ? one : other;
}

function push(heap: Cursor[], cursor: Cursor): void {
  let at = heap.push(cursor) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(cursor, heap[parent] as Cursor)) break;
    heap[at] = heap[parent] as Cursor;
    at = parent;
  }
  heap[at] = cursor;
}

function removeTop(heap: Cursor[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  sink(heap, 0);
}

function sink(heap: Cursor[], from: number): void {
  const cursor = heap[from];
  if (cursor === undefined) return;
  let at = from;
  for (;;) {
    let child = at * 2 + 1;
    const right = heap[child + 1];
    if (right !== undefined && isBefore(right, heap[child] as Cursor)) child += 1;
    const smaller = heap[child];
    if (smaller === undefined || !isBefore(smaller, cursor)) break;
    heap[at] = smaller;
    at = child;
  }
  heap[at] = cursor;
}
