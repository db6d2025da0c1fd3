import type { Clock } from '../../../base/clock.ts';
import type { Failpoint } from '../../../base/failpoint.ts';
import { freeMemory } from '../../../base/free-memory.ts';
import { createChosenReader } from '../../choosing/chosen-reader.ts';
import type { JoinTable } from '../../choosing/join-table.ts';
import { readTables, type TableDeps } from './read-tables.ts';
import { FormatOptionsError, type Format, type NameTable, type RecordReader } from '../../formats/format.ts';
import { parseNames } from '../../formats/names.ts';
import { findFormat, formats } from '../../formats/registry.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import { RunFailedError, type LeasedRun, type RunStage, type StoredPart } from '../../run/leased-run.ts';
import { readLeftOut } from '../export/left-out-files.ts';
import { createTargetRetry } from '../stage-retry.ts';
import { readSegment as standardReadSegment, type ReadSegment } from './read-segment.ts';
import type { CheckResult, RunToReplace } from '../../run/results.ts';
import type { Run, RunTotals } from '../../run/run.ts';
import type { EarlierRuns } from '../../run/same-records.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { TargetUnreadableError, type TargetReader } from '../../target.ts';
import { createCheckProgress, type CheckProgress } from './check-progress.ts';
import { runsToReplace } from './assert-check-passed.ts';
import { checkResult } from './check-result.ts';
import { checkSegment, replaySegment, type SegmentCheckDeps } from './check-segment.ts';
import { addFaults, readHeldLines } from './add-faults.ts';
import { addFindings, createSum, type Sum } from './findings.ts';
import { findUnmapped } from './find-unmapped.ts';
import type { DayRun } from './merge-runs.ts';
import { prepareDays, type DayLimits, type SpilledDays } from './prepare-days.ts';
import { createSharedDevices } from './shared-devices.ts';
import { runTransform, type OpenRunTransform } from './run-transform.ts';
import { createSpillBuffer, type SpillLimits } from './spill-buffer.ts';
import { noStoredEvents, readStoredEvents, type StoredEvents } from './stored-events.ts';
import { readSpillIndex, writeSpillIndex } from './spill-index.ts';

export interface CheckLimits extends SpillLimits, DayLimits {}

