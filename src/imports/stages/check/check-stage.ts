import { readTables, tableOf, tablesBytesMax } from './read-tables.ts';
import { recordsIn, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import { readSkippedFiles } from '../export/skipped-files.ts';
import { createTargetRetry } from '../stage-retry.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { CheckResult } from '../../run/results.ts';
import type { Run, RunTotals } from '../../run/run.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { TargetUnreadableError } from '../../target.ts';
import { createCheckProgress } from './check-progress.ts';
import { runsToReplace } from './assert-check-passed.ts';
import { countsDiffer } from './check-failure.ts';
import { checkResult } from './check-result.ts';
import { checkSideBySide, hasBegun, lackFiles, type Checking } from './threads/check-in-parallel.ts';
import { addFaults, readHeldLines } from './add-faults.ts';
import { addFindings, createSum, type Sum } from './tally/findings.ts';
import { addNoteCounts } from './tally/note-tally.ts';
import { openReader } from './open-reader.ts';
import { createRepeatedLinks, type RepeatedLinks } from './links/repeated-links.ts';
import { createDeferredSettled } from './links/deferred-events.ts';
import { readFindings } from './tally/findings-file.ts';
import { handOverOf } from './threads/handover-file.ts';
import { createRunRows, type RunRows } from './rows/run-rows.ts';
import { createSegmentRows, type DaySum } from './rows/segment-rows.ts';
import { settleDays, type WrittenRows } from './settle-days.ts';
import { openCheckWorkers, type CheckWorkers, type WorkersOptions } from './threads/check-workers.ts';
import { createSharedDevices } from './tally/shared-devices.ts';
import { runTransform } from './segment/run-transform.ts';
import { noStoredEvents, readStoredEvents, type StoredEvents } from './links/stored-events.ts';
import { planOfCheck } from './plan/plan-text.ts';
import { readyOf, type CheckDeps, type Ready } from './check-deps.ts';

/**
 * Creates the stage `check`: converts staged records to events, validates them as ingest does, writes them into the table of the run and
 * counts them there by day without duplicates. Sends nothing. Always writes a result to staging; the load decides by its verdict
 * (assertCheckPassed). Throws RunFailedError if format, options or staged files are invalid.
 */
export function createCheckStage(deps: CheckDeps): RunStage {
  const ready = readyOf(deps);
  return async (leased) => {
    const { format } = openReader(leased.run);
    if (await isDone(ready, leased)) return;
    const texts = await readTables(ready, leased);
    // The threads hold the rows.
    const tables = texts.map(tableOf).map(({ column, repeated }) => ({ column, repeated, isMatched: false }));
    const transform = await runTransform(ready, leased.run);
    const { run } = leased;
    const retry = createTargetRetry({ leased, clock: ready.clock });
    const rows = createRunRows({ projectId: run.projectId, runId: run.id }, { ...ready, retry });
    const parts = await partsOf(ready, leased, rows);
    const plan = await planOfCheck(ready.staging, run.id, ready.trackingPlan);
    // Not that of an earlier attempt: an erasure in between may have added ids.
    const keptOut = await ready.keptOut?.();
    await rows.create();
    const wantsFacts = run.options.target.kind === 'project';
    const progress = createCheckProgress(leased, ready.clock, sizeOf(parts));
    const held = await readHeldLines(ready.staging, run.id);
    const devices = createSharedDevices();
    const links = createRepeatedLinks();
    const checking = { deps: ready, leased, parts, progress, held, devices, links, rows, wantsFacts };
    await using workers = openWorkers(checking, { tables: texts, transform, plan, keptOut });
    const memories = await checkSideBySide({ ...checking, tables, workers });
    const sum = createSum();
    const sums = await readAll(ready.staging, run.id, parts, sum);
    links.addTo(sum, ready.clock.now());
    memories.addTo(sum);
    const faults = await addFaults(ready.staging, run.id, parts, sum.errors);
    if (sum.counts.identifies + sum.counts.groupIdentifies > 0) await ready.waitToDecide(leased);
    const replaced = await replacedRuns(ready, leased, parts);
    const stored = await storedEvents(ready, leased, sum, replaced);
    const deferred = await insertDeferred(checking, stored);
    const { failpoint } = ready;
    const settling = { rows, failpoint, onDays: progress.day };
    const written = { sums: [...sums, ...deferred.sums], elsewhere: deferred.elsewhere };
    const { repeated, changed } = await settleDays(settling, leased, written);
    const days = await leased.days();
    assertAgree(sum, parts, days);
    const result = checkResult({
      sum,
      days,
      devices,
      faults,
      repeated,
      changed,
      options: { ...leased.run.options, ...alreadyReplaced(leased.run) },
      words: ready.words,
      times: format.times,
      tables,
      sameRecords: (await ready.earlier?.sameRecords({ run: leased.run, parts, days })) ?? [],
      afterReplacing: leased.run.totals.replaced && Object.keys(leased.run.totals.replaced),
      replaces: replaced.length === 0 ? [] : ((await ready.planReplace?.(replaced)) ?? []),
      plan,
      leftOut: await readSkippedFiles(ready.staging, leased.run.id),
      knownEvents: await ready.project?.knownEvents(),
    });
    await writeResult(ready.staging, leased, result);
    ready.failpoint('import_check_written');
    await removeChecked(ready.staging, leased.run.id);
    progress.finish(result);
    await leased.flush();
  };
}

/** Opens the requested number of threads, limited by the size of the run and the memory for tables. */
function openWorkers(
  { deps, leased: { run, signal }, parts, wantsFacts }: Checking,
  { tables, transform, plan, keptOut }: Pick<WorkersOptions, 'tables' | 'transform' | 'plan' | 'keptOut'>,
): CheckWorkers {
  const { threads, eventBytesMax, limits } = deps;
  const { format, formatOptions, names, choice } = run.options;
  const options = { format, formatOptions, ...(names !== undefined && { names }), ...(choice && { choice }) };
  const { threadBytesMin, progressMs } = limits;
  const bySize = Math.ceil(sizeOf(parts).bytes / threadBytesMin);
  const byMemory = Math.floor(tablesBytesMax / tables.reduce((sum, { text }) => sum + text.length, 1));
  const { id: runId, projectId, createdAt } = run;
  const setup = { runId, projectId, wantsFacts, reader: { options, createdAt }, eventBytesMax, progressMs };
  return openCheckWorkers(
    { setup, tables, transform, plan, keptOut, signal },
    Math.max(1, Math.min(threads, bySize, byMemory)),
  );
}

async function partsOf({ staging }: Ready, leased: LeasedRun, rows: RunRows): Promise<readonly StoredPart[]> {
  const parts = await leased.parts();
  if (hasBegun(parts) && !(await lackFiles(staging, leased.run, parts)) && (await rows.exists())) return parts;
  await startAgain(staging, leased, parts, rows);
  return await leased.parts();
}

/** Returns the runs whose events will be gone when this run loads. */
async function replacedRuns(
  { earlier }: Ready,
  { run }: LeasedRun,
  parts: readonly StoredPart[],
): Promise<readonly string[]> {
  if (run.options.replace === undefined) return [];
  const same = (await earlier?.sameRecords({ run, parts, days: [] })) ?? [];
  return runsToReplace({ ...run.options, ...alreadyReplaced(run) }, same);
}

function alreadyReplaced({ totals: { replaced } }: Run): Pick<RunTotals, 'replaced'> {
  return replaced === undefined ? {} : { replaced };
}

/** Reads events that the target already has. A target that cannot be read does not prevent the load. */
async function storedEvents(
  { reader, clock }: Ready,
  leased: LeasedRun,
  { counts }: Sum,
  without: readonly string[],
): Promise<StoredEvents> {
  if (reader === undefined) return noStoredEvents;
  const retry = createTargetRetry({ leased, clock });
  try {
    return await retry(() => readStoredEvents(counts, (event) => reader.eventsNamed(event, leased.signal, without)));
  } catch (error) {
    if (error instanceof TargetUnreadableError) return noStoredEvents;
    throw error;
  }
}

/**
 * Returns true if the check is complete: the run was interrupted between stages. A result with unchecked segments is left from an
 * interrupted discard, which is completed here; the result is removed last.
 */
async function isDone({ staging, clock }: Ready, leased: LeasedRun): Promise<boolean> {
  const { id } = leased.run;
  const key = stagingKeys.check(id);
  const found = await staging.list(key);
  if (!found.some((each) => each.key === key)) return false;
  const parts = await leased.parts();
  if (parts.every((part) => part.checked === part.segments.length)) {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    const result = JSON.parse(Buffer.concat(chunks).toString()) as CheckResult;
    const progress = createCheckProgress(leased, clock, sizeOf(parts));
    for (const segment of parts.flatMap(({ segments }) => segments)) progress.segment(segment);
    for (const _ of parts) progress.part();
    await removeChecked(staging, id);
    progress.finish(result);
    await leased.flush();
    return true;
  }
  await discardCheck(staging, leased);
  return false;
}

/** Discards the result, so that the next check begins with the first record. Safe to repeat: the result is removed last. */
export async function discardCheck(staging: Staging, leased: LeasedRun): Promise<void> {
  await forget(staging, leased, await leased.parts());
  await staging.remove(stagingKeys.check(leased.run.id));
}

/** Discards the progress of the check and the table of the run. */
async function startAgain(
  staging: Staging,
  leased: LeasedRun,
  parts: readonly StoredPart[],
  rows: RunRows,
): Promise<void> {
  await forget(staging, leased, parts);
  await rows.drop();
}

async function forget(staging: Staging, leased: LeasedRun, parts: readonly StoredPart[]): Promise<void> {
  for (const part of parts) await leased.savePart(part.seq, { checked: 0, checkState: '' });
  await leased.resetDays('days');
  for (const prefix of ['checked/', 'rejected/check-']) await staging.remove(`${leased.run.id}/${prefix}`);
}

/** Removes the files of checked segments, which are not needed once days and result are stored. */
async function removeChecked(staging: Staging, run: string): Promise<void> {
  await staging.remove(`${run}/checked/`);
}

/** Compares what the export and the table of the run counted with what the segments counted. */
function assertAgree({ counts }: Sum, parts: readonly StoredPart[], days: readonly StoredDay[]): void {
  const staged = sizeOf(parts).records;
  const merged = days.reduce((all, day) => all + day.events + day.duplicates, 0);
  const differences = [
    ...(staged === counts.records ? [] : [`records: ${staged} staged, ${counts.records} read`]),
    ...(merged === counts.events ? [] : [`events: ${counts.events} converted, ${merged} written`]),
  ];
  if (differences.length > 0) throw countsDiffer('the run', differences);
}

function sizeOf(parts: readonly StoredPart[]): { parts: number; records: number; bytes: number } {
  const size = { parts: parts.length, records: 0, bytes: 0 };
  for (const { segments } of parts) {
    size.records += recordsIn(segments);
    for (const { rawBytes } of segments) size.bytes += rawBytes;
  }
  return size;
}

/** Adds the findings of all segments to `sum` and returns the sums of their rows. */
async function readAll(
  staging: Staging,
  run: string,
  parts: readonly StoredPart[],
  sum: Sum,
): Promise<readonly DaySum[]> {
  const all: DaySum[] = [];
  for (const { seq, segments } of parts) {
    for (const [index, { notes = {} }] of segments.entries()) {
      addNoteCounts(sum.notes, notes);
      const { sums, findings } = await readFindings(staging, run, { seq, index });
      addFindings(sum, findings);
      all.push(...sums);
    }
  }
  return all;
}

/** Inserts the rows of events whose storage depends on the whole run or on the target. */
async function insertDeferred(
  { deps, leased, parts, links, rows, wantsFacts }: Checking & { readonly links: RepeatedLinks },
  stored: StoredEvents,
): Promise<WrittenRows> {
  const { staging, limits, failpoint } = deps;
  const { id: runId, projectId } = leased.run;
  const settled = createDeferredSettled(runId, links, stored);
  const own = createSegmentRows({ projectId, runId, wantsFacts });
  const sums: DaySum[] = [];
  let batch = 0;
  const insert = async (): Promise<void> => {
    leased.signal.throwIfAborted();
    const found = own.take(settled.names);
    await rows.insert(`deferred-${(batch += 1)}`, found, hasBegun(parts));
    sums.push(...found.sums);
    failpoint('import_deferred_written');
  };
  let segment = 0;
  for (const part of parts) {
    for (const index of part.segments.keys()) {
      settled.add(segment, (await handOverOf(staging, runId, { part, index })).deferred, own);
      if (own.count >= limits.deferredRows) await insert();
      segment += 1;
    }
  }
  if (own.count > 0) await insert();
  return { sums, elsewhere: settled.elsewhere };
}

async function writeResult(staging: Staging, leased: LeasedRun, result: CheckResult): Promise<void> {
  leased.signal.throwIfAborted();
  await staging.write(stagingKeys.check(leased.run.id), [Buffer.from(JSON.stringify(result))]);
}
