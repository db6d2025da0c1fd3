import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Sleep } from '../../../base/retry.ts';
import { RunFailedError, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import type { Source, SourcePart } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import { createExportProgress, type ExportProgress } from './export-progress.ts';
import { createSourceRetry } from '../stage-retry.ts';
import { forgetPart, partState, recordsOf, stagePart, type PartState, type StagePartDeps } from './stage-part.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { SegmentLimits } from './write-segment.ts';

export interface ExportDeps {
  readonly source: Source;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  readonly failpoint: Failpoint;
  /** Of one staged file; default 50,000 records, 32 MiB before compression. */
  readonly limits?: SegmentLimits;
  readonly random?: () => number;
}

const standardLimits: SegmentLimits = { records: 50_000, rawBytes: 32 * 1024 * 1024 };

/**
 * First stage: brings the source's parts into staging, several at once. What is there from an earlier attempt stays, unless
 * the source says that the part has another content now.
 */
export function createExportStage(deps: ExportDeps): RunStage {
  return async (leased) => {
    const { run } = leased;
    const progress = createExportProgress(leased, deps.clock);
    const listed = await createSourceRetry({ ...deps, leased })(() =>
      deps.source.listParts(run.options.range, { signal: leased.signal }),
    );
    const known = await leased.parts();
    const staged = { ...deps, leased, progress, limits: deps.limits ?? standardLimits };
    refuseVanished(listed, known);
    if (run.options.limit === undefined) await stageAll(staged, listed);
    else await stageSome(staged, listed, run.options.limit);
    progress.finish();
    await leased.flush();
  };
}

interface Exporting extends ExportDeps {
  readonly leased: LeasedRun;
  readonly progress: ExportProgress;
  readonly limits: SegmentLimits;
}

/** What was begun cannot be finished when the source does not have it any more; what is complete is kept. */
function refuseVanished(listed: readonly SourcePart[], known: readonly StoredPart[]): void {
  const keys = new Set(listed.map(({ key }) => key));
  const gone = known.find((part) => !part.complete && part.segments.length > 0 && !keys.has(part.key));
  if (gone === undefined) return;
  throw new RunFailedError(
    `expected ${gone.key}, which is staged in part, to be at the source still, got a list without it; ` +
      'put it back and resume, or cancel this run and start a new one',
  );
}

async function stageAll(of: Exporting, listed: readonly SourcePart[]): Promise<void> {
  const stored = await of.leased.addParts(listed);
  of.progress.expect(stored, stored.length);
  const parts = await openParts(of, listed, stored);
  const queue = parts.filter((part) => !part.complete).values();
  const failed = new AbortController();
  const signal = AbortSignal.any([of.leased.signal, failed.signal]);
  const leased: LeasedRun = { ...of.leased, signal };
  const work = async (): Promise<void> => {
    for (const part of queue) {
      signal.throwIfAborted();
      await stageWithRetry({ ...of, leased, left: () => Infinity }, part);
    }
  };
  const workers = Array.from({ length: Math.max(1, of.source.concurrency) }, () =>
    work().catch((error: unknown) => {
      // The others stop too; who failed first tells why.
      failed.abort(error);
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(workers);
  of.leased.signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** A trial: one part after the other, only as many as it needs; the others are not even noted down. */
async function stageSome(of: Exporting, listed: readonly SourcePart[], limit: number): Promise<void> {
  const known = await of.leased.parts();
  const begun = new Set(known.filter((part) => !part.complete).map(({ key }) => key));
  let staged = known.reduce((sum, part) => sum + recordsOf(part.segments), 0);
  for (const each of listed) {
    if (staged >= limit && !begun.has(each.key)) break;
    const stored = await of.leased.addParts([each]);
    of.progress.expect(stored, undefined);
    const [part] = await openParts(of, [each], stored);
    if (part === undefined || part.complete) continue;
    const before = staged - recordsOf(part.segments);
    await stageWithRetry({ ...of, left: () => limit - before - recordsOf(part.segments) }, part);
    staged = before + recordsOf(part.segments);
  }
}

/** The listed parts as they are stored; of those that have another content now nothing counts any more. */
async function openParts(
  of: Exporting,
  listed: readonly SourcePart[],
  stored: readonly StoredPart[],
): Promise<PartState[]> {
  const byKey = new Map(stored.map((part) => [part.key, part]));
  const parts: PartState[] = [];
  for (const each of listed) {
    const known = byKey.get(each.key);
    // Listed twice: one part.
    if (known === undefined || !byKey.delete(each.key)) continue;
    const part = partState(each, known);
    const { identity } = each;
    if (identity !== undefined && known.identity !== identity) {
      if (known.identity !== undefined) await forgetPart(of, part);
      else await of.leased.savePart(known.seq, { identity });
    }
    parts.push(part);
  }
  return parts;
}

function stageWithRetry(of: StagePartDeps & Exporting, part: PartState): Promise<void> {
  let segments = part.segments.length;
  const grew = (): boolean => {
    const more = part.listed.stable && part.segments.length > segments;
    segments = part.segments.length;
    return more;
  };
  return createSourceRetry(of, grew)(() => stagePart(of, part));
}
