import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import type { Sleep } from '../../../base/retry.ts';
import { recordsIn, RunFailedError, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import { SourceChangedError, type Source, type SourcePart } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import { createExportProgress, type ExportProgress } from './export-progress.ts';
import { createSourceRetry } from '../stage-retry.ts';
import { describeChange, findChanges, type SourceChange } from './source-changes.ts';
import { forgetPart, partState, stagePart, type PartState, type StagePartDeps } from './stage-part.ts';
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
 * the source says that the part has another content now. It ends when the source lists what was read and nothing else.
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

/** Reads, looks whether that is what is there now, and reads again what is not. */
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
  // A trial takes its records from the first parts. And a source that cannot tell a part's content cuts by time: what it
  // lists at midnight is later than the export.
  const isTrial = leased.run.options.limit !== undefined;
  return changes.filter(({ kind, listed: part }) => kind !== 'added' || (!isTrial && part.identity !== undefined));
}

/** Of parts that have another content now nothing counts any more. */
async function settleChanges(of: Exporting, changes: readonly SourceChange[]): Promise<void> {
  const { leased, rounds } = of;
  for (const change of changes) {
    const { kind, listed, stored } = change;
    if (stored === undefined) continue;
    if (kind === 'touched') await leased.savePart(stored.seq, { identity: listed.identity, bytes: listed.bytes });
    else await forgetPart(of, partState(listed, stored), `${describeChange(change)} while it was read`);
  }
  const reason = rounds.reason();
  if (reason !== undefined) leased.waiting({ reason });
}

/** What was begun cannot be finished when the source does not have it any more; what is complete is kept. */
function refuseVanished(listed: readonly SourcePart[], known: readonly StoredPart[]): void {
  const keys = new Set(listed.map(({ key }) => key));
  const gone = known.find((part) => !part.complete && !keys.has(part.key));
  if (gone === undefined) return;
  throw new RunFailedError(
    `expected ${gone.key}, which is not read to its end, to be at the source still, got a list without it; ` +
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

/** The listed parts as they are stored. */
function openParts(listed: readonly SourcePart[], stored: readonly StoredPart[]): PartState[] {
  const byKey = new Map(stored.map((part) => [part.key, part]));
  return listed.flatMap((each) => {
    const known = byKey.get(each.key);
    // Listed twice: one part.
    return known === undefined || !byKey.delete(each.key) ? [] : [partState(each, known)];
  });
}

/** Resolves also where the part has changed: the next round finds nothing of it staged. */
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
    await forgetPart(of, part, error.message);
    of.rounds.changed(part.listed.key, error.message);
  }
}

/** How often the export has begun to read, and why again; gives up on a source that does not settle. */
interface Rounds {
  isFirst(): boolean;
  /** @throws RunFailedError when one part has changed too often, or the source does not settle */
  begin(changes: readonly SourceChange[]): void;
  /** A part was found changed while it was read. */
  changed(key: string, reason: string): void;
  /** Why this round is needed; undefined: it is the first. */
  reason(): string | undefined;
}

/** A part is read anew so often. */
const againMax = 3;
/** A source that is added to all the time is never read to its end. */
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
        if (Math.max(0, ...again.values()) > againMax || rounds >= roundsMax) throw givenUp(first ?? 'it changed');
        const more = reasons.length > 1 ? ` and ${reasons.length - 1} more` : '';
        reason = `${first ?? 'something'}${more} while the source was read; reading that again`;
      }
      rounds += 1;
      reasons = [];
    },
    reason: () => reason,
  };
}

function givenUp(what: string): RunFailedError {
  return new RunFailedError(
    `expected the source to stay as it is while it is read, but ${what}, again and again: wait until nothing writes there, or ` +
      'import a copy of it, or only what is finished',
    { advice: 'resume' },
  );
}
