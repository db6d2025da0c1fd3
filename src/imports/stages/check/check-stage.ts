import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { readTables, type TableDeps } from './read-tables.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import { recordsIn, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import { readLeftOut } from '../export/left-out-files.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { readSegment as standardReadSegment, type ReadSegment } from './read-segment.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { CheckResult, RunToReplace } from '../../run/results.ts';
import type { Run, RunTotals } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { TargetUnreadableError, type TargetReader } from '../../target.ts';
import { createCheckProgress } from './check-progress.ts';
import { runsToReplace } from './assert-check-passed.ts';
import { countsDiffer } from './check-failure.ts';
import { checkResult } from './check-result.ts';
import { checkInOrder } from './check-in-order.ts';
import { checkSideBySide, lackFiles } from './check-side-by-side.ts';
import { addFaults, readHeldLines } from './add-faults.ts';
import { addFindings, createSum, type Sum } from './findings.ts';
import { addNoteCounts } from './note-tally.ts';
import { openReader } from './open-reader.ts';
import { createRepeatedLinks } from './repeated-links.ts';
import type { DayRun } from './merge-runs.ts';
import type { DayLimits } from './merge-day.ts';
import { prepareDays, type SpilledDays } from './prepare-days.ts';
import { openCheckWorkers, type CheckWorkers } from './check-workers.ts';
import { createSharedDevices } from './shared-devices.ts';
import { runTransform, type OpenRunTransform } from './run-transform.ts';
import type { SpillLimits } from './spill-buffer.ts';
import { noStoredEvents, readStoredEvents, type StoredEvents } from './stored-events.ts';
import { readSpillIndex } from './spill-index.ts';

export interface CheckLimits extends SpillLimits, DayLimits {
  /** Of records before compression, for which it is worth it to start a thread. */
  readonly threadBytesMin: number;
  /** Time between two reports of how far a segment is. */
  readonly progressMs: number;
}

const standardLimits: CheckLimits = {
  bufferBytes: 64 << 20,
  blockBytes: 256 << 10,
  fanInMax: 256,
  readAheadBytes: 16 << 20,
  frameEvents: 1000,
  frameBytes: 4 << 20,
  threadBytesMin: 16 << 20,
  progressMs: 500,
};

export interface CheckDeps {
  readonly staging: Staging;
  /** The target's project; undefined: it cannot be asked. */
  readonly project?: { knownEvents(): Promise<ReadonlySet<string>> } | undefined;
  /** Reads back what the target has stored; undefined: nobody can. */
  readonly reader?: Pick<TargetReader, 'eventsNamed'> | undefined;
  /** Opens a table to join; left out: none can be. */
  readonly openTable?: TableDeps['openTable'];
  /** Finds the code that a run names; left out: there is none. Throws RunFailedError. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Left out: there are none to ask about. */
  readonly earlier?: EarlierRuns | undefined;
  /** What taking back these runs would do; left out: none can be taken back from here. */
  readonly planReplace?: ((runs: readonly string[]) => Promise<readonly RunToReplace[]>) | undefined;
  /** Of JSON, one event: what the door takes. */
  readonly eventBytesMax: number;
  readonly clock: Clock;
  /** Segments that are checked side by side, each in a thread of its own from two on; default 1. */
  readonly threads?: number;
  readonly readSegment?: ReadSegment;
  /**
   * `import_spill_written`, `import_segment_checked`, `import_day_written`, `import_day_index_written`,
   * `import_day_committed`, `import_check_written`.
   */
  readonly failpoint?: Failpoint;
  /** What is in memory at a time, and how large pieces are. */
  readonly limits?: Partial<CheckLimits>;
  /** How advice is given; default as in the API. */
  readonly words?: AdviceWords;
}

/** With every default. */
export type Ready = Required<
  Omit<CheckDeps, 'project' | 'reader' | 'earlier' | 'openTable' | 'openTransform' | 'limits'>
> & {
  readonly openTable: CheckDeps['openTable'];
  readonly openTransform: CheckDeps['openTransform'];
  readonly earlier: CheckDeps['earlier'];
  readonly project: CheckDeps['project'];
  readonly reader: CheckDeps['reader'];
  readonly limits: CheckLimits;
};

/**
 * The stage `check`: staged records become events, which are judged as the door does, sorted into files by day without
 * their duplicates, and counted. Sends nothing. Always ends with a result in staging; whether its verdict lets the load
 * begin is the load's question (assertCheckPassed). Throws RunFailedError when format, options or staged files are not
 * what they have to be.
 */
