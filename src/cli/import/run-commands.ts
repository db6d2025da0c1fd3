import { counted } from '../../base/integer-text.ts';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Option, type Command } from 'commander';
import type { ImportRunResume } from '../../wire/contract/import-runs.ts';
import type { ReportResult } from '../../imports/stages/report/report.ts';
import { addApiKeyOption, defaultUrl, projectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { addFormerName } from '../resolve-options.ts';
import { addOutputOptions, showList, type OutputOptions } from '../output.ts';
import { addProfileOption, hasOption } from '../profiles/take-profile.ts';
import { runUntilStopped } from '../stop-signal.ts';
import { printable, type Terminal } from '../terminal.ts';
import { follow, runLine, showRuns, totalsLines } from './show-run.ts';
import { type ImportRuns, type RunAction, isFinal, type RunView } from './run-view.ts';
import { addStateDir } from './import-options.ts';
import { endOf, verdictEnd, type Findings } from './outcome.ts';
import { countOf, shareOf } from '../read-arguments.ts';
import { serverRuns, type ServerRuns } from './server-runs.ts';
import { showCheck, showVerify, showUndoPlan } from './show-check.ts';

export interface RunsOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly project: string;
  /** Without it: runs of the state directory. */
  readonly config?: string;
  readonly stateDir: string;
  readonly json?: boolean;
}

interface OneRunOptions extends RunsOptions, ReplaceOptions {
  readonly run?: string;
  readonly out?: string;
  readonly html?: boolean;
  readonly again?: boolean;
  readonly speed?: string;
  readonly rejectedMax?: string;
}

/** Adds the options of commands on existing runs. */
export function addRunsOptions(command: Command): Command {
  return addStateDir(addServerOptions(command));
}

export function addServerOptions(command: Command): Command {
  command
    .option('--config <id>', 'import app config of a server; default: imports of this machine')
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl));
  // Commands that also run local imports already have the key.
  if (!hasOption(command, 'apiKey')) addApiKeyOption(command);
  return addProfileOption(addFormerName(command, 'token')).option(
    '--project <id>',
    'number of the project, or @current',
    '@current',
  );
}

/** Errors: usage. */
export function serverRunsOf(options: Omit<RunsOptions, 'stateDir'>, config: string): ServerRuns {
  return serverRuns(projectApi(options), countOf('--config', config, 1));
}

async function runsOf(options: RunsOptions): Promise<ImportRuns> {
  if (options.config !== undefined) return serverRunsOf(options, options.config);
  // The metadata store takes longer to load than most commands take to run.
  const { localRuns } = await import('./local-runs.ts');
  return localRuns(options.stateDir);
}

/** Lists runs. Only its service knows whether a local run was undone. */
async function listRuns(terminal: Terminal, options: RunsOptions): Promise<readonly RunView[]> {
  const found = await (await runsOf(options)).list();
  if (options.config !== undefined || found.length === 0) return found;
  const { undoneRuns } = await import('./registered-runs.ts');
  const { ids, unreachable } = await undoneRuns(options.stateDir, options.apiKey);
  for (const why of unreachable) terminal.note(`cannot check for undone runs at ${why}`);
  return found.map((view) => (ids.has(view.id) ? undoneView(view) : view));
}

function undoneView(view: RunView): RunView {
  return {
    ...view,
    state: 'undone',
    stage: 'undo',
    totals: { ...view.totals, loaded: 0, verified: null, verdict: null },
  };
}

function oneRun(parent: Command, name: string, description: string): Command {
  return addRunsOptions(parent.command(name))
    .description(description)
    .argument('[run]', 'run from "millrace import list"; default: the newest')
    .option('--json', 'print JSON')
    .option('--run <id>', 'the same as the argument');
}

/** Passes the run that is given as argument or as option. */
function runBy<Options extends OneRunOptions = OneRunOptions>(
  work: (options: Options) => Promise<void>,
): (run: string | undefined, options: Options) => Promise<void> {
  return (run, options) => work(run === undefined ? options : { ...options, run });
}

/** Adds `list`, `watch`, `report`, `verify` and `rejected`. */
export function addReadCommands(parent: Command, terminal: Terminal): void {
  addOutputOptions(addRunsOptions(parent.command('list')))
    .description('list the runs of a config, or the imports of this machine')
    .action(async (options: RunsOptions & OutputOptions) => {
      const found = await listRuns(terminal, options);
      await showList(terminal, options, found, () => showRuns(terminal, found));
    });
  oneRun(parent, 'watch', 'follow a run until it pauses or ends').action(runBy((options) => watch(terminal, options)));
  oneRun(parent, 'report', 'show the report of a run; --json prints all of it')
    .option('--html', 'print it as an HTML page')
    .option('--out <file>', 'write the report to a file: .html for the page, otherwise JSON')
    .action(runBy((options) => report(terminal, options)));
  oneRun(parent, 'verify', 'show the differences between stored and sent events')
    .option('--again', 'compare again')
    .action(runBy((options) => verify(terminal, options)));
  oneRun(parent, 'rejected', 'print rejected records with their reasons, as NDJSON')
    .option('--out <file>', 'write to a file')
    .action(
      runBy(async (options) => {
        const runs = await runsOf(options);
        const { id } = await runs.find(options.run);
        await deliver(terminal, (signal) => runs.rejected(id, signal), options.out);
      }),
    );
}

