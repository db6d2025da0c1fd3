import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { sleep, type Retry, type Sleep } from '../../../base/retry.ts';
import type { RunRef } from '../../../stores/events/eventstore.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { AdviceWords } from '../../run/advice-words.ts';
import type { LeasedRun, RunStage } from '../../run/leased-run.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { assertRunTable } from '../load/read-table.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { createRate } from '../rate.ts';
import type { VerifyCell, VerifyResult, StoredBy } from '../../run/results.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import {
  TargetUnreadableError,
  type ExpiredBefore,
  type StoredCount,
  type Target,
  type TargetReader,
} from '../../target.ts';
import { compareDay, type FoundOnDay } from './compare-day.ts';
import { createTableComparer, type TableComparer } from './compare-with-table.ts';
import { createCountsReader, type CountsReader } from './counts-reader.ts';
import { createDifferences, type Differences } from './differences.ts';
import { withoutExpired } from './without-expired.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import {
  differingEvents,
  expectedContents,
  expectedCounts,
  expectedKey,
  haveContents,
  haveSameIdentities,
  refusedAtLoad,
} from './expected.ts';
import { unreadableResult, verifyResult, type ActiveTransformations, type VerifiedDay } from './verify-result.ts';

export interface VerifyDeps {
  readonly target: Target;
  readonly staging: Staging;
  /** Has the run's table, whatever the target is. */
  readonly runStore: RunStore;
  readonly clock: Clock;
  readonly sleep?: Sleep;
  /** Names transformations that change the target's events before they are stored, if known. */
  readonly activeTransformations?: (() => Promise<readonly string[]>) | undefined;
  /** Returns what is known here about these runs. */
  readonly knownRuns?: EarlierRuns['known'] | undefined;
  /** The retention of the target's project, if it removes historical events and is known. */
  readonly expiredBefore?: (() => Promise<ExpiredBefore | undefined>) | undefined;
  readonly random?: () => number;
  readonly failpoint?: Failpoint;
  /** Words of advice; default those of the API. */
  readonly words?: AdviceWords | undefined;
}

interface Verify extends VerifyDeps {
  readonly leased: LeasedRun;
  readonly reader: TargetReader;
  readonly retry: Retry;
  readonly sleep: Sleep;
  readonly failpoint: Failpoint;
  readonly transformations: ActiveTransformations;
  /** `undefined` if no event expires. */
  readonly retention: ExpiredBefore | undefined;
  readonly counts: CountsReader;
  /** `undefined` if the target is another store. */
  readonly comparer: TableComparer | undefined;
  /** Throws RunFailedError if the run's table is incomplete. */
  readonly assertTable: () => Promise<void>;
  /** When what the target shows last changed, ms since the epoch. */
  changedAt: number;
}

const differencesMax = 10_000;
/** Interval of reading again what lags behind. */
const pollMs = 2000;

/** Compares what the target stored with what was loaded, per day and event name, and event by event if they differ. */
export function createVerifyStage(deps: VerifyDeps): RunStage {
  return async (leased) => {
    const days = (await leased.days()).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const result = await verifyDays(deps, leased, days);
    await deps.staging.write(stagingKeys.verify(leased.run.id), [Buffer.from(JSON.stringify(result))]);
    deps.failpoint?.('import_verify_written');
    await leased.flush();
  };
}

async function verifyDays(deps: VerifyDeps, leased: LeasedRun, days: readonly StoredDay[]): Promise<VerifyResult> {
  const { target, clock } = deps;
  const { reader } = target;
  const expected = days.reduce((sum, day) => sum + day.accepted, 0);
  if (reader === undefined) return unreadableResult(target, expected, deps);
  const retry = createTargetRetry({ ...deps, leased });
  const progress = createProgress({ leased, clock }, days, expected);
  progress.show();
  try {
    await retry(() => target.settled(leased.signal));
    const transformations = await retry(() => activeTransformations(deps, reader, leased.signal));
    const retention = await retry(() => expiryOf(deps, reader, leased.signal));
    const failpoint = deps.failpoint ?? (() => {});
    const counts = createCountsReader({ reader, retry, signal: leased.signal }, days);
    const assertTable = tableAssertion({ runStore: deps.runStore, ref: refOf(leased), retry }, days);
    const comparer = openComparer({ ...deps, leased, reader, transformations, counts }, days);
    const found = { leased, reader, retry, failpoint, transformations, retention, counts, comparer, assertTable };
    const verify = { sleep, ...deps, ...found, changedAt: clock.now() };
    return await compareDays(verify, days, progress);
  } catch (error) {
    if (error instanceof TargetUnreadableError) return unreadableResult(target, expected, { why: error.message });
    throw error;
  }
}

async function expiryOf(
  { expiredBefore }: VerifyDeps,
  reader: TargetReader,
  signal: AbortSignal,
): Promise<ExpiredBefore | undefined> {
  return (await expiredBefore?.()) ?? (await reader.expiredBefore?.(signal));
}