const standardLimits: CheckLimits = {
  bufferBytes: 64 << 20,
  blockBytes: 256 << 10,
  fanInMax: 256,
  readAheadBytes: 16 << 20,
  frameEvents: 1000,
  frameBytes: 4 << 20,
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

type Ready = Required<Omit<CheckDeps, 'project' | 'reader' | 'earlier' | 'openTable' | 'openTransform' | 'limits'>> & {
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
    limits: { ...standardLimits, ...deps.limits },
  };
  return async (leased) => {
    openReader(leased.run, []);
    if (await isDone(ready, leased)) return;
    const tables = await readTables(ready, leased);
    const read = openReader(leased.run, tables);
    const transform = await runTransform(ready, leased.run);
    const parts = await leased.parts();
    const progress = createCheckProgress(leased, ready.clock, sizeOf(parts));
    const held = await readHeldLines(ready.staging, leased.run.id);
    const checking = startParts(ready, leased, read, { held, transform });
    for (const part of parts) {
      await checkPart(ready, leased, checking, part, progress);
      progress.part();
    }
    const sum = createSum();
    const spilled = await readSpills(ready.staging, leased.run.id, parts, sum);
    const faults = await addFaults(ready.staging, leased.run.id, parts, sum.errors);
    const onDay = progress.day;
    const replaced = await replacedRuns(ready, leased, parts);
    const stored = await storedEvents(ready, leased, sum, replaced);
    const repeated = await prepareDays({ ...ready, onDay, stored }, leased, spilled);
    const days = await leased.days();
    const result = checkResult({
      sum,
      days,
      devices: checking.devices,
      faults,
      repeated,
      options: { ...leased.run.options, ...alreadyReplaced(leased.run) },
      words: ready.words,
      times: checking.times,
      tables,
      sameRecords: (await ready.earlier?.sameRecords({ run: leased.run, parts, days })) ?? [],
      replaces: replaced.length === 0 ? [] : ((await ready.planReplace?.(replaced)) ?? []),
      leftOut: await readLeftOut(ready.staging, leased.run.id),
      knownEvents: await ready.project?.knownEvents(),
    });
    await writeResult(ready.staging, leased, result);
    ready.failpoint('import_check_written');
    await removeSpills(ready.staging, leased.run.id);
    progress.finish(result.totals);
    await leased.flush();
  };
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

/** A new reader by the options of the run. Throws RunFailedError. */
function openReader(
  run: Run,
  tables: readonly JoinTable[],
): { readonly format: Format; readonly names: NameTable; readonly read: RecordReader } {
  const { format: slug, formatOptions, names: given, choice } = run.options;
  const format = findFormat(slug);
  if (format === undefined) {
    const known = formats.map((each) => each.slug).join(', ');
    throw new RunFailedError(`expected a format that is known (${known}), got: ${slug}; name one of them`, {
      advice: 'startAnew',
    });
  }
  try {
    const names = given === undefined ? format.names : parseNames(format.names, given);
    const rules = { tables, times: format.times, now: run.createdAt };
    return { format, names, read: createChosenReader(() => format.createReader(formatOptions, names), choice, rules) };
  } catch (cause) {
    if (!(cause instanceof FormatOptionsError)) throw cause;
    throw new RunFailedError(`${cause.message}; correct the format options`, { advice: 'startAnew', cause });
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
    const { totals } = JSON.parse(Buffer.concat(chunks).toString()) as CheckResult;
    const progress = createCheckProgress(leased, clock, sizeOf(parts));
    for (const part of parts) for (const { records, rawBytes } of part.segments) progress.segment(records, rawBytes);
    for (const _ of parts) progress.part();
    await removeSpills(staging, id);
    progress.finish(totals);
    await leased.flush();
    return true;
  }
  for (const part of parts) await leased.savePart(part.seq, { checked: 0, checkState: '' });
  await leased.resetDays('days');
  for (const what of ['spills/', 'days/', 'rejected/check-']) await staging.remove(`${id}/${what}`);
  await staging.remove(key);
  return false;
}

/** With the days and the result written they are needed no more, and they are as large as the days. */
async function removeSpills(staging: Staging, run: string): Promise<void> {
  await staging.remove(`${run}/spills/`);
}

function sizeOf(parts: readonly StoredPart[]): { parts: number; records: number; bytes: number } {
  const size = { parts: parts.length, records: 0, bytes: 0 };
  for (const { segments } of parts) {
    for (const { records, rawBytes } of segments) {
      size.records += records;
      size.bytes += rawBytes;
    }
  }
  return size;
}

function startParts(
  { limits, eventBytesMax, clock }: Ready,
  leased: LeasedRun,
  reader: ReturnType<typeof openReader>,
  { held, transform }: Pick<SegmentCheckDeps, 'held' | 'transform'>,
): SegmentCheckDeps {
  const { format, names, read } = reader;
  return {
    runId: leased.run.id,
    read,
    buffer: createSpillBuffer(limits),
    devices: createSharedDevices(),
    times: format.times,
    unmapped: findUnmapped(format.slug, format.names, names),
    sampled: new Set(),
    eventBytesMax,
    now: clock.now,
    signal: leased.signal,
    held,
    transform,
  };
}

async function checkPart(
  deps: Ready,
  leased: LeasedRun,
  checking: SegmentCheckDeps,
  part: StoredPart,
  progress: CheckProgress,
): Promise<void> {
  const { staging, readSegment } = deps;
  const read = (index: number): Promise<Buffer> => readSegment(staging, leased.run.id, part, index);
  let linesBefore = 0;
  for (const [index, { records, rawBytes }] of part.segments.entries()) {
    leased.signal.throwIfAborted();
    const lines = await read(index);
    if (index < part.checked) await replaySegment(checking, lines);
    else await spillSegment(deps, leased, checking, { part, index, linesBefore, lines });
    freeMemory(lines);
    linesBefore += records;
    progress.segment(records, rawBytes);
  }
}

interface SegmentTask {
  readonly part: StoredPart;
  readonly index: number;
  readonly linesBefore: number;
  readonly lines: Buffer;
}

async function spillSegment(
  deps: Ready,
  leased: LeasedRun,
  checking: SegmentCheckDeps,
  task: SegmentTask,
): Promise<void> {
  const { staging, failpoint } = deps;
  const { part, index, lines } = task;
  const { id } = leased.run;
  const segment = checkSegment(checking, { part: part.key, linesBefore: task.linesBefore });
  await staging.write(stagingKeys.spill(id, part.seq, index), segment.chunks(lines));
  const { tally, file, rejected } = segment;
  await writeSpillIndex(staging, id, part.seq, index, {
    names: tally.names,
    runs: file.runs,
    findings: tally.findings(),
  });
  const rejectedKey = stagingKeys.rejected(id, `check-${pad(part.seq)}-${pad(index)}`);
  if (rejected.count > 0) await staging.write(rejectedKey, rejected.finish());
  // Where a check was interrupted, the one before may have left a file that this one does not need.
  else if (index === part.checked) await staging.remove(rejectedKey);
  failpoint('import_spill_written');
  await leased.savePart(part.seq, { checked: index + 1 });
  failpoint('import_segment_checked');
}

function pad(index: number): string {
  return String(index).padStart(5, '0');
}

/** What all segments left behind: findings added up in `sum`, runs by day in the order of the source. */
async function readSpills(staging: Staging, run: string, parts: readonly StoredPart[], sum: Sum): Promise<SpilledDays> {
  const runs = new Map<string, DayRun[]>();
  const names = new Map<string, number>();
  for (const { seq, segments } of parts) {
    for (const index of segments.keys()) {
      const spill = await readSpillIndex(staging, run, seq, index);
      addFindings(sum, spill.findings);
      const own = Uint32Array.from(spill.names, (name) => indexOf(names, name));
      const key = stagingKeys.spill(run, seq, index);
      for (const { day, blocks } of spill.runs) {
        const known = runs.get(day) ?? [];
        known.push({ key, blocks, names: own });
        runs.set(day, known);
      }
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
