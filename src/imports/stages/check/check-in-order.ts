import { freeMemory } from '../../../base/free-memory.ts';
import type { LeasedRun, StoredPart } from '../../run/leased-run.ts';
import { stagingKeys } from '../../staging.ts';
import type { Transform } from '../../transform.ts';
import type { HeldLines } from './add-faults.ts';
import type { CheckProgress } from './check-progress.ts';
import { checkSegment, replaySegment, type SegmentCheckDeps } from './check-segment.ts';
import { createCheckTools } from './check-tools.ts';
import type { Ready } from './check-stage.ts';
import { findUnmapped } from './find-unmapped.ts';
import { handOverOf } from './hand-over-file.ts';
import { paced } from './paced-progress.ts';
import type { OpenedReader } from './open-reader.ts';
import { createPlainConverter } from './plain/plain-converter.ts';
import { createSegmentLinks, type RepeatedLinks } from './repeated-links.ts';
import type { SharedDevices } from './shared-devices.ts';
import { writeChecked } from './write-checked.ts';

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
  for (const part of parts) {
    let linesBefore = 0;
    checking.reader.startFile();
    for (const [index, segment] of part.segments.entries()) {
      leased.signal.throwIfAborted();
      const lines = await deps.readSegment(deps.staging, leased.run.id, part, index);
      const onLines = paced(deps.limits.progressMs, (count) => progress.within(segment, count));
      const own = { ...segmentDeps, onLines };
      if (index < part.checked) await replaySegment(own, lines);
      else await spillSegment(checking, own, { part, index, linesBefore, lines });
      const handOver = await handOverOf(deps.staging, leased.run.id, { part, index });
      checking.links.add(number, handOver.links, handOver.names);
      number += 1;
      freeMemory(lines);
      linesBefore += segment.records;
      progress.segment(segment);
    }
    progress.part();
  }
}

function depsOf({
  deps: { limits, eventBytesMax, clock },
  leased,
  held,
  devices,
  reader: { format, names, read },
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
  const { buffer, machine } = createCheckTools(limits);
  return {
    ...own,
    plain: createPlainConverter({ ...own, machine }),
    links: undefined,
    buffer,
    devices,
    times: format.times,
    sampled: new Set(),
    signal: leased.signal,
    held,
    transform,
  };
}

async function spillSegment(
  { deps, leased, reader }: Parameters<typeof checkInOrder>[0],
  segmentDeps: SegmentCheckDeps,
  {
    part,
    index,
    linesBefore,
    lines,
  }: {
    readonly part: StoredPart;
    readonly index: number;
    readonly linesBefore: number;
    readonly lines: Buffer;
  },
): Promise<void> {
  const links = createSegmentLinks(reader.links);
  const segment = checkSegment({ ...segmentDeps, links }, { part: part.key, linesBefore });
  await deps.staging.write(stagingKeys.spill(leased.run.id, part.seq, index), segment.chunks(lines));
  const { tally, ledger, file, rejected } = segment;
  const { names } = tally;
  await writeChecked(
    deps,
    leased,
    { part, index },
    {
      names,
      runs: file.runs,
      findings: JSON.stringify(tally.findings()),
      rejected: rejected.count > 0 ? rejected.finish() : [],
      // The reader remembers the rest.
      handOver: { memories: { counted: [] }, links: links.save(ledger), names, devices: [] },
    },
  );
}
