import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { foreignFiles } from '../../run/foreign-files.ts';
import type { LeftOutFile } from '../../run/results.ts';
import { recordsIn, RunFailedError, type LeasedRun, type Segment, type StoredPart } from '../../run/leased-run.ts';
import type { PartRead, Source, SourcePart, SourceFault } from '../../source.ts';
import { stagingKeys, type Staging, type RejectedRecord } from '../../staging.ts';
import type { ExportProgress } from './export-progress.ts';
import { writeSkippedFiles } from './skipped-files.ts';
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
  /** Remaining records; Infinity means no limit. */
  readonly left: () => number;
}

/** The progress of one part, kept between attempts. */
export interface PartState {
  readonly seq: number;
  readonly listed: SourcePart;
  segments: readonly Segment[];
  complete: boolean;
}

export function partState(listed: SourcePart, stored: StoredPart): PartState {
  return { seq: stored.seq, listed, segments: stored.segments, complete: stored.complete };
}

/** Discards what is staged of the part. `why` is stored until the part is staged again. */
export async function discardPart(
  { leased, staging }: Pick<StagePartDeps, 'leased' | 'staging'>,
  part: PartState,
  why = '',
): Promise<void> {
  const { identity, bytes } = part.listed;
  const empty = { segments: [], complete: false, faults: 0, checked: 0, checkState: '', checksum: undefined };
  await leased.savePart(part.seq, { ...empty, identity, bytes, error: why });
  part.segments = [];
  part.complete = false;
  const first = stagingKeys.segment(leased.run.id, part.seq, 0);
  await staging.remove(first.slice(0, first.lastIndexOf('/') + 1));
  await staging.remove(stagingKeys.leftOut(leased.run.id, part.seq));
}

/**
 * Stages the rest of a part; called again after a SourceWaitError. A part that is not stable starts from scratch each time; for others
 * the staged lines are skipped.
 */
export async function stagePart(deps: StagePartDeps, part: PartState): Promise<void> {
  const { leased, source, staging } = deps;
  if (!part.listed.stable && part.segments.length > 0) await discardPart(deps, part);
  const faults = createFaultFile(staging, leased.run.id, { seq: part.seq, key: part.listed.key });
  const waiting = (reason: string, waitMs: number): void =>
    showWait(leased, { reason, until: deps.clock.now() + waitMs });
  let read: PartRead = {};
  const wasRead = (all: PartRead): void => void (read = all);
  const skipped: LeftOutFile[] = [];
  const foreign = foreignFiles(leased.run.options, (file, reason, records = 0) => {
    skipped.push({ file, reason, ...(records > 0 && { records }) });
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
    await skipStaged(feed, part);
    await stageSegments(deps, part, feed, faults);
    await faults.finish();
    await writeSkippedFiles(staging, leased.run.id, part.seq, skipped);
    part.complete = true;
    await leased.savePart(part.seq, { complete: true, faults: faults.count(), error: '', ...read });
    show(deps, part, feed, faults);
  } finally {
    await feed.close();
  }
}

async function skipStaged(feed: LineFeed, { listed, segments }: PartState): Promise<void> {
  const staged = segments.reduce((sum, { records }) => sum + records, 0);
  if (await feed.skip(staged)) return;
  throw new RunFailedError(
    `expected at least ${staged} lines in ${listed.key} again, which are staged, got fewer: the source returns ` +
      'other content under the same identity',
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

/** Writes pieces of one part that are not records into files of rejected records. */
interface FaultFile {
  /** `linesBefore` counts lines of the part before the faults' chunk. */
  add(faults: readonly SourceFault[], linesBefore: number): Promise<void>;
  /** Writes pending faults, and removes further files of an earlier attempt. */
  finish(): Promise<void>;
  /** Counts faults in addition to the lines: a fault whose place a line holds counts as that line. */
  count(): number;
}

/** Numbers files by the order of faults, so that a part that is read again from its beginning replaces them. */
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
