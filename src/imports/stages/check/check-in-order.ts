import { freeMemory } from '../../../base/free-memory.ts';
import type { LeasedRun, StoredPart } from '../../run/leased-run.ts';
import type { Transform } from '../../transform.ts';
import type { HeldLines } from './add-faults.ts';
import type { CheckProgress } from './check-progress.ts';
import { checkSegment, replaySegment, type SegmentCheckDeps } from './check-segment.ts';
import { firstPlaces } from './check-side-by-side.ts';
import { createCheckTools } from './check-tools.ts';
import type { Ready } from './check-stage.ts';
import { findUnmapped } from './find-unmapped.ts';
import { handOverOf } from './hand-over-file.ts';
import { paced } from './paced-progress.ts';
import type { OpenedReader } from './open-reader.ts';
import { createPlainConverter } from './plain/plain-converter.ts';
import type { RepeatedLinks } from './repeated-links.ts';
import type { RunRows } from './run-rows.ts';
import { createSegmentRows } from './segment-rows.ts';
import type { SharedDevices } from './shared-devices.ts';
import { writeChecked, type SegmentRef } from './write-checked.ts';

/** Checking the segments of a run. */
export interface Checking {
  readonly deps: Ready;
  readonly leased: LeasedRun;
  readonly parts: readonly StoredPart[];
  readonly progress: CheckProgress;
  readonly held: HeldLines;
  /** Gets the ids that are tied together. */
  readonly devices: SharedDevices;
  /** Gets the links that segments made. */
  readonly links: RepeatedLinks;
  readonly rows: RunRows;
  readonly wantsFacts: boolean;
}

/**
 * One segment after the other, through one reader, which remembers all of them: for runs whose choice or transform does so, too. What
 * was checked before an interruption is read again for that.
 */
export async function checkInOrder(
  checking: Checking & { readonly reader: OpenedReader; readonly transform: Transform | undefined },
): Promise<void> {
  const { deps, leased, parts, progress } = checking;
  const segmentDeps = depsOf(checking);
  let number = 0;
  for (const [part, firstPlace] of firstPlaces(leased.run.createdAt, parts)) {
    let linesBefore = 0;
    checking.reader.startFile();
    for (const [index, segment] of part.segments.entries()) {
      leased.signal.throwIfAborted();
      const lines = await deps.readSegment(deps.staging, leased.run.id, part, index);
      const onLines = paced(deps.limits.progressMs, (count) => progress.within(segment, count));
      const own = { ...segmentDeps, onLines };
      if (index < part.checked) await replaySegment(own, lines);
      else await checkNext(checking, own, { part, index, linesBefore, firstPlace, lines });
      const handOver = await handOverOf(deps.staging, leased.run.id, { part, index });
      checking.links.add(number, handOver.deferred);
      number += 1;
      freeMemory(lines);
      linesBefore += segment.records;
      progress.segment(segment);
    }
    progress.part();
  }
}

function depsOf({
  deps: { eventBytesMax, clock },
  leased,
  held,
  devices,
  wantsFacts,
  reader: { format, names, read, links },
  transform,
}: Parameters<typeof checkInOrder>[0]): SegmentCheckDeps {
  const own = {
    runId: leased.run.id,
    read,
    slug: format.slug,
    unmapped: findUnmapped(format.slug, format.names, names),
    eventBytesMax,
    now: clock.now,
  };
  const { machine } = createCheckTools();
  return {
    ...own,
    plain: createPlainConverter({ ...own, machine }),
    links,
    rows: createSegmentRows({ runId: own.runId, projectId: leased.run.projectId, wantsFacts }),
    devices,
    times: format.times,
    sampled: new Set(),
    signal: leased.signal,
    held,
    transform,
  };
}

interface NextSegment extends SegmentRef {
  readonly linesBefore: number;
  readonly firstPlace: number;
  readonly lines: Buffer;
}

async function checkNext(
  { deps, leased, rows }: Checking,
  segmentDeps: SegmentCheckDeps,
  { part, index, linesBefore, firstPlace, lines }: NextSegment,
): Promise<void> {
  const place = { part: part.key, linesBefore, firstPlace };
  const { tally, rejected, deferred } = await checkSegment(segmentDeps, place, lines);
  await writeChecked(
    { ...deps, rows },
    leased,
    { part, index },
    {
      found: segmentDeps.rows.take(tally.names),
      findings: JSON.stringify(tally.findings()),
      rejected: rejected.count > 0 ? rejected.finish() : [],
      // The reader remembers the rest.
      handOver: { memories: { counted: [] }, deferred, devices: [] },
    },
  );
}
