import { mergeEvents } from '../../../contract/profile-events.ts';
import { checksumDigits, contentDigits } from '../../checksum.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import { createDayWriter, nameAt, type DayTotals, type DayWriter } from './day-writer.ts';
import { createKeyList } from './key-list.ts';
import { mergeRuns, type DayRun, type Stretch } from './merge-runs.ts';
import { isSampled } from './repeated-keys.ts';
import { repeatedIn, type IsRepeated, type SharedLinks } from './repeated-links.ts';
import { createBlockWriter, emptyBlockEvent } from './spill-block.ts';
import { closeBlock, type SpillBlock } from './spill-buffer.ts';
import { elsewhereThan, type SharedStored } from './stored-events.ts';

export interface DayLimits {
  /** Runs that are merged at a time; more are merged in several goes. */
  readonly fanInMax: number;
  readonly blockBytes: number;
  /** Compressed bytes that are read ahead, of all runs together. */
  readonly readAheadBytes: number;
  readonly frameEvents: number;
  readonly frameBytes: number;
}

/** A day to be merged, without looking at another one; structured clone. */
export interface MergeTask {
  /** Id of the run. */
  readonly run: string;
  readonly day: string;
  /** In the order of the source. */
  readonly runs: readonly DayRun[];
  /** Of events. */
  readonly names: readonly string[];
  readonly limits: DayLimits;
  /** Events that the target has already. */
  readonly stored: SharedStored;
  readonly links: SharedLinks;
  /** One key of so many is wanted. */
  readonly share: number;
}

/** A day whose file is written; structured clone. */
export interface MergedDay {
  readonly frames: DayIndex['frames'];
  readonly events: number;
  readonly bytes: number;
  readonly duplicates: number;
  /** As DayIndex says. */
  readonly changed: number;
  /** As DayState says. */
  readonly expected: string;
  /** Sample of the keys of its events, in halves. */
  readonly keys: Uint32Array;
}

export interface MergeDeps {
  readonly staging: Pick<Staging, 'read' | 'write' | 'description'>;
  readonly signal: AbortSignal;
}

/** Writes the file of a day. */
export async function mergeDay(deps: MergeDeps, task: MergeTask): Promise<MergedDay> {
  const { frameEvents, frameBytes } = task.limits;
  const isRepeated = repeatedIn(task.links, task.names);
  const keys = createKeyList();
  const writer = createDayWriter({
    frameEvents,
    frameBytes,
    eventsMax: eventsOf(task.runs),
    onKey: (low, high) => {
      if (isSampled(high, task.share)) keys.add(low, high);
    },
    isElsewhere: elsewhereThan(task.day, task.stored, task.names),
    isRepeated,
    isMerge: (name) => mergeEvents.has(task.names[name] ?? ''),
  });
  const runs = await narrow(deps, task, isRepeated);
  await deps.staging.write(stagingKeys.day(task.run, task.day), dayChunks(deps, task, runs, writer));
  const { events, bytes, duplicates, changed } = writer.totals;
  const expected = expectedText(writer.totals, task.names);
  return { frames: writer.frames, events, bytes, duplicates, changed, expected, keys: keys.save() };
}

async function* dayChunks(
  { staging, signal }: MergeDeps,
  { limits }: MergeTask,
  runs: readonly DayRun[],
  writer: DayWriter,
): AsyncGenerator<Buffer> {
  const frames: Buffer[] = [];
  const take = (stretch: Stretch): boolean => {
    frames.push(...writer.take(stretch));
    return frames.length > 0;
  };
  for await (const _step of mergeRuns(staging, runs, limits.readAheadBytes, take)) {
    signal.throwIfAborted();
    yield* frames.splice(0);
  }
  yield* writer.close();
}

