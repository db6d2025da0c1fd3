import type { LeasedRun, StoredPart } from '../../../run/leased-run.ts';
import type { Run } from '../../../run/run.ts';
import { stagingKeys, type Staging } from '../../../staging.ts';
import { placesPerRecord, type OnLines } from '../segment/check-segment.ts';
import { inOrder } from '../../load/in-order.ts';
import type { CheckedSegment, HandOver, SegmentTask } from './check-alone.ts';
import type { HeldLines } from '../add-faults.ts';
import type { CheckProgress } from '../check-progress.ts';
import type { Ready } from '../check-deps.ts';
import type { CheckWorkers } from './check-workers.ts';
import { handOverOf, writeHandOver } from './handover-file.ts';
import { createMemorySum, type MemorySum } from './segment-memory.ts';
import type { RepeatedLinks } from '../links/repeated-links.ts';
import type { RunRows } from '../rows/run-rows.ts';
import { addPairs, type SharedDevices } from '../tally/shared-devices.ts';
import type { Failpoint } from '../../../../base/failpoint.ts';
import { writeFindings } from '../tally/findings-file.ts';

/** A check of the segments of a run. */
export interface Checking {
  readonly deps: Ready;
  readonly leased: LeasedRun;
  readonly parts: readonly StoredPart[];
  readonly progress: CheckProgress;
  readonly held: HeldLines;
  /** Receives linked ids. */
  readonly devices: SharedDevices;
  /** Receives the links of segments. */
  readonly links: RepeatedLinks;
  readonly rows: RunRows;
  readonly wantsFacts: boolean;
}

interface CheckingSideBySide extends Checking {
  readonly workers: CheckWorkers;
  /** Receives marks for the tables in which events have rows. */
  readonly tables: readonly { isMatched: boolean }[];
}

interface SegmentPlace extends SegmentRef {
  /** Number in the run, from 0. */
  readonly number: number;
  readonly linesBefore: number;
  /** `received_at` of the first line of the part, µs since the epoch. */
  readonly firstPlace: number;
}

/**
 * Checks each segment alone, several at a time, and stores their findings in the order of the source. So results do not depend on the
 * number of threads, and an interrupted check continues with any number. Returns what is to be added to the findings of all.
 */
export async function checkSideBySide(checking: CheckingSideBySide): Promise<Pick<MemorySum, 'addTo'>> {
  const { deps, leased, parts, progress, rows, workers } = checking;
  const sum = createMemorySum();
  let current: StoredPart | undefined;
  // Called in the order of the source.
  const enter = (part: StoredPart): void => {
    if (part !== current) sum.startFile();
    current = part;
  };
  const left: SegmentPlace[] = [];
  for (const part of parts) if (part.segments.length === 0) progress.part();
  for (const place of placesOf(leased.run.createdAt, parts)) {
    const { part, index } = place;
    if (index >= part.checked) left.push(place);
    else {
      const handOver = await handOverOf(deps.staging, leased.run.id, place);
      enter(part);
      add(checking, sum, place, handOver);
    }
  }
  const stop = new AbortController();
  const signal = AbortSignal.any([leased.signal, stop.signal]);
  // One more than threads, so that no thread waits for a segment to be read.
  const inMemory = createPlaces(workers.threads === 1 ? 1 : workers.threads + 1);
  const check = (place: SegmentPlace, before?: SegmentTask['before']): Promise<CheckedSegment> =>
    inMemory(async () => {
      signal.throwIfAborted();
      const lines = await deps.readSegment(deps.staging, leased.run.id, place.part, place.index);
      const segment = place.part.segments[place.index];
      const onLines: OnLines = (count) => segment && progress.within(segment, count);
      return await workers.check(taskOf(checking, place, lines, before), sum, onLines);
    });
  await inOrder(inTurn(left), {
    // As many again may be checked and wait for an earlier one, or for a write.
    max: workers.threads === 1 ? 1 : 2 * workers.threads + 1,
    work: async (place) => {
      // A single thread continues the counts of earlier segments.
      if (workers.threads === 1) enter(place.part);
      return { place, found: await check(place) };
    },
    done: async ({ place, found }) => {
      enter(place.part);
      const before = sum.known(found.handOver.memories, workers.threads > 1);
      const settled = before === undefined ? found : await check(place, before);
      // Of an interrupted check, whose tables still exist.
      const isRepeated = place === left[0] && hasBegun(parts);
      await writeChecked({ ...deps, rows }, leased, { ...place, isRepeated }, settled);
      add(checking, sum, place, settled.handOver);
    },
    onFailure: () => stop.abort(new Error('another segment could not be checked')),
  });
  return sum;
}

