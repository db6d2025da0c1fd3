import { counted } from '../../base/integer-text.ts';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRun, createRun } from '../../imports/run/run-store.ts';
import {
  pauseRun,
  RunTransitionError,
  resumeChecking,
  resumeRun,
  type ResumeChanges,
} from '../../imports/run/run-transitions.ts';
import { describeChanges } from '../../imports/stages/export/source-changes.ts';
import { readCheck, readVerify, rejectedLines } from '../../imports/stages/report/read-results.ts';
import { stagingKeys, type Staging } from '../../imports/staging.ts';
import { stopSignal } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { chooseImport, findOwnImport, identitiesOf, type Identities } from './choose-import.ts';
import { startEngine, type EngineDeps } from './engine.ts';
import { follow } from './show-run.ts';
import { preflightMsOf, type ImportOptions } from './import-options.ts';
import { openLocalStaging, readText, runIn, withStore } from './local-store.ts';
import { endOf, type Findings } from './outcome.ts';
import { withTimes, isSecretSetting } from './open-source.ts';
import { preflightHere } from './preflight-here.ts';
import { refuseUndone, reportRun } from './report-run.ts';
import { showEnd } from './run-commands.ts';
import { viewOfRun, viewSteps, type RunView } from './run-view.ts';
import { endOfPreflight, notePreflight } from './show-preflight.ts';
import { sourceSince } from './source-since.ts';
import { commandOf, describeImport, type ImportDir, type GivenCommand } from './state-dir.ts';
import { otherStateDirs, recordStateDir } from './state-dirs.ts';
import { transformHere, type TransformHere } from './transform-here.ts';
import { isDeepStrictEqual } from 'node:util';
import { readRunRows } from '../../imports/run/run-rows.ts';
import { isHeldByCheck } from '../../imports/run/check-problems.ts';
import type { Run, Stage } from '../../imports/run/run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import { earlierImports, type EarlierPlaces } from './earlier-imports.ts';
import type { ImportRequest } from './request.ts';
import type { Command } from 'commander';
import { givenWords, placeholder, type ShownValue } from '../given-words.ts';

type HereOptions = Pick<
  ImportOptions,
  'stateDir' | 'again' | 'preflight' | 'preflightMs' | 'json' | 'progress' | 'report' | 'rejected'
>;

/** Small imports take a moment, so the first polls of a stage are frequent. */
const poll = { leastMs: 20, mostMs: 200 };
/** A paused worker releases the run within a second, plus the time of its last write. */
const releaseTimeoutMs = 30_000;

/** Runs or resumes an import in this process. Errors: CommandError as it ended. */
export async function runHere(
  terminal: Terminal,
  given: ImportRequest,
  options: HereOptions,
  command: Command,
): Promise<void> {
  await using here = await transformHere(terminal, withTimes(given));
  const { request } = here;
  const identities = identitiesOf(request);
  if (options.preflight) await passPreflight(terminal, here, identities, options);
  using chosen = await chooseImport(terminal, request, { ...options, identities });
  const { dir, previousRun } = chosen;
  // A completed run skipped its preflight.
  if (options.preflight && previousRun !== undefined) {
    await passPreflight(terminal, here, identities, { ...options, again: true });
  }
  const places = await otherStateDirs(terminal, options.stateDir);
  await withStore(dir, async (db) => {
    if (request.options.last === 'check') await refuseLateCheck(db, dir);
    await describeImport(dir, request, givenImport(command, here));
    await recordStateDir(terminal, options.stateDir);
    const { run, how } = await prepareRun(db, dir, request, { previousRun, otherStateDirs: places });
    const first = viewOfRun(run, Date.now());
    if (how === 'done') await refuseUndone(dir, request);
    if (how === 'done') terminal.note(`${dir.id} is already done; --again starts a new one`);
    else terminal.note(how === 'new' ? `import ${dir.id} starts` : `import ${dir.id} resumes in ${run.stage}`);
    const view =
      how === 'done' ? first : await reported(terminal, { db, dir, ...here, otherStateDirs: places, first }, options);
    if (how !== 'done' && view.state === 'completed') await noteChanges(terminal, { db, dir, request }, run);
    await finish(terminal, dir, view, options);
  });
}

/** Runs the preflight before anything of the import exists. Errors: CommandError, when it finds a problem. */
async function passPreflight(
  terminal: Terminal,
  { request, openTransform }: TransformHere,
  identities: Identities,
  { stateDir, again, preflightMs, json = false }: HereOptions,
): Promise<void> {
  const begun = again === true ? undefined : await begunRun(stateDir, request, identities);
  if (begun?.state === 'completed' && nothingLeft(begun, request.options.last)) return;
  // Staged records are not read again.
  const without = begun === undefined || begun.stage === 'export' ? [] : (['source', 'staging'] as const);
  const result = await preflightHere(terminal, {
    request,
    openTransform,
    stateDir,
    limitMs: preflightMsOf({ ...(preflightMs !== undefined && { preflightMs }) }),
    without,
  });
  if (json) terminal.data(JSON.stringify({ type: 'preflight', ...result }));
  else notePreflight(terminal, result);
  const end = endOfPreflight(result);
  if (end !== undefined) throw end;
}

