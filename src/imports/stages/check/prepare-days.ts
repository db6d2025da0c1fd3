import type { Failpoint } from '../../../base/failpoint.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import { inOrder } from '../load/in-order.ts';
import { readDayIndex } from '../load/read-day.ts';
import type { CheckWorkers } from './check-workers.ts';
import { eventsOf, sampleKeys, type DayLimits, type MergedDay, type MergeTask } from './merge-day.ts';
import type { DayRun } from './merge-runs.ts';
import { createRepeatedKeys, sampledShare } from './repeated-keys.ts';
import type { RepeatedLinks } from './repeated-links.ts';
import type { StoredEvents } from './stored-events.ts';

/** Where the events of every day lie, and the names that they mean. */
export interface SpilledDays {
  /** In the order of the source. */
  readonly runs: ReadonlyMap<string, readonly DayRun[]>;
  readonly names: readonly string[];
  readonly events: number;
}

export interface PrepareDeps {
  readonly staging: Staging;
  readonly limits: DayLimits;
  readonly failpoint: Failpoint;
  readonly workers: CheckWorkers;
  /** Events that the target has already. */
  readonly stored: StoredEvents;
  readonly links: Pick<RepeatedLinks, 'share'>;
  /** Called after every day. */
  readonly onDay: (day: string, events: number) => void;
}

/** What equal uuids came with. */
export interface Repetitions {
  /** Events that are there on another day as well. */
  readonly repeated: number;
  /** Duplicates with other properties or another time than the event that is loaded. */
  readonly changed: number;
}

/** Writes the files of all days that are not there yet, several at a time, and their rows, oldest first. */
export async function prepareDays(deps: PrepareDeps, leased: LeasedRun, spilled: SpilledDays): Promise<Repetitions> {
  const { workers } = deps;
  const done = new Set((await leased.days()).map(({ day }) => day));
  const repeated = createRepeatedKeys(spilled.events);
  let changed = 0;
  const tasks = tasksOf(deps, leased.run.id, spilled);
  const stop = new AbortController();
  const signal = AbortSignal.any([leased.signal, stop.signal]);
  await inOrder(inTurn(tasks.entries()), {
    // One more, so that nobody waits while a row is written.
    max: workers.merges === 1 ? 1 : workers.merges + 1,
    work: async ([index, task]) => {
      signal.throwIfAborted();
      if (done.has(task.day)) return { index, task, keys: await sampleKeys({ staging: deps.staging, signal }, task) };
      const merged = await workers.merge(task);
      return { index, task, merged, keys: merged.keys };
    },
    done: async ({ index, task, merged, keys }) => {
      for (let at = 0; at < keys.length; at += 2) repeated.add(keys[at] ?? 0, keys[at + 1] ?? 0, index);
      if (merged !== undefined) await saveDay(deps, leased, task, merged);
      changed += (merged ?? (await readDayIndex(deps.staging, leased.run.id, task.day))).changed ?? 0;
      deps.onDay(task.day, eventsOf(task.runs));
    },
    onFailure: () => stop.abort(new Error('another day could not be prepared')),
  });
  return { repeated: repeated.count, changed };
}

function tasksOf(
  { limits, stored, links }: PrepareDeps,
  run: string,
  { runs, names, events }: SpilledDays,
): MergeTask[] {
  const there = { names: stored.names, days: stored.days.share() };
  const made = links.share();
  const share = sampledShare(events);
  return [...runs.keys()].toSorted().map((day) => {
    return { run, day, runs: runs.get(day) ?? [], names, limits, stored: there, links: made, share };
  });
}

async function* inTurn<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}

async function saveDay(
  { staging, failpoint }: PrepareDeps,
  leased: LeasedRun,
  { day }: MergeTask,
  { frames, events, bytes, duplicates, changed, expected }: MergedDay,
): Promise<void> {
  failpoint('import_day_written');
  const index: DayIndex = { day, frames, ...(changed > 0 && { changed }) };
  await staging.write(stagingKeys.dayIndex(leased.run.id, day), [Buffer.from(JSON.stringify(index))]);
  failpoint('import_day_index_written');
  await leased.saveDay(day, {
    events,
    bytes,
    duplicates,
    frames: frames.length,
    framesLoaded: 0,
    accepted: 0,
    rejected: 0,
    verified: false,
    expected,
  });
  failpoint('import_day_committed');
}

export function expectedOf({ expected }: Pick<StoredDay, 'expected'>): [name: string, count: number][] {
  if (expected === '') return [];
  // What expectedText wrote.
  const byName = JSON.parse(expected) as Readonly<Record<string, { readonly count: number }>>;
  return Object.entries(byName).map(([name, { count }]) => [name, count]);
}