/** Returns whether an earlier attempt has checked segments. The segment after them may be in the tables of the run. */
export function hasBegun(parts: readonly StoredPart[]): boolean {
  return parts.some(({ checked }) => checked > 0);
}

function placesOf(createdAt: number, parts: readonly StoredPart[]): readonly SegmentPlace[] {
  const places: SegmentPlace[] = [];
  for (const [part, firstPlace] of firstPlaces(createdAt, parts)) {
    let linesBefore = 0;
    for (const [index, { records }] of part.segments.entries()) {
      places.push({ part, index, number: places.length, linesBefore, firstPlace });
      linesBefore += records;
    }
  }
  return places;
}

/**
 * Returns `received_at` of the first line of each part, µs since the epoch. They end when the run was created (ms), so that none is in the
 * future, and a run that was created later has later ones.
 */
function firstPlaces(createdAt: number, parts: readonly StoredPart[]): ReadonlyMap<StoredPart, number> {
  const linesOf = ({ segments }: StoredPart): number => segments.reduce((sum, { records }) => sum + records, 0);
  const lines = parts.reduce((sum, part) => sum + linesOf(part), 0);
  const places = new Map<StoredPart, number>();
  let next = createdAt * 1000 - lines * placesPerRecord;
  for (const part of parts) {
    places.set(part, next);
    next += linesOf(part) * placesPerRecord;
  }
  return places;
}

async function* inTurn<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

function taskOf(
  { deps, held }: Checking,
  { part, linesBefore, firstPlace }: SegmentPlace,
  lines: Buffer,
  before: SegmentTask['before'],
): SegmentTask {
  return { part: part.key, linesBefore, firstPlace, lines, held: held.get(part.key), now: deps.clock.now(), before };
}

function add(
  { links, devices, tables, progress }: CheckingSideBySide,
  sum: MemorySum,
  { part, index, number }: SegmentPlace,
  handOver: HandOver,
): void {
  sum.add(handOver.memories);
  links.add(number, handOver.deferred);
  addPairs(devices, handOver.devices);
  for (const [at, table] of tables.entries()) table.isMatched ||= handOver.joined[at] === true;
  const segment = part.segments[index];
  if (segment !== undefined) progress.segment(segment);
  if (index === part.segments.length - 1) progress.part();
}

/** Returns whether an earlier version checked segments, which wrote other files. */
export async function lackFiles(
  staging: Staging,
  { id, createdAt }: Run,
  parts: readonly StoredPart[],
): Promise<boolean> {
  const keys = new Set((await staging.list(`${id}/checked/`)).map(({ key }) => key));
  return placesOf(createdAt, parts)
    .filter(({ part, index }) => index < part.checked)
    .some(({ part: { seq }, index }) =>
      [stagingKeys.findings, stagingKeys.handOver].some((keyOf) => !keys.has(keyOf(id, seq, index))),
    );
}

/** Limits concurrent work; the others wait, first come, first served. */
type Places = <Result>(work: () => Promise<Result>) => Promise<Result>;

function createPlaces(max: number): Places {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (work) => {
    if (taken < max) taken += 1;
    else await new Promise<void>((take) => waiting.push(take));
    try {
      return await work();
    } finally {
      // The place is passed on directly, so that no other work takes it.
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    }
  };
}

/** A segment of a part. */
interface SegmentRef {
  readonly part: StoredPart;
  readonly index: number;
}

interface WriteDeps {
  readonly staging: Staging;
  readonly failpoint: Failpoint;
  readonly rows: RunRows;
}

/** Stores the findings of a segment, its rows first. */
async function writeChecked(
  { staging, failpoint, rows }: WriteDeps,
  leased: LeasedRun,
  { part, index, isRepeated }: SegmentRef & { readonly isRepeated: boolean },
  { found, findings, rejected, handOver }: CheckedSegment,
): Promise<void> {
  const { id } = leased.run;
  const place = { seq: part.seq, index };
  await rows.insert(`segment-${pad(part.seq)}-${pad(index)}`, found, isRepeated);
  await writeFindings(staging, id, place, { sums: found.sums, findings });
  await writeHandOver(staging, id, place, handOver);
  const rejectedKey = stagingKeys.rejected(id, `check-${pad(part.seq)}-${pad(index)}`);
  if (rejected.length > 0) await staging.write(rejectedKey, rejected);
  // An interrupted check may have left a file that this one does not need.
  else if (index === part.checked) await staging.remove(rejectedKey);
  failpoint('import_rows_written');
  await leased.savePart(part.seq, { checked: index + 1 });
  failpoint('import_segment_checked');
}

function pad(index: number): string {
  return String(index).padStart(5, '0');
}
