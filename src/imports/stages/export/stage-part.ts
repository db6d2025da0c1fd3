import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { foreignFiles } from '../../run/foreign-files.ts';
import type { LeftOutFile } from '../../run/results.ts';
import { recordsIn, RunFailedError, type LeasedRun, type Segment, type StoredPart } from '../../run/leased-run.ts';
import type { PartRead, Source, SourcePart, SourceFault } from '../../source.ts';
import { stagingKeys, type Staging, type RejectedRecord } from '../../staging.ts';
import type { ExportProgress } from './export-progress.ts';
import { writeLeftOut } from './left-out-files.ts';
import { createLineFeed, type LineFeed } from './line-feed.ts';
import { showWait } from '../stage-retry.ts';
import type { DiskQuota } from './disk-quota.ts';
import { writeSegment, type SegmentLimits } from './write-segment.ts';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';

export interface StagePartDeps {
  readonly leased: LeasedRun;
  readonly clock: Clock;
  readonly source: Source;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly progress: ExportProgress;
  readonly limits: SegmentLimits;
  readonly failpoint: Failpoint;
  /** Records that may still be taken; Infinity: no limit. */
  readonly left: () => number;
}

/** How far one part has come; kept between attempts. */
export interface PartState {
  readonly seq: number;
  readonly listed: SourcePart;
  segments: readonly Segment[];
  complete: boolean;
}

export function partState(listed: SourcePart, stored: StoredPart): PartState {
  return { seq: stored.seq, listed, segments: stored.segments, complete: stored.complete };
}

/** What is staged of the part does not count any more. `why`: kept until all of it is staged again. */
export async function forgetPart(
  { leased, staging }: Pick<StagePartDeps, 'leased' | 'staging'>,
  part: PartState,
  why = '',
): Promise<void> {
  const { identity, bytes } = part.listed;
  const none = { segments: [], complete: false, faults: 0, checked: 0, checkState: '', checksum: undefined };
  await leased.savePart(part.seq, { ...none, identity, bytes, error: why });
  part.segments = [];
  part.complete = false;
  const first = stagingKeys.segment(leased.run.id, part.seq, 0);
  await staging.remove(first.slice(0, first.lastIndexOf('/') + 1));
  await staging.remove(stagingKeys.leftOut(leased.run.id, part.seq));
}

/**
 * Stages what is left of a part; called again after a SourceWaitError. A part that is not stable starts anew each time; of
 * another the lines that are staged are passed over.
 */
export async function stagePart(deps: StagePartDeps, part: PartState): Promise<void> {
  const { leased, source, staging } = deps;
  if (!part.listed.stable && part.segments.length > 0) await forgetPart(deps, part);
  const faults = createFaultFile(staging, leased.run.id, { seq: part.seq, key: part.listed.key });
  const waiting = (reason: string, waitMs: number): void =>
    showWait(leased, { reason, until: deps.clock.now() + waitMs });
  let read: PartRead = {};
  const wasRead = (all: PartRead): void => void (read = all);
  const leftOut: LeftOutFile[] = [];
  const foreign = foreignFiles(leased.run.options, (file, reason, records = 0) => {
    leftOut.push({ file, reason, ...(records > 0 && { records }) });
  });
  const chunks = source.open(part.listed, {
    signal: leased.signal,
    waiting,
    wasRead,
    holdsSnapshot: true,
    ...(foreign && { foreign }),
  });
  const feed = createLineFeed(chunks, faults.add);
  try {
    await passStaged(feed, part);
    await stageSegments(deps, part, feed, faults);
    await faults.finish();
    await writeLeftOut(staging, leased.run.id, part.seq, leftOut);
    part.complete = true;
    await leased.savePart(part.seq, { complete: true, faults: faults.count(), error: '', ...read });
    show(deps, part, feed, faults);
  } finally {
    await feed.close();
  }
}

