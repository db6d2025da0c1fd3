import type { Failpoint } from '../../../base/failpoint.ts';
import { checksumDigits, contentDigits } from '../../checksum.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import { createDayWriter, type DayTotals, type DayWriter } from './day-writer.ts';
import { mergeRuns, type DayRun } from './merge-runs.ts';
import { createRepeatedKeys } from './repeated-keys.ts';
import { createBlockWriter, emptyBlockEvent } from './spill-block.ts';
import { closeBlock, type SpillBlock } from './spill-buffer.ts';
import { elsewhereThan, type StoredEvents } from './stored-events.ts';

/** Where the events of every day lie, and the names that they mean. */
export interface SpilledDays {
  /** In the order of the source. */
  readonly runs: ReadonlyMap<string, readonly DayRun[]>;
  readonly names: readonly string[];
  readonly events: number;
}

export interface DayLimits {
  /** Runs that are merged at a time; more are merged in several goes. */
  readonly fanInMax: number;
  readonly blockBytes: number;
  /** Compressed bytes that are read ahead, of all runs together. */
  readonly readAheadBytes: number;
  readonly frameEvents: number;
  readonly frameBytes: number;
}

export interface PrepareDeps {
  readonly staging: Staging;
  readonly limits: DayLimits;
  readonly failpoint: Failpoint;
  /** Events that the target has already. */
  readonly stored: StoredEvents;
  /** Called after every day. */
  readonly onDay: (day: string, events: number) => void;
}

/**
 * Writes the files of all days that are not there yet, and their rows, oldest first. Gives how many events are there on
 * another day as well.
 */
export async function prepareDays(deps: PrepareDeps, leased: LeasedRun, spilled: SpilledDays): Promise<number> {
  const done = new Set((await leased.days()).map(({ day }) => day));
  const repeated = createRepeatedKeys(spilled.events);
  for (const [index, day] of [...spilled.runs.keys()].toSorted().entries()) {
    leased.signal.throwIfAborted();
    const onKey = (low: number, high: number): void => repeated.add(low, high, index);
    const runs = spilled.runs.get(day) ?? [];
    if (done.has(day)) await scanKeys(deps, leased.signal, runs, onKey);
    else await prepareDay(deps, leased, { day, runs, names: spilled.names, onKey });
    deps.onDay(day, eventsOf(runs));
  }
  return repeated.count;
}

interface DayTask {
  readonly day: string;
  readonly runs: readonly DayRun[];
  readonly names: readonly string[];
  readonly onKey: (low: number, high: number) => void;
}

async function prepareDay(deps: PrepareDeps, leased: LeasedRun, task: DayTask): Promise<void> {
  const { staging, limits, failpoint } = deps;
  const run = leased.run.id;
  const { frameEvents, frameBytes } = limits;
  const writer = createDayWriter({
    frameEvents,
    frameBytes,
    eventsMax: eventsOf(task.runs),
    onKey: task.onKey,
    isElsewhere: elsewhereThan(task.day, deps.stored, task.names),
  });
  const runs = await narrow(deps, leased, task.day, task.runs);
  await staging.write(stagingKeys.day(run, task.day), dayChunks(deps, leased.signal, runs, writer));
  failpoint('import_day_written');
  const index: DayIndex = { day: task.day, frames: writer.frames };
  await staging.write(stagingKeys.dayIndex(run, task.day), [Buffer.from(JSON.stringify(index))]);
  failpoint('import_day_index_written');
  const { events, bytes, duplicates } = writer.totals;
  await leased.saveDay(task.day, {
    events,
    bytes,
    duplicates,
    frames: writer.frames.length,
    framesLoaded: 0,
    accepted: 0,
    rejected: 0,
    verified: false,
    expected: expectedText(writer.totals, task.names),
  });
  failpoint('import_day_committed');
}

async function* dayChunks(
  { staging, limits }: PrepareDeps,
  signal: AbortSignal,
  runs: readonly DayRun[],
  writer: DayWriter,
): AsyncGenerator<Buffer> {
  for await (const stretch of mergeRuns(staging, runs, limits.readAheadBytes)) {
    const frames = writer.take(stretch);
    if (frames.length > 0) signal.throwIfAborted();
    yield* frames;
  }
  yield* writer.close();
}

/** Of a day that was done before an interruption: what its events add to the sample of keys. */
async function scanKeys(
  { staging, limits }: PrepareDeps,
  signal: AbortSignal,
  runs: readonly DayRun[],
  onKey: DayTask['onKey'],
): Promise<void> {
  for (const run of runs) {
    for await (const { block, from, to } of mergeRuns(staging, [run], limits.readAheadBytes)) {
      signal.throwIfAborted();
      for (let at = from; at < to; at += 1) onKey(block.keyLow[at] as number, block.keyHigh[at] as number);
    }
  }
}

/** Merges neighbours until there are few enough runs to be merged in one go. */
async function narrow(
  deps: PrepareDeps,
  leased: LeasedRun,
  day: string,
  runs: readonly DayRun[],
): Promise<readonly DayRun[]> {
  const { fanInMax } = deps.limits;
  let current = runs;
  for (let level = 1; current.length > fanInMax; level += 1) {
    const merged: DayRun[] = [];
    for (let from = 0; from < current.length; from += fanInMax) {
      const group = current.slice(from, from + fanInMax);
      const key = mergedKey(leased.run.id, day, level, merged.length);
      merged.push(await mergeInto(deps, leased.signal, key, group));
    }
    current = merged;
  }
  return current;
}

function mergedKey(run: string, day: string, level: number, index: number): string {
  return `${run}/spills/day-${day}-${level}-${index}.zst`;
}

async function mergeInto(
  { staging, limits }: PrepareDeps,
  signal: AbortSignal,
  key: string,
  runs: readonly DayRun[],
): Promise<DayRun> {
  const blocks: SpillBlock[] = [];
  await staging.write(key, mergedChunks());
  return { key, blocks, names: undefined };

  async function* mergedChunks(): AsyncGenerator<Buffer> {
    const writer = createBlockWriter(limits.blockBytes);
    const file = { length: 0 };
    const event = emptyBlockEvent();
    for await (const { block, names, from, to } of mergeRuns(staging, runs, limits.readAheadBytes)) {
      for (let at = from; at < to; at += 1) {
        const start = block.start[at] as number;
        const end = block.start[at + 1] as number;
        if (writer.isFullFor(end - start)) {
          signal.throwIfAborted();
          yield* closeBlock(writer, file, blocks);
        }
        event.micros = block.micros[at] as number;
        event.keyLow = block.keyLow[at] as number;
        event.keyHigh = block.keyHigh[at] as number;
        event.sumLow = block.sumLow[at] as number;
        event.sumHigh = block.sumHigh[at] as number;
        event.contentLow = block.contentLow[at] as number;
        event.contentHigh = block.contentHigh[at] as number;
        event.name = names === undefined ? (block.name[at] as number) : (names[block.name[at] as number] as number);
        writer.add(event, block.json, start, end);
      }
    }
    if (writer.count > 0) yield* closeBlock(writer, file, blocks);
  }
}

function eventsOf(runs: readonly DayRun[]): number {
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

export function expectedOf({ expected }: Pick<StoredDay, 'expected'>): [name: string, count: number][] {
  if (expected === '') return [];
  // What expectedText wrote.
  const byName = JSON.parse(expected) as Readonly<Record<string, { readonly count: number }>>;
  return Object.entries(byName).map(([name, { count }]) => [name, count]);
}
