import { freeMemory } from '../../../../base/free-memory.ts';
import type { RejectedRecord } from '../../../staging.ts';
import { checkSegment, type OnLines } from '../segment/check-segment.ts';
import { findUnmapped } from '../segment/find-unmapped.ts';
import { openReader, type ReaderOptions } from '../open-reader.ts';
import { createPlainConverter } from '../fast/plain-converter.ts';
import { createSegmentMemory, type Before, type KnownBefore, type SegmentMemories } from './segment-memory.ts';
import { createPairs } from '../tally/shared-devices.ts';
import type { CheckTools } from '../check-tools.ts';
import type { Deferred } from '../links/deferred-events.ts';
import { createSegmentRows, type RowsOfSegment } from '../rows/segment-rows.ts';

/** What all segments of a run have in common; structured clone. */
export interface AloneSetup {
  readonly runId: string;
  readonly projectId: number;
  /** Whether persons and groups of the target learn from facts. */
  readonly wantsFacts: boolean;
  readonly reader: ReaderOptions;
  readonly eventBytesMax: number;
  /** Time between two reports of how far a segment is. */
  readonly progressMs: number;
}

/** Structured clone. */
export interface SegmentTask {
  /** Key of the part. */
  readonly part: string;
  /** Lines of the part before this segment. */
  readonly linesBefore: number;
  /** `received_at` of the first line of the part, µs since the epoch. */
  readonly firstPlace: number;
  readonly lines: Buffer;
  /** Lines of the part that stand for what could not be staged. */
  readonly held: ReadonlyMap<number, RejectedRecord> | undefined;
  /** ms since the epoch. */
  readonly now: number;
  /** What is known of the segments before, where this one is checked again for that; undefined: nothing that matters. */
  readonly before: KnownBefore | undefined;
}

/** A checked segment; structured clone. */
export interface CheckedSegment {
  readonly found: RowsOfSegment;
  /** JSON of `Findings`: samples hold numbers kept digit by digit, which structured clone refuses. */
  readonly findings: string;
  /** File of rejected records; empty: there are none. */
  readonly rejected: readonly Buffer[];
  readonly handOver: HandOver;
}

/** What a segment tells the run besides its findings: it has to be added up in the order of segments. */
export interface HandOver {
  readonly memories: SegmentMemories;
  readonly deferred: Deferred;
  /** Anonymous ids and persons that were tied together, each pair once: two texts each. */
  readonly devices: readonly string[];
  /** Of each table to join: whether an event had a row in it. */
  readonly joined: readonly boolean[];
}

/**
 * Checks one segment without looking at any other, so that it does not matter which thread does it, or when. `tools` are used by
 * one at a time. `before`: what is counted already, in place of the task's. `onLines` is told how far it is.
 */
export async function checkAlone(
  { runId, projectId, wantsFacts, reader, eventBytesMax, progressMs }: AloneSetup,
  task: SegmentTask,
  {
    tools,
    signal,
    onLines,
    before,
  }: {
    readonly tools: CheckTools;
    readonly signal: AbortSignal;
    readonly onLines: OnLines;
    readonly before?: Before;
  },
): Promise<CheckedSegment> {
  const memory = createSegmentMemory(task.before, before);
  const devices = createPairs();
  for (const table of tools.tables) table.isMatched = false;
  const { format, names, read } = openReader(reader, tools.tables, memory);
  const own = {
    runId,
    read,
    slug: format.slug,
    unmapped: findUnmapped(format.slug, format.names, names),
    eventBytesMax,
    now: () => task.now,
  };
  const deps = {
    ...own,
    plain: createPlainConverter({ ...own, machine: tools.machine }),
    links: memory.links,
    memory,
    rows: createSegmentRows({ runId, projectId, wantsFacts, sourceBytes: task.lines.length }),
    devices,
    times: format.times,
    sampled: new Set<string>(),
    signal,
    held: new Map(task.held === undefined ? [] : [[task.part, task.held]]),
    transform: tools.transform,
    onLines: paced(progressMs, onLines),
  };
  const { part, linesBefore, firstPlace } = task;
  const { tally, rejected, deferred } = await checkSegment(deps, { part, linesBefore, firstPlace }, task.lines);
  freeMemory(task.lines);
  return {
    found: deps.rows.take(tally.names),
    findings: JSON.stringify(tally.findings()),
    rejected: rejected.count > 0 ? rejected.finish() : [],
    handOver: {
      memories: memory.handOver(),
      deferred,
      devices: devices.list(),
      joined: tools.tables.map(({ isMatched }) => isMatched),
    },
  };
}

/** Passes on how far a segment is at most once in `everyMs`, so that showing progress costs a check next to nothing. */
function paced(everyMs: number, onLines: OnLines): OnLines {
  let last = performance.now();
  return (lines) => {
    const now = performance.now();
    if (now - last < everyMs) return;
    last = now;
    onLines(lines);
  };
}