/** Returns the run that the command would resume. */
async function begunRun(stateDir: string, request: ImportRequest, identities: Identities): Promise<Run | undefined> {
  const { begun: dir } = await findOwnImport(stateDir, request, identities);
  return dir === undefined ? undefined : withStore(dir, (db) => getRun(db, dir.id));
}

/** Notes changes of the source that came too late for the run. */
async function noteChanges(terminal: Terminal, work: Pick<Work, 'db' | 'dir' | 'request'>, run: Run): Promise<void> {
  const onTrouble = (reason: string): void =>
    terminal.note(`cannot check whether the source has changed since it was read: ${reason}`);
  const { changed } = await sourceSince({ ...work, onTrouble }, run, { quick: true });
  if (changed.length === 0) return;
  terminal.note(
    `the source has changed since it was read: ${describeChanges(changed)}; the same command imports the changes`,
  );
}

interface Work extends EngineDeps {
  readonly first: RunView;
}

/** Runs the import and reports it to the service that it loads into. */
async function reported(terminal: Terminal, work: Work, options: HereOptions): Promise<RunView> {
  const reports = await reportRun({ terminal, ...work });
  try {
    return await perform(terminal, work, options);
  } finally {
    await reports.end();
  }
}

/** Runs until the run pauses or ends. The first Ctrl-C pauses it, the second ends the process. */
async function perform(terminal: Terminal, { first, ...deps }: Work, options: HereOptions): Promise<RunView> {
  const { db, dir } = deps;
  const stop = stopSignal(terminal.process);
  const engine = await startEngine(deps);
  const pause = (): void => {
    terminal.note('pausing; Ctrl-C again ends immediately');
    pauseRun(db, dir.id, 'stopped by the user').catch((error: unknown) => {
      // The run has just ended.
      if (!(error instanceof RunTransitionError)) engine.fail(error);
    });
  };
  stop.signal.addEventListener('abort', pause, { once: true });
  if (stop.signal.aborted) pause();
  try {
    return await follow(
      terminal,
      first,
      viewSteps(async () => viewOfRun(await runIn(dir, db), Date.now()), engine.failed, poll),
      options,
    );
  } finally {
    stop.signal.removeEventListener('abort', pause);
    await Promise.race([engine.close(), sleep(releaseTimeoutMs, undefined, { ref: false })]);
    stop.release();
  }
}

/** Shows the outcome and writes the requested files. */
async function finish(terminal: Terminal, dir: ImportDir, view: RunView, options: HereOptions): Promise<void> {
  const staging = await openLocalStaging(dir);
  const findings = await findingsOf(staging, dir.id, view);
  if (options.json) terminal.data(JSON.stringify({ type: 'result', ...view, ...findings }));
  else showEnd(terminal, { view, ...findings });
  await writeFiles(terminal, staging, dir.id, view, options);
  const command = await commandOf(dir);
  const end = endOf(view, findings, {
    paused: `resume it with: ${command}`,
    failed: `resume with: ${command}`,
  });
  if (end !== undefined) throw end;
}

async function findingsOf(staging: Staging, id: string, view: RunView): Promise<Findings> {
  const [check, verify] = await Promise.all([readCheck(staging, id), readVerify(staging, id)]);
  const isChecked = view.stages === 2 || view.state === 'failed';
  return {
    ...(isChecked && check !== undefined ? { check } : {}),
    ...(check === undefined ? {} : { warnings: check.warnings, notes: check.notes ?? [] }),
    ...(view.stages > 2 && view.state === 'completed' ? { verify } : {}),
  };
}

async function writeFiles(
  terminal: Terminal,
  staging: Staging,
  id: string,
  view: RunView,
  { report, rejected }: HereOptions,
): Promise<void> {
  if (rejected !== undefined) {
    const lines = Readable.from(rejectedLines(staging, id), { objectMode: false });
    await pipeline(lines, createWriteStream(rejected));
    terminal.note(`rejected records: ${rejected}`);
  }
  if (report === undefined) return;
  if (view.state !== 'completed' || view.stages === 2) {
    return terminal.note('no report: the import has not ended');
  }
  const form = report.endsWith('.html') ? 'html' : 'json';
  const text = await readText(staging, stagingKeys.report(id, form), 'report');
  await pipeline(Readable.from([text]), createWriteStream(report));
  terminal.note(`report: ${report}`);
}

const stagesBeforeLoad: ReadonlySet<Stage> = new Set(['export', 'check']);

