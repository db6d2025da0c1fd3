import { freeMemory } from '../../../../base/free-memory.ts';
import type { RejectedRecord } from '../../../staging.ts';
import { checkSegment, type OnLines } from '../segment/check-segment.ts';
import { findUnmapped } from '../segment/find-unmapped.ts';
import { openReader, type ReaderOptions } from '../open-reader.ts';
import { createFastConverter } from '../fast/fast-converter.ts';
import { createSegmentMemory, type Before, type KnownBefore, type SegmentMemories } from './segment-memory.ts';
import { createPairs } from '../tally/shared-devices.ts';
import type { CheckTools } from '../check-tools.ts';
import type { Deferred } from '../links/deferred-events.ts';
import { createSegmentRows, type RowsOfSegment } from '../rows/segment-rows.ts';

/** What all segments of a run share; structured clone. */
export interface AloneSetup {
  readonly runId: string;
  readonly projectId: number;
  /** Whether facts update persons and groups of the target. */
  readonly wantsFacts: boolean;
  readonly reader: ReaderOptions;
  readonly eventBytesMax: number;
  /** Minimum time between two progress reports of a segment. */
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
  /** Lines of the part that replace what could not be staged. */
  readonly held: ReadonlyMap<number, RejectedRecord> | undefined;
  /** ms since the epoch. */
  readonly now: number;
  /** What earlier segments know that matters to this one, if it is checked again because of that. */
  readonly before: KnownBefore | undefined;
}

/** A checked segment; structured clone. */
export interface CheckedSegment {
  readonly found: RowsOfSegment;
  /** JSON of `Findings`: samples hold exact numbers, which structured clone refuses. */
  readonly findings: string;
  /** File of rejected records; empty without rejected records. */
  readonly rejected: readonly Buffer[];
  readonly handOver: HandOver;
}

/** What a segment passes to the run in addition to its findings; it is added in the order of segments. */
export interface HandOver {
  readonly memories: SegmentMemories;
  readonly deferred: Deferred;
  /** Linked anonymous ids and persons, each pair once: two texts each. */
  readonly devices: readonly string[];
  /** For each table to join, whether an event had a row in it. */
  readonly joined: readonly boolean[];
}

/**
 * Checks one segment independently of all others, so it does not matter which thread does it, or when. `tools` serve one call at a time.
 * `before` replaces the counts of the task. `onLines` receives the progress.
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
    // It creates no objects that a plan could validate, or whose ids could be kept out.
    fast:
      tools.plan === undefined && tools.keptOut === undefined
        ? createFastConverter({ ...own, module: tools.module })
        : undefined,
    links: memory.links,
    memory,
    rows: createSegmentRows({ runId, projectId, wantsFacts, sourceBytes: task.lines.length }),
    devices,
    times: format.times,
    sampled: new Set<string>(),
    signal,
    held: new Map(task.held === undefined ? [] : [[task.part, task.held]]),
    transform: tools.transform,
    plan: tools.plan,
    keptOut: tools.keptOut,
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

/** Limits progress reports to one per `everyMs`, so that they cost the check almost nothing. */
function paced(everyMs: number, onLines: OnLines): OnLines {
  let last = performance.now();
  return (lines) => {
    const now = performance.now();
    if (now - last < everyMs) return;
    last = now;
    onLines(lines);
  };
}
