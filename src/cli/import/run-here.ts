import { createWriteStream } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRun } from '../../imports/run/run-store.ts';
import { pauseRun, RunTransitionError } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import { describeChanges } from '../../imports/stages/export/source-changes.ts';
import { readCheck, readVerify } from '../../imports/stages/report/read-results.ts';
import { stagingKeys, type Staging } from '../../imports/staging.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Command } from 'commander';
import { stopSignal } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { chooseImport } from './choose-import.ts';
import { startEngine, type EngineDeps } from './engine.ts';
import { follow } from './follow.ts';
import { givenImport } from './given-import.ts';
import { preflightMsOf, type ImportOptions } from './import-options.ts';
import { readText, rejectedLines } from './local-results.ts';
import { openLocalStaging, runIn, withStore } from './local-store.ts';
import { endOf, type Findings } from './outcome.ts';
import { withTimes } from './open-source.ts';
import { preflightHere } from './preflight-here.ts';
import { findOwnImport } from './own-import.ts';
import { nothingLeft, prepareRun } from './prepare-run.ts';
import { refuseUndone, reportRun } from './report-run.ts';
import type { ImportRequest } from './request.ts';
import { showEnd } from './run-commands.ts';
import { isFinal, viewOfRun, type RunView } from './run-view.ts';
import { endOfPreflight, notePreflight } from './show-preflight.ts';
import { sourceSince } from './source-since.ts';
import { commandOf, describeImport, type ImportDir } from './state-dir.ts';
import { transformHere, type TransformHere } from './transform-here.ts';

export type HereOptions = Pick<
  ImportOptions,
  'stateDir' | 'again' | 'preflight' | 'preflightMs' | 'json' | 'progress' | 'report' | 'rejected'
>;

/** Between two looks at the run: a small import is over in a moment, so the first ones of a stage come quickly. */
const pollMsLeast = 20;
const pollMsMost = 200;
/** After a pause a worker lets go within a second; what it was writing may take a little. */
const releaseMsMax = 30_000;

/** Does an import in this process, or goes on with it. Errors: CommandError as it ended. */
export async function runHere(
  terminal: Terminal,
  asked: ImportRequest,
  options: HereOptions,
  command: Command,
): Promise<void> {
  await using here = await transformHere(terminal, withTimes(asked));
  const { request } = here;
  if (options.preflight) await passPreflight(terminal, here, options);
  using chosen = await chooseImport(terminal, request, options);
  const { dir, previousRun } = chosen;
  // A run that was done already was not looked at.
  if (options.preflight && previousRun !== undefined) {
    await passPreflight(terminal, here, { ...options, again: true });
  }
  await describeImport(dir, request, givenImport(command, here));
  await withStore(dir, async (db) => {
    const { run, how } = await prepareRun(db, dir, request, previousRun);
    const first = viewOfRun(run, Date.now());
    if (how === 'done') await refuseUndone(dir, request);
    if (how === 'done') terminal.note(`${dir.id} is done already; --again starts anew`);
    else terminal.note(how === 'new' ? `import ${dir.id} begins` : `import ${dir.id} resumes in ${run.stage}`);
    const view = how === 'done' ? first : await reported(terminal, { db, dir, ...here, first }, options);
    if (how !== 'done' && view.state === 'completed') await tellChanges(terminal, { db, dir, request }, run);
    await finish(terminal, dir, view, options);
  });
}