/** Of a day that was done before an interruption: what its events add to the sample of keys. */
export async function sampleKeys({ staging, signal }: MergeDeps, task: MergeTask): Promise<Uint32Array> {
  const isRepeated = repeatedIn(task.links, task.names);
  const keys = createKeyList();
  for (const run of task.runs) {
    const take = ({ block, names, segment, from, to }: Stretch): boolean => {
      for (let at = from; at < to; at += 1) {
        const [low, high] = [block.keyLow[at] as number, block.keyHigh[at] as number];
        if (!isSampled(high, task.share)) continue;
        const micros = block.micros[at] as number;
        if (segment === undefined || !isRepeated(segment, nameAt(block, at, names), low, high, micros))
          keys.add(low, high);
      }
      return true;
    };
    const stretches = mergeRuns(staging, [run], task.limits.readAheadBytes, take);
    for await (const _step of stretches) signal.throwIfAborted();
  }
  return keys.save();
}

/** Merges neighbours until there are few enough runs to be merged in one go. */
async function narrow(
  deps: MergeDeps,
  { run, day, runs, limits }: MergeTask,
  isRepeated: IsRepeated,
): Promise<readonly DayRun[]> {
  const { fanInMax } = limits;
  let current = runs;
  for (let level = 1; current.length > fanInMax; level += 1) {
    const merged: DayRun[] = [];
    for (let from = 0; from < current.length; from += fanInMax) {
      const group = current.slice(from, from + fanInMax);
      const key = mergedKey(run, day, level, merged.length);
      merged.push(await mergeInto(deps, limits, { key, runs: group, isRepeated }));
    }
    current = merged;
  }
  return current;
}

function mergedKey(run: string, day: string, level: number, index: number): string {
  return `${run}/spills/day-${day}-${level}-${index}.zst`;
}

async function mergeInto(
  { staging, signal }: MergeDeps,
  limits: DayLimits,
  {
    key,
    runs,
    isRepeated,
  }: {
    readonly key: string;
    readonly runs: readonly DayRun[];
    readonly isRepeated: IsRepeated;
  },
): Promise<DayRun> {
  const blocks: SpillBlock[] = [];
  await staging.write(key, mergedChunks());
  return { key, blocks, names: undefined, segment: undefined };

  async function* mergedChunks(): AsyncGenerator<Buffer> {
    const writer = createBlockWriter(limits.blockBytes);
    const file = { length: 0 };
    const event = emptyBlockEvent();
    const done: Buffer[] = [];
    const take = ({ block, names, segment, from, to }: Stretch): boolean => {
      for (let at = from; at < to; at += 1) {
        event.name = nameAt(block, at, names);
        event.keyLow = block.keyLow[at] as number;
        event.keyHigh = block.keyHigh[at] as number;
        event.micros = block.micros[at] as number;
        const { name, keyLow, keyHigh, micros } = event;
        if (segment !== undefined && isRepeated(segment, name, keyLow, keyHigh, micros)) continue;
        const start = block.start[at] as number;
        const end = block.start[at + 1] as number;
        if (writer.isFullFor(end - start)) done.push(...closeBlock(writer, file, blocks));
        event.sumLow = block.sumLow[at] as number;
        event.sumHigh = block.sumHigh[at] as number;
        event.contentLow = block.contentLow[at] as number;
        event.contentHigh = block.contentHigh[at] as number;
        writer.add(event, block.json, start, end);
      }
      // The block is empty once this has returned.
      writer.copy();
      return done.length > 0;
    };
    for await (const _step of mergeRuns(staging, runs, limits.readAheadBytes, take)) {
      signal.throwIfAborted();
      yield* done.splice(0);
    }
    if (writer.count > 0) yield* closeBlock(writer, file, blocks);
  }
}

export function eventsOf(runs: readonly DayRun[]): number {
  let events = 0;
  for (const { blocks } of runs) for (const block of blocks) events += block.events;
  return events;
}

/** As DayState says: JSON of { [event]: { count, checksum } }. */
function expectedText({ expected }: DayTotals, names: readonly string[]): string {
  const entries = [...expected].map(([name, { count, low, high, contentLow, contentHigh }]) => {
    return [
      names[name] ?? '',
      { count, checksum: checksumDigits(low, high), content: contentDigits(contentLow, contentHigh) },
    ] as const;
  });
  return JSON.stringify(Object.fromEntries(entries.toSorted((a, b) => (a[0] < b[0] ? -1 : 1))));
}