/** Adds `pause`, `resume`, `cancel`, `retry-rejected` and `promote`. */
export function addActCommands(parent: Command, terminal: Terminal): void {
  oneRun(parent, 'pause', 'pause a run; nothing is lost').action(runBy((options) => act(terminal, 'pause', options)));
  addSameRecordsOptions(addChanges(oneRun(parent, 'resume', 'resume a paused or failed run')))
    .option('--yes', 'do not ask before earlier runs are undone')
    .action(
      runBy(async (options) => {
        await confirmReplace(terminal, options);
        await act(terminal, 'resume', options);
      }),
    );
  oneRun(parent, 'cancel', 'cancel a run permanently; loaded events stay')
    .option('--yes', 'do not ask')
    .action(
      runBy(async (options) => {
        await confirm(terminal.process, 'Cancel the run permanently?', options);
        await act(terminal, 'cancel', options);
      }),
    );
  oneRun(
    parent,
    'retry-rejected',
    'check and load the staged records of a completed run again, to accept records that were rejected',
  ).action(runBy((options) => act(terminal, 'retry_rejected', options)));
  oneRun(parent, 'promote', 'run a trial again without its limit (with --config)').action(
    runBy((options) => act(terminal, 'promote', options)),
  );
}

/** Adds `undo`. */
export function addUndoCommand(parent: Command, terminal: Terminal): void {
  oneRun(parent, 'undo', 'undo an import in a service: delete its events and rebuild the persons they changed')
    .option('--dry-run', 'show what would be undone, without changes')
    .option('--yes', 'do not ask')
    .action(runBy((options: UndoOptions) => undo(terminal, options)));
}

interface UndoOptions extends OneRunOptions {
  readonly dryRun?: boolean;
}

async function undo(terminal: Terminal, options: UndoOptions): Promise<void> {
  const { runs, id } = await undoable(options);
  const plan = await runs.undoPlan(id);
  if (options.json === true && options.dryRun === true) return terminal.json(plan);
  if (options.json !== true) showUndoPlan(terminal, id, plan);
  if (options.dryRun === true) return;
  await confirm(terminal.process, `Undo run ${id}, with ${counted(plan.events, 'event')}?`, options);
  await watchRun(terminal, runs, options, await runs.undo(id));
}

/** Returns the service that stored the run, and its id there. */
async function undoable(options: UndoOptions): Promise<{ readonly runs: ServerRuns; readonly id: string }> {
  const { run } = options;
  if (options.config !== undefined) {
    const runs = serverRunsOf(options, options.config);
    return { runs, id: (await runs.find(run)).id };
  }
  const { registeredRun } = await import('./registered-runs.ts');
  const found = await registeredRun(options, run);
  return { runs: serverRuns(projectApi({ ...options, ...found.service }), commandLineConfig), id: found.id };
}

/** Config id of runs of the command line. */
const commandLineConfig = 0;

/** Options as commander gives them. */
export interface ReplaceOptions {
  readonly replace?: boolean | readonly string[];
  readonly yes?: boolean;
}

/** Adds what to do about earlier runs of the same records. */
export function addSameRecordsOptions(command: Command): Command {
  return command
    .option('--again', 'load although an earlier run created other events from the same records')
    .option(
      '--replace [run...]',
      'undo earlier runs and load these records instead; default: the run of the same records',
    );
}

/** Asks before earlier runs are undone. */
export async function confirmReplace({ process }: Terminal, options: ReplaceOptions): Promise<void> {
  const { replace } = options;
  if (replace === undefined || replace === false) return;
  const runs = replace === true ? 'the earlier run of the same records' : replace.join(', ');
  await confirm(process, `Undo ${runs}, once the new records have passed their check?`, options);
}

/** Converts the option for the API. */
export function replaceOf({ replace }: ReplaceOptions): Pick<ImportRunResume, 'replace'> {
  if (replace === undefined || replace === false) return {};
  return { replace: replace === true ? true : [...replace] };
}

function addChanges(command: Command): Command {
  return command
    .option('--rejected-max <share>', 'share of records that may be rejected: 1% or 0.01')
    .option('--speed <events>', 'maximum events per second; 0: as fast as the target accepts them');
}

async function report(terminal: Terminal, { run, json, html, out, ...options }: OneRunOptions): Promise<void> {
  const runs = await runsOf(options);
  const { id } = await runs.find(run);
  const form = html === true || out?.endsWith('.html') === true ? 'html' : 'json';
  if (html === true || json === true || out !== undefined) {
    return deliver(terminal, (signal) => runs.report(id, form, signal), out);
  }
  const text = await runUntilStopped(terminal.process, async (signal) =>
    Buffer.concat(await Array.fromAsync(runs.report(id, 'json', signal))).toString('utf8'),
  );
  const { showReport } = await import('./show-report.ts');
  showReport(terminal, JSON.parse(text) as ReportResult);
}

