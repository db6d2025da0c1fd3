import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Sleep } from '../../../base/retry.ts';
import { recordsIn, RunFailedError, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import { SourceChangedError, type Source, type SourcePart } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import { createExportProgress, type ExportProgress } from './export-progress.ts';
import { createSourceRetry } from '../stage-retry.ts';
import { describeChange, findChanges, type SourceChange } from './source-changes.ts';
import { discardPart, partState, stagePart, type PartState, type StagePartDeps } from './stage-part.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { SegmentLimits } from './write-segment.ts';

export interface ExportDeps {
  readonly source: Source;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  readonly failpoint: Failpoint;
  /** Limits of one staged file; default 50,000 records, 32 MiB before compression. */
  readonly limits?: SegmentLimits;
  readonly random?: () => number;
}

const standardLimits: SegmentLimits = { records: 50_000, rawBytes: 32 * 1024 * 1024 };

/**
 * First stage: stages the source's parts, several concurrently. Parts of an earlier attempt stay unless the source reports other content
 * for them now. The stage ends when the source lists exactly what was read.
 */
export function createExportStage(deps: ExportDeps): RunStage {
  return async (leased) => {
    const progress = createExportProgress(leased, deps.clock);
    try {
      await readUntilSettled({
        ...deps,
        leased,
        progress,
        limits: deps.limits ?? standardLimits,
        rounds: createRounds(),
      });
    } finally {
      await deps.source.release?.();
    }
    progress.finish();
    await leased.flush();
  };
}

interface Exporting extends ExportDeps {
  readonly leased: LeasedRun;
  readonly progress: ExportProgress;
  readonly limits: SegmentLimits;
  readonly rounds: Rounds;
}

/** Reads, compares with what the source lists now, and reads the differences again. */
async function readUntilSettled(of: Exporting): Promise<void> {
  const { leased, rounds } = of;
  const { limit } = leased.run.options;
  for (;;) {
    const known = await leased.parts();
    const listed = await list(of, known);
    refuseVanished(listed, known);
    const changes = await changesOf(of, listed, known);
    const isSettled = known.every(({ complete }) => complete) && changes.every(({ kind }) => kind === 'touched');
    const isDone = isSettled && !rounds.isFirst();
    if (!isDone) rounds.begin(changes);
    await settleChanges(of, changes);
    if (isDone) return;
    if (limit === undefined) await stageAll(of, listed);
    else await stageSome(of, listed, limit);
  }
}

function list(of: Exporting, known: readonly StoredPart[]): Promise<readonly SourcePart[]> {
  const { source, leased, sleep } = of;
  const context = { signal: leased.signal, holdsSnapshot: true, known, ...(sleep === undefined ? {} : { sleep }) };
  return createSourceRetry(of)(() => source.listParts(leased.run.options.range, context));
}

async function changesOf(
  { source, leased, rounds }: Exporting,
  listed: readonly SourcePart[],
  known: readonly StoredPart[],
): Promise<SourceChange[]> {
  const changes = await findChanges({ source, context: { signal: leased.signal, holdsSnapshot: true } }, listed, known);
  if (rounds.isFirst()) return changes;
  // A trial reads records of the first parts only. And a source without identities of parts divides them by time: what it lists at
  // midnight is newer than the export.
  const isTrial = leased.run.options.limit !== undefined;
  return changes.filter(({ kind, listed: part }) => kind !== 'added' || (!isTrial && part.identity !== undefined));
}

/** Discards staged parts whose content differs now. */
async function settleChanges(of: Exporting, changes: readonly SourceChange[]): Promise<void> {
  const { leased, rounds } = of;
  for (const change of changes) {
    const { kind, listed, stored } = change;
    if (stored === undefined) continue;
    if (kind === 'touched') await leased.savePart(stored.seq, { identity: listed.identity, bytes: listed.bytes });
    else await discardPart(of, partState(listed, stored), `${describeChange(change)} while it was read`);
  }
  const reason = rounds.reason();
  if (reason !== undefined) leased.waiting({ reason });
}

/** Fails if the source no longer has a part that was begun; complete parts are kept. */
function refuseVanished(listed: readonly SourcePart[], known: readonly StoredPart[]): void {
  const keys = new Set(listed.map(({ key }) => key));
  const gone = known.find((part) => !part.complete && !keys.has(part.key));
  if (gone === undefined) return;
  throw new RunFailedError(
    `expected ${gone.key}, which is not completely read, to be still at the source, got a list without it; ` +
      'put it back',
    { advice: 'resumeOrStartAgain' },
  );
}

async function stageAll(of: Exporting, listed: readonly SourcePart[]): Promise<void> {
  const stored = await of.leased.addParts(listed);
  of.progress.expect(stored, stored.length);
  const queue = openParts(listed, stored)
    .filter((part) => !part.complete)
    .values();
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
      // The first error stops the others.
      failed.abort(error);
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(workers);
  of.leased.signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Stages parts of a trial, one after the other and only as many as it needs; the others are not stored. */
async function stageSome(of: Exporting, listed: readonly SourcePart[], limit: number): Promise<void> {
  const known = await of.leased.parts();
  const begun = new Set(known.filter((part) => !part.complete).map(({ key }) => key));
  let staged = known.reduce((sum, part) => sum + recordsIn(part.segments), 0);
  for (const each of listed) {
    if (staged >= limit && !begun.has(each.key)) break;
    const stored = await of.leased.addParts([each]);
    of.progress.expect(stored, undefined);
    const [part] = openParts([each], stored);
    if (part === undefined || part.complete) continue;
    const before = staged - recordsIn(part.segments);
    await stageWithRetry({ ...of, left: () => limit - before - recordsIn(part.segments) }, part);
    staged = before + recordsIn(part.segments);
  }
}

/** Returns the listed parts in their stored state. */
function openParts(listed: readonly SourcePart[], stored: readonly StoredPart[]): PartState[] {
  const byKey = new Map(stored.map((part) => [part.key, part]));
  return listed.flatMap((each) => {
    const known = byKey.get(each.key);
    // A part that is listed twice is one part.
    return known === undefined || !byKey.delete(each.key) ? [] : [partState(each, known)];
  });
}

/** Resolves also if the part has changed: the next round finds nothing of it staged. */
async function stageWithRetry(of: StagePartDeps & Exporting, part: PartState): Promise<void> {
  let segments = part.segments.length;
  const grew = (): boolean => {
    const more = part.listed.stable && part.segments.length > segments;
    segments = part.segments.length;
    return more;
  };
  try {
    await createSourceRetry(of, grew)(() => stagePart(of, part));
  } catch (error) {
    if (!(error instanceof SourceChangedError)) throw error;
    await discardPart(of, part, error.message);
    of.rounds.changed(part.listed.key, error.message);
  }
}

/** Counts rounds of reading and their reasons; fails for a source that does not settle. */
interface Rounds {
  isFirst(): boolean;
  /** @throws RunFailedError if one part changed too often, or the source does not settle */
  begin(changes: readonly SourceChange[]): void;
  /** Records that a part changed while it was read. */
  changed(key: string, reason: string): void;
  /** Returns why this round is needed; `undefined` for the first. */
  reason(): string | undefined;
}

/** Maximum number of times that a part is read again. */
const againMax = 3;
/** Maximum number of rounds: a source that grows constantly cannot be read completely. */
const roundsMax = 20;

function createRounds(): Rounds {
  const again = new Map<string, number>();
  let rounds = 0;
  let reasons: string[] = [];
  let reason: string | undefined;
  const changed = (key: string, why: string): void => {
    again.set(key, (again.get(key) ?? 0) + 1);
    reasons.push(why);
  };
  return {
    isFirst: () => rounds === 0,
    changed,
    begin(changes) {
      if (rounds > 0) {
        for (const change of changes) {
          if (change.kind === 'changed') changed(change.listed.key, describeChange(change));
          else if (change.kind === 'added') reasons.push(describeChange(change));
        }
        const [first] = reasons;
        if (Math.max(0, ...again.values()) > againMax || rounds >= roundsMax) throw unsettled(first ?? 'it changed');
        const more = reasons.length > 1 ? ` and ${reasons.length - 1} more` : '';
        reason = `${first ?? 'something'}${more} while the source was read; reading that again`;
      }
      rounds += 1;
      reasons = [];
    },
    reason: () => reason,
  };
}

function unsettled(what: string): RunFailedError {
  return new RunFailedError(
    `expected the source to stay unchanged while it is read, but ${what}, repeatedly: wait until nothing writes there, or ` +
      'import a copy of it, or only finished files',
    { advice: 'resume' },
  );
}