/** Checks the table once, before its first use. */
function tableAssertion(source: Parameters<typeof assertRunTable>[0], days: readonly StoredDay[]): () => Promise<void> {
  let isWhole = false;
  return async () => {
    if (isWhole) return;
    await assertRunTable(source, days);
    isWhole = true;
  };
}

function openComparer(
  of: VerifyDeps & Pick<Verify, 'leased' | 'reader' | 'transformations' | 'counts'>,
  days: readonly StoredDay[],
): TableComparer | undefined {
  const { leased, reader, runStore: store, transformations, counts } = of;
  if (reader.sharesStore !== true) return undefined;
  const { signal } = leased;
  const mayBeTransformed = transformations.count > 0;
  return createTableComparer(
    { store, reader, run: refOf(leased), known: counts.known, mayBeTransformed, signal },
    days,
  );
}

async function compareDays(
  verify: Verify,
  days: readonly StoredDay[],
  progress: VerifyProgress,
): Promise<VerifyResult> {
  const { leased, failpoint, transformations } = verify;
  const differences = createDifferences(differencesMax);
  const verified: VerifiedDay[] = [];
  for (const day of days) {
    const done = await verifyDay(verify, day, differences);
    failpoint('import_verify_compared');
    // A day with more than a plain result is compared again after a crash, because the rest is not stored yet.
    if (!day.verified && isPlain(done)) {
      await leased.saveDay(day.day, { verified: true });
      failpoint('import_verify_committed');
    }
    verified.push(done);
    progress.add(done);
  }
  progress.finish();
  const result = verifyResult(verified, differences, transformations);
  return { ...result, stored_by: await storedBy(verified, verify.knownRuns) };
}

async function activeTransformations(
  deps: VerifyDeps,
  reader: TargetReader,
  signal: AbortSignal,
): Promise<ActiveTransformations> {
  const names = (await deps.activeTransformations?.()) ?? [];
  if (names.length > 0) return { count: names.length, names };
  return { count: (await reader.activeTransformations?.(signal)) ?? 0, names };
}

/** Returns whether the only result is that everything is stored. */
function isPlain({ cells, byOthers, transformed, expired, isWhole }: VerifiedDay): boolean {
  return cells.length === 0 && byOthers.size === 0 && transformed === 0 && expired === 0 && isWhole;
}

const plainDay = { byOthers: new Map<string, number>(), otherProperties: 0, transformed: 0, expired: 0, cells: [] };

async function verifyDay(verify: Verify, day: StoredDay, all: Differences): Promise<VerifiedDay> {
  const { leased, staging } = verify;
  const contents = expectedContents(day);
  const refused = day.rejected === 0 ? [] : await refusedAtLoad(staging, leased.run.id, day.day, contents);
  const expected = expectedCounts(day, refused);
  const total = sumOf(expected);
  if (day.verified) return { ...plainDay, expected: total, found: total, isWhole: true };
  const refusedKeys = new Set(refused.map(expectedKey));
  const { stored, compared, transformed, expired } = await settle(verify, { day, expected, refused: refusedKeys });
  const isWhole = haveContents(expected, stored);
  if (compared === undefined) {
    return { ...plainDay, ...expiredOf(total, expired), isWhole, transformed, cells: expired };
  }
  const { differences, found, agreeing } = compared;
  all.merge(differences);
  const cells = [...differences.events()].toSorted().map((event): VerifyCell => {
    const expectedCount = expected.get(event)?.count ?? 0;
    const stored = (found.counts.get(event) ?? 0) + differences.of(event, 'unexpected');
    return { day: day.day, event, expected: expectedCount, found: stored };
  });
  const { counts, ...others } = found;
  const { found: left, expired: gone } = expiredOf(agreeing + sum(counts.values()), expired);
  return { expected: total, found: left, ...others, expired: gone, isWhole, cells: [...cells, ...expired] };
}

/** Returns the counts of a day without what has expired, of `total` events that are as expected otherwise. */
function expiredOf(total: number, cells: readonly VerifyCell[]) {
  const expired = sum(cells.map((cell) => cell.expired ?? 0));
  return { expected: total, found: total - expired, expired };
}

interface DayToCompare {
  readonly day: StoredDay;
  readonly expected: ReadonlyMap<string, StoredCount>;
  readonly refused: ReadonlySet<string>;
}

/** Comparison of the names whose counts differ. */
interface ComparedDay {
  readonly found: FoundOnDay;
  readonly differences: Differences;
  /** Events of the other names. */
  readonly agreeing: number;
}

interface SettledDay {
  readonly stored: ReadonlyMap<string, StoredCount>;
  /** `undefined` if it was not necessary. */
  readonly compared: ComparedDay | undefined;
  /** Events of names of which only the contents differ, if transformations may have changed them. */
  readonly transformed: number;
  /** Names with events that the retention of the project has removed. */
  readonly expired: readonly VerifyCell[];
}

/**
 * Reads what the target shows of a day, and compares it event by event if counts differ. A target that may lag behind is read again until
 * nothing is missing, or nothing has changed for long: stored events, also those with the mark of another run, stay as they are.
 */