export function createCheckStage(deps: CheckDeps): RunStage {
  const ready: Ready = {
    ...deps,
    project: deps.project,
    earlier: deps.earlier,
    planReplace: deps.planReplace,
    openTable: deps.openTable,
    openTransform: deps.openTransform,
    reader: deps.reader,
    readSegment: deps.readSegment ?? standardReadSegment,
    failpoint: deps.failpoint ?? (() => {}),
    words: deps.words ?? fieldWords,
    threads: deps.threads ?? 1,
    limits: { ...standardLimits, ...deps.limits },
  };
  return async (leased) => {
    openReader(leased.run);
    if (await isDone(ready, leased)) return;
    const tables = await readTables(ready, leased);
    const read = openReader(leased.run, tables);
    const transform = await runTransform(ready, leased.run);
    // Choosing and transforming remember what they have seen, and go through the segments one after the other.
    const isAlone = transform === undefined && leased.run.options.choice === undefined;
    const parts = await partsOf(ready, leased);
    const progress = createCheckProgress(leased, ready.clock, sizeOf(parts));
    const held = await readHeldLines(ready.staging, leased.run.id);
    const devices = createSharedDevices();
    const links = createRepeatedLinks();
    const checking = { deps: ready, leased, parts, progress, held, devices, links };
    await using workers = openWorkers(ready, leased, parts);
    if (isAlone) await checkSideBySide({ ...checking, workers });
    else await checkInOrder({ ...checking, reader: read, transform });
    const sum = createSum();
    const spilled = await readSpills(ready.staging, leased.run.id, parts, sum);
    links.addTo(sum, ready.clock.now());
    const faults = await addFaults(ready.staging, leased.run.id, parts, sum.errors);
    const onDay = progress.day;
    const replaced = await replacedRuns(ready, leased, parts);
    const stored = await storedEvents(ready, leased, sum, replaced);
    const { repeated, changed } = await prepareDays({ ...ready, onDay, stored, links, workers }, leased, {
      ...spilled,
      events: sum.counts.events,
    });
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
      times: read.format.times,
      tables,
      sameRecords: (await ready.earlier?.sameRecords({ run: leased.run, parts, days })) ?? [],
      replaces: replaced.length === 0 ? [] : ((await ready.planReplace?.(replaced)) ?? []),
      leftOut: await readLeftOut(ready.staging, leased.run.id),
      knownEvents: await ready.project?.knownEvents(),
    });
    await writeResult(ready.staging, leased, result);
    ready.failpoint('import_check_written');
    await removeSpills(ready.staging, leased.run.id);
    progress.finish(result);
    await leased.flush();
  };
}

/** As many as are asked for and worth their start. */
function openWorkers(
  { staging, limits, threads, eventBytesMax }: Ready,
  { run, signal }: LeasedRun,
  parts: readonly StoredPart[],
): CheckWorkers {
  const { format, formatOptions, names } = run.options;
  const options = { format, formatOptions, ...(names !== undefined && { names }) };
  const { bufferBytes, blockBytes, threadBytesMin, progressMs } = limits;
  const { bytes } = sizeOf(parts);
  return openCheckWorkers(
    {
      setup: { runId: run.id, reader: { options, createdAt: run.createdAt }, eventBytesMax, progressMs },
      limits: { bufferBytes, blockBytes },
      staging,
      signal,
    },
    Math.max(1, Math.min(threads, Math.ceil(bytes / threadBytesMin))),
  );
}

async function partsOf({ staging }: Ready, leased: LeasedRun): Promise<readonly StoredPart[]> {
  const parts = await leased.parts();
  if (!(await lackFiles(staging, leased.run.id, parts))) return parts;
  await startAnew(staging, leased, parts);
  return await leased.parts();
}

/** What these have stored will be gone when this run loads. */
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

/** A target that cannot be read leaves the run without: it is loaded all the same. */
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
 * A result with everything checked: the run was interrupted between the stages. A result with something that is not: a
 * check anew, which begins by removing what the one before has left, the result last.
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
    await removeSpills(staging, id);
    progress.finish(result);
    await leased.flush();
    return true;
  }
  await startAnew(staging, leased, parts);
  await staging.remove(key);
  return false;
}

/** Forgets what was checked. */
async function startAnew(staging: Staging, leased: LeasedRun, parts: readonly StoredPart[]): Promise<void> {
  for (const part of parts) await leased.savePart(part.seq, { checked: 0, checkState: '' });
  await leased.resetDays('days');
  for (const what of ['spills/', 'days/', 'rejected/check-']) await staging.remove(`${leased.run.id}/${what}`);
}

/** With the days and the result written they are needed no more, and they are as large as the days. */
async function removeSpills(staging: Staging, run: string): Promise<void> {
  await staging.remove(`${run}/spills/`);
}

/** What the export and the merge of days counted, beside what the segments counted. */
function assertAgree({ counts }: Sum, parts: readonly StoredPart[], days: readonly StoredDay[]): void {
  const staged = sizeOf(parts).records;
  const merged = days.reduce((all, day) => all + day.events + day.duplicates, 0);
  const differences = [
    ...(staged === counts.records ? [] : [`records: ${staged} staged, ${counts.records} read`]),
    ...(merged === counts.events ? [] : [`events: ${counts.events} converted, ${merged} sorted into days`]),
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

/** What all segments left behind: findings added up in `sum`, runs by day in the order of the source. */
async function readSpills(staging: Staging, run: string, parts: readonly StoredPart[], sum: Sum): Promise<SpilledDays> {
  const runs = new Map<string, DayRun[]>();
  const names = new Map<string, number>();
  let segment = 0;
  for (const { seq, segments } of parts) {
    for (const [index, { notes = {} }] of segments.entries()) {
      addNoteCounts(sum.notes, notes);
      const spill = await readSpillIndex(staging, run, seq, index);
      addFindings(sum, spill.findings);
      const own = Uint32Array.from(spill.names, (name) => indexOf(names, name));
      const key = stagingKeys.spill(run, seq, index);
      for (const { day, blocks } of spill.runs) {
        const known = runs.get(day) ?? [];
        known.push({ key, blocks, names: own, segment });
        runs.set(day, known);
      }
      segment += 1;
    }
  }
  return { runs, names: [...names.keys()], events: sum.counts.events };
}

function indexOf(names: Map<string, number>, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, names.size);
  return names.size - 1;
}

async function writeResult(staging: Staging, leased: LeasedRun, result: CheckResult): Promise<void> {
  leased.signal.throwIfAborted();
  await staging.write(stagingKeys.check(leased.run.id), [Buffer.from(JSON.stringify(result))]);
}