async function act(terminal: Terminal, action: RunAction, options: OneRunOptions): Promise<void> {
  const runs = await runsOf(options);
  const { id } = await runs.find(options.run);
  const view = await runs.act(id, action, changesOf(options));
  if (options.json) terminal.json(view);
  else showRuns(terminal, [view]);
  if (options.config === undefined && view.state === 'queued') {
    terminal.note(`"millrace import resume ${id}" shows the command that resumes it`);
  }
}

function changesOf({ rejectedMax, speed, again, ...options }: OneRunOptions): ImportRunResume {
  return {
    ...replaceOf(options),
    ...(again === true && { again }),
    ...(rejectedMax === undefined ? {} : { rejected_max: shareOf('--rejected-max', rejectedMax) }),
    ...(speed === undefined ? {} : { events_per_second: countOf('--speed', speed, 0) }),
  };
}

async function watch(terminal: Terminal, options: OneRunOptions): Promise<void> {
  const runs = await runsOf(options);
  await watchRun(terminal, runs, options, await runs.find(options.run));
}

/** Follows a run. Ctrl-C stops watching, not the run. Errors: CommandError as the run ended. */
export async function watchRun(
  terminal: Terminal,
  runs: ImportRuns,
  { json }: Pick<RunsOptions, 'json'>,
  first: RunView,
): Promise<void> {
  await runUntilStopped(terminal.process, async (signal) => {
    const steps = isFinal(first) ? none() : runs.steps(first.id, signal);
    const view = await follow(terminal, first, steps, { json, progress: true });
    const check = view.state === 'completed' && view.stages === 2 ? await runs.check(view.id) : undefined;
    const isWhole = view.state === 'completed' && view.stages > 2;
    const [compared, checked] = isWhole ? await Promise.all([runs.verify(view.id), runs.check(view.id)]) : [];
    const warnings = checked?.warnings ?? [];
    if (json) terminal.data(JSON.stringify({ type: 'result', ...view, check, warnings, verify: compared }));
    else showEnd(terminal, { view, check, warnings, verify: compared });
    const resume = '"millrace import resume" resumes it';
    const notes = (checked ?? check)?.notes;
    const end = endOf(view, { check, verify: compared, notes }, { paused: resume, failed: resume });
    if (end !== undefined) throw end;
  });
}

/** Follows a trial and undoes it, however it ended. Errors: as the trial ended. */
export async function watchAndUndo(
  terminal: Terminal,
  runs: ServerRuns,
  options: Pick<RunsOptions, 'json'>,
  first: RunView,
): Promise<void> {
  try {
    await watchRun(terminal, runs, options, first);
  } finally {
    const { state } = await runs.find(first.id);
    if (['completed', 'failed', 'cancelled'].includes(state)) {
      await watchRun(terminal, runs, options, await runs.undo(first.id));
    } else terminal.note(`${first.id} is ${state}: "millrace import undo ${first.id}" undoes it once it has ended`);
  }
}

async function* none(): AsyncIterable<never> {}

interface RunEnd extends Findings {
  readonly view: RunView;
}

/** Shows the figures of a run that has ended, and the findings of its last stage. */
export function showEnd(terminal: Terminal, { view, check, warnings = [], verify: compared }: RunEnd): void {
  if (view.state === 'undone') return terminal.data(`run ${view.id} is undone; see "millrace import report"`);
  if (view.state !== 'completed') terminal.note(runLine(view));
  for (const line of totalsLines(view)) terminal.data(line);
  if (check !== undefined) showCheck(terminal, check);
  else for (const warning of warnings) terminal.data(`warning: ${printable(warning)}`);
  if (compared !== undefined) showVerify(terminal, compared);
}

async function verify(terminal: Terminal, options: OneRunOptions): Promise<void> {
  const runs = await runsOf(options);
  const { id } = await runs.find(options.run);
  if (options.again === true) {
    const view = await runs.verifyAgain(id);
    if (options.config !== undefined) return watchRun(terminal, runs, options, view);
    return terminal.note(`${id} will be verified again when its command is repeated`);
  }
  const result = await runs.verify(id);
  if (options.json) terminal.json(result);
  else showVerify(terminal, result);
  const end = verdictEnd(result);
  if (end !== undefined) throw end;
}

/** Writes to stdout or into a file. */
async function deliver(
  terminal: Terminal,
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  out: string | undefined,
): Promise<void> {
  await runUntilStopped(terminal.process, async (signal) => {
    const chunks = Readable.from(open(signal), { objectMode: false });
    if (out === undefined) return pipeline(chunks, terminal.process.stdout, { end: false, signal });
    await pipeline(chunks, createWriteStream(out), { signal });
    terminal.note(`wrote ${out}`);
  });
}