async function settle(verify: Verify, of: DayToCompare): Promise<SettledDay> {
  const { leased, clock, sleep, target, transformations } = verify;
  const { day } = of.day;
  const lagMs = target.lagMs ?? 0;
  let { stored, expired } = withoutExpired(of, await verify.counts.first(of.day), verify.retention);
  // Comparing event by event would be in vain while it changes.
  for (let isAtRest = true, isCompared = false; ;) {
    const differing = differingEvents(of.expected, stored);
    // Active transformations add labels to every event, so contents reveal nothing new.
    if (differing.length === 0 || (transformations.count > 0 && haveSameIdentities(of.expected, stored))) {
      const transformed = differing.reduce((all, event) => all + (stored.get(event)?.count ?? 0), 0);
      return { stored, compared: undefined, transformed, expired };
    }
    const restMs = verify.changedAt + lagMs - clock.now();
    if (restMs <= 0 || (isAtRest && !isCompared)) {
      const compared = await compareNames(verify, of, differing);
      isCompared = true;
      if (restMs <= 0 || !compared.differences.areMissing()) return { stored, compared, transformed: 0, expired };
    }
    const reason = `comparing ${day} again, because the target may not return everything yet`;
    leased.waiting({ reason, until: clock.now() + restMs });
    await sleep(Math.min(pollMs, restMs), leased.signal);
    const again = withoutExpired(of, await verify.counts.again(of.day), verify.retention);
    isAtRest = differingEvents(stored, again.stored).length === 0;
    if (isAtRest) continue;
    verify.changedAt = clock.now();
    isCompared = false;
    ({ stored, expired } = again);
  }
}

async function compareNames(
  { leased, runStore, reader, retry, transformations, comparer, assertTable }: Verify,
  { day, expected, refused }: DayToCompare,
  names: readonly string[],
): Promise<ComparedDay> {
  await assertTable();
  const differing = new Set(names);
  const agreeing = sumOf(new Map([...expected].filter(([event]) => !differing.has(event))));
  return await retry(async () => {
    const differences = createDifferences(differencesMax);
    if (comparer !== undefined && refused.size === 0) {
      return { found: await comparer.compare(day, differing, differences), differences, agreeing };
    }
    const found = await compareDay({
      store: runStore,
      reader,
      run: refOf(leased),
      day: day.day,
      events: names,
      expected: sumOf(expected) - agreeing,
      refused,
      mayBeTransformed: transformations.count > 0,
      differences,
      signal: leased.signal,
      contents: expectedContents(day),
    });
    return { found, differences, agreeing };
  });
}

function refOf({ run }: LeasedRun): RunRef {
  return { projectId: run.projectId, runId: run.id };
}

interface VerifyProgress {
  show(): void;
  add(day: VerifiedDay): void;
  finish(): void;
}

function createProgress(
  { leased, clock }: Pick<Verify, 'leased' | 'clock'>,
  days: readonly StoredDay[],
  total: number,
): VerifyProgress {
  const startedAt = leased.run.progress.verify?.startedAt ?? clock.now();
  const bytesTotal = days.reduce((all, day) => all + day.bytes, 0);
  const rate = createRate(clock);
  let partsDone = 0;
  let done = 0;
  let found = 0;
  let before = 0;
  let bytes = 0;
  let lastProgressAt: number | undefined;
  const show = (finishedAt?: number): void =>
    leased.progress(
      {
        stage: 'verify',
        partsDone,
        partsTotal: days.length,
        done,
        total,
        bytes,
        bytesTotal,
        startedAt,
        rate: rate.perSecond(),
        ...(lastProgressAt === undefined ? {} : { lastProgressAt }),
        ...(finishedAt === undefined ? {} : { finishedAt }),
      },
      { verified: found, stored_before: before },
    );
  return {
    show: () => show(),
    finish: () => show(clock.now()),
    add: (day) => {
      bytes += days[partsDone]?.bytes ?? 0;
      partsDone += 1;
      done += day.expected;
      found += day.found;
      before += sum(day.byOthers.values());
      lastProgressAt = clock.now();
      rate.add(day.expected);
      show();
    },
  };
}

function sumOf(counts: ReadonlyMap<string, StoredCount>): number {
  return sum([...counts.values()].map(({ count }) => count));
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

const runsMax = 200;

/** Returns where earlier copies of the run's events came from, most events first. */
export async function storedBy(
  days: readonly Pick<VerifiedDay, 'byOthers'>[],
  knownRuns: EarlierRuns['known'] = async () => [],
): Promise<readonly StoredBy[]> {
  const counts = new Map<string, number>();
  for (const { byOthers } of days) {
    for (const [run, count] of byOthers) counts.set(run, (counts.get(run) ?? 0) + count);
  }
  const most = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, runsMax);
  const known = await knownRuns(most.map(([run]) => run).filter((run) => run !== ''));
  return most.map(([run, events]): StoredBy => {
    const { source = null, created_at = null } = known.find(({ id }) => id === run) ?? {};
    return { run: run === '' ? null : run, source, created_at, events };
  });
}