async function passStaged(feed: LineFeed, { listed, segments }: PartState): Promise<void> {
  const staged = segments.reduce((sum, { records }) => sum + records, 0);
  if (await feed.skip(staged)) return;
  throw new RunFailedError(
    `expected at least ${staged} lines in ${listed.key} again, of which so many are staged, got fewer: the source gives ` +
      'something else under the same identity',
    { advice: 'startAgain' },
  );
}

async function stageSegments(deps: StagePartDeps, part: PartState, feed: LineFeed, faults: FaultFile): Promise<void> {
  const { leased, staging, quota, limits, failpoint, progress } = deps;
  for (;;) {
    const records = Math.min(limits.records, deps.left());
    if (records <= 0) return;
    await quota.wait(leased);
    const number = part.segments.length;
    const before = recordsIn(part.segments);
    let taken = 0;
    const key = stagingKeys.segment(leased.run.id, part.seq, number);
    const { segment, ended, broke } = await writeSegment(feed, { staging, key }, { ...limits, records }, (more) => {
      taken += more;
      progress.grew(more);
      const bytes = feed.bytesRead();
      progress.part(part.seq, { records: before + taken, faults: faults.count(), bytes, complete: false });
    });
    if (segment !== undefined) {
      failpoint('import_segment_written');
      leased.signal.throwIfAborted();
      const segments = [...part.segments, segment];
      await leased.savePart(part.seq, { segments });
      part.segments = segments;
      quota.wrote(segment.bytes);
      failpoint('import_segment_committed');
    }
    if (broke !== undefined) throw broke;
    if (ended) return;
  }
}

function show({ progress }: StagePartDeps, part: PartState, feed: LineFeed, faults: FaultFile): void {
  const bytes = Math.max(feed.bytesRead(), part.listed.bytes ?? 0);
  progress.part(part.seq, { records: recordsIn(part.segments), faults: faults.count(), bytes, complete: true });
}

const compress = promisify(zstdCompress);
const faultsPerFile = 2000;
const bytesPerFile = 4 * 1024 * 1024;

/** Pieces of one part that are no records, put aside in files of rejected records as they come. */
interface FaultFile {
  /** `linesBefore`: of the part, before the chunk that they came with. */
  add(faults: readonly SourceFault[], linesBefore: number): Promise<void>;
  /** Writes what is left, and removes what an earlier attempt wrote beyond. */
  finish(): Promise<void>;
  /** Those that come on top of the lines: a fault that a line holds the place of is counted as that line. */
  count(): number;
}

/** Numbered by the order of the faults, so that a part that is read again from its beginning replaces them. */
function createFaultFile(staging: Staging, runId: string, part: { seq: number; key: string }): FaultFile {
  const origin = `export-${String(part.seq).padStart(6, '0')}-`;
  let lines: string[] = [];
  let bytes = 0;
  let files = 0;
  let count = 0;
  const key = (file: number): string => stagingKeys.rejected(runId, `${origin}${String(file).padStart(6, '0')}`);
  const write = async (): Promise<void> => {
    if (lines.length === 0) return;
    await staging.write(key(files), [await compress(lines.join(''))]);
    files += 1;
    lines = [];
    bytes = 0;
  };
  return {
    async add(faults, linesBefore) {
      for (const fault of faults) {
        const line = `${JSON.stringify(rejectedOf(fault, part.key, linesBefore))}\n`;
        lines.push(line);
        bytes += line.length;
        if (fault.heldAt === undefined) count += 1;
        if (lines.length >= faultsPerFile || bytes >= bytesPerFile) await write();
      }
    },
    async finish() {
      await write();
      const prefix = `${runId}/rejected/${origin}`;
      for (const { key: found } of await staging.list(prefix)) if (found >= key(files)) await staging.remove(found);
    },
    count: () => count,
  };
}

function rejectedOf(
  { place, line = 0, heldAt, reason, original }: SourceFault,
  part: string,
  linesBefore: number,
): RejectedRecord {
  const where = heldAt === undefined ? { line, place } : { line: linesBefore + heldAt + 1, place, held: true as const };
  return { part, ...where, stage: 'export', code: 'not_a_record', reason, original };
}