/** Before there is anything of the import. Errors: CommandError, when something stands in its way. */
async function passPreflight(
  terminal: Terminal,
  { request, openTransform }: TransformHere,
  { stateDir, again, preflightMs, json = false }: HereOptions,
): Promise<void> {
  const begun = again === true ? undefined : await begunRun(stateDir, request);
  if (begun?.state === 'completed' && nothingLeft(begun, request.options.last)) return;
  // What is staged already is not read again.
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

/** The run with which the command would go on. */
async function begunRun(stateDir: string, request: ImportRequest): Promise<Run | undefined> {
  const { begun: dir } = await findOwnImport(stateDir, request);
  return dir === undefined ? undefined : withStore(dir, (db) => getRun(db, dir.id));
}

/** What has come too late for a run that is exact all the same. */
async function tellChanges(terminal: Terminal, work: Pick<Work, 'db' | 'dir' | 'request'>, run: Run): Promise<void> {
  const onTrouble = (reason: string): void =>
    terminal.note(`whether the source has changed since it was read cannot be told: ${reason}`);
  const { changed } = await sourceSince({ ...work, onTrouble }, run, { quick: true });
  if (changed.length === 0) return;
  terminal.note(`since it was read the source has changed: ${describeChanges(changed)}; the same command imports that`);
}

interface Work extends EngineDeps {
  readonly first: RunView;
}

/** The same, known to the service that it loads into. */
async function reported(terminal: Terminal, work: Work, options: HereOptions): Promise<RunView> {
  const reports = await reportRun({ terminal, ...work });
  try {
    return await perform(terminal, work, options);
  } finally {
    await reports.end();
  }
}

/** Until nothing happens any more. The first Ctrl-C pauses, the second ends the process. */
async function perform(terminal: Terminal, { first, ...deps }: Work, options: HereOptions): Promise<RunView> {
  const { db, dir } = deps;
  const stop = stopSignal(terminal.process);
  const engine = await startEngine(deps);
  const pause = (): void => {
    terminal.note('pausing; Ctrl-C once more ends at once');
    pauseRun(db, dir.id, 'stopped by the person at the terminal').catch((error: unknown) => {
      // It has just ended by itself.
      if (!(error instanceof RunTransitionError)) engine.fail(error);
    });
  };
  stop.signal.addEventListener('abort', pause, { once: true });
  if (stop.signal.aborted) pause();
  try {
    return await follow(terminal, first, steps(db, dir, engine.failed), options);
  } finally {
    stop.signal.removeEventListener('abort', pause);
    await Promise.race([engine.close(), sleep(releaseMsMax, undefined, { ref: false })]);
    stop.release();
  }
}

/** Every change of the run, until nothing happens any more; ends with an error when the engine fails. */
async function* steps(db: Metadata, dir: ImportDir, failed: AbortSignal): AsyncIterable<RunView> {
  let last: RunView | undefined;
  let pollMs = pollMsLeast;
  while (last === undefined || !isFinal(last)) {
    failed.throwIfAborted();
    const view = viewOfRun(await runIn(dir, db), Date.now());
    if (!isDeepStrictEqual(view, last)) yield view;
    pollMs = view.stage === last?.stage ? Math.min(pollMs * 2, pollMsMost) : pollMsLeast;
    last = view;
    if (!isFinal(view)) await sleep(pollMs);
  }
}

/** Shows how it ended, and writes the files that were asked for. */
async function finish(terminal: Terminal, dir: ImportDir, view: RunView, options: HereOptions): Promise<void> {
  const staging = await openLocalStaging(dir);
  const findings = await findingsOf(staging, dir.id, view);
  if (options.json) terminal.data(JSON.stringify({ type: 'result', ...view, ...findings }));
  else showEnd(terminal, { view, ...findings });
  await writeFiles(terminal, staging, dir.id, view, options);
  const command = await commandOf(dir);
  const end = endOf(view, findings, {
    paused: `resume it with: ${command}`,
    failed: `the command: ${command}`,
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
    const lines = rejectedLines(staging, id, new AbortController().signal);
    await pipeline(Readable.from(lines, { objectMode: false }), createWriteStream(rejected));
    terminal.note(`rejected records: ${rejected}`);
  }
  if (report === undefined) return;
  if (view.state !== 'completed' || view.stages === 2) {
    return terminal.note('no report: the import has not come to its end');
  }
  const form = report.endsWith('.html') ? 'html' : 'json';
  const text = await readText(staging, stagingKeys.report(id, form), 'report');
  await pipeline(Readable.from([text]), createWriteStream(report));
  terminal.note(`report: ${report}`);
}