/** Refuses a check of a run whose load has begun, which a resume would continue. Errors: CommandError failed. */
async function refuseLateCheck(db: Metadata, dir: ImportDir): Promise<void> {
  const run = await getRun(db, dir.id);
  if (run === undefined || run.state === 'completed' || run.state === 'cancelled' || run.state === 'undone') return;
  if (stagesBeforeLoad.has(run.stage) || isHeldByCheck(run)) return;
  const { loaded } = run.totals;
  throw new CommandError(
    'failed',
    `import ${dir.id} has passed its check and is already loading (stage ${run.stage}, ${counted(loaded, 'event')} loaded); ` +
      `continue it with: ${await commandOf(dir)}; to check in a new import, add --again`,
  );
}

interface EarlierState {
  /** The run that imported an earlier state of the source, if any. */
  readonly previousRun: string | undefined;
  readonly otherStateDirs: readonly string[];
}

interface Prepared {
  readonly run: Run;
  /** Whether the run is `new`, resumed (`again`), or `done` already. */
  readonly how: 'new' | 'again' | 'done';
}

/**
 * Creates or resumes the run of a directory that this process has locked, so that its worker can claim it. Speed, rejected records and the
 * last stage are those of the command. Errors: CommandError failed, when the run was cancelled.
 */
async function prepareRun(
  db: Metadata,
  dir: ImportDir,
  request: ImportRequest,
  { previousRun, otherStateDirs: places }: EarlierState,
): Promise<Prepared> {
  const { source, options } = request;
  const { rejectedMax, eventsPerSecond, last, target, again } = options;
  const changes: ResumeChanges = { rejectedMax, eventsPerSecond, last, target, ...(again === true && { again }) };
  const found = await getRun(db, dir.id);
  if (found === undefined) {
    const own = previousRun === undefined ? options : { ...options, previousRun };
    const run = await createRun(db, { id: dir.id, projectId: 0, configId: 0, source, options: own, now: Date.now() });
    return { run, how: 'new' };
  }
  switch (found.state) {
    case 'cancelled':
      throw new CommandError('failed', `import ${dir.id} was cancelled; --again starts a new one`);
    case 'undone':
      throw new CommandError('failed', `import ${dir.id} was undone; --again starts a new one`);
    case 'completed':
      if (nothingLeft(found, last)) return { run: found, how: 'done' };
      return {
        run: await continueChecked(db, { dir, apiKey: request.apiKey, otherStateDirs: places }, found, changes),
        how: 'again',
      };
    case 'paused':
    case 'failed':
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
    case 'queued':
    case 'running':
      // No process works on it, but a killed one leaves its lease. Pausing and resuming also applies the options.
      await pauseRun(db, dir.id);
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
  }
}

/** Resumes a checked run. The target may be known only now: earlier imports into it decide whether the check is still valid. */
async function continueChecked(
  db: Metadata,
  { dir, ...places }: EarlierPlaces & { readonly dir: ImportDir },
  checked: Run,
  changes: ResumeChanges,
): Promise<Run> {
  const rows = readRunRows(db, checked.id);
  const [parts, days, result] = await Promise.all([
    rows.parts(),
    rows.days(),
    openLocalStaging(dir).then((staging) => readCheck(staging, checked.id)),
  ]);
  const run = { ...checked, options: { ...checked.options, ...(changes.target && { target: changes.target }) } };
  const same = await earlierImports(dir, places).sameRecords({ run, parts, days });
  if (isDeepStrictEqual(same, result?.same_records ?? [])) return resumeRun(db, checked.id, changes);
  return resumeChecking(db, checked.id, changes);
}

/** Tells whether a completed run has done everything the command requests. */
function nothingLeft(completed: Run, last: Run['options']['last']): boolean {
  return completed.options.last === 'report' || last === 'check';
}

/** Returns the command that resumes an import, with placeholders for secrets. */
function givenImport(command: Command, here: Pick<TransformHere, 'request' | 'shownSettings'>): GivenCommand {
  const name = command.name() === 'check' ? 'millrace import check' : 'millrace import';
  return { cwd: process.cwd(), name, words: givenWords(command, shownIn(here)) };
}

function shownIn({ request, shownSettings }: Pick<TransformHere, 'request' | 'shownSettings'>): ShownValue {
  return (option, value) => {
    switch (option) {
      // It would start again.
      case 'again':
        return undefined;
      case 'setting':
        return pair(value, (key) => !isSecretSetting(request, key));
      case 'transformSetting':
        return pair(value, (key) => shownSettings.has(key));
      default:
        return withoutCredentials(value);
    }
  };
}

/** Masks a secret value; one read from a file is not in the command. */
function pair(text: string, isShown: (key: string) => boolean): string {
  const key = text.slice(0, text.indexOf('='));
  const value = text.slice(key.length + 1);
  return value.startsWith('@') || isShown(key) ? `${key}=${withoutCredentials(value)}` : `${key}=${placeholder}`;
}

/** Masks credentials and queries, which may contain a signature. */
function withoutCredentials(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${placeholder}@`)
    .replace(/^(https?:\/\/[^?]*\?).*$/is, `$1${placeholder}`);
}
