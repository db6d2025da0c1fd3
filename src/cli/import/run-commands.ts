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
import { numberText } from '../progress-line.ts';
import { runUntilStopped } from '../stop-signal.ts';
import { printable, type Terminal } from '../terminal.ts';
import { follow } from './follow.ts';
import type { ImportRuns, RunAction } from './import-runs.ts';
import { addStateDir } from './import-options.ts';
import { endOf, verdictEnd, type Findings } from './outcome.ts';
import { countOf, shareOf } from '../read-arguments.ts';
import { isFinal, type RunView } from './run-view.ts';
import { serverRuns, type ServerRuns } from './server-runs.ts';
import { showCheck, showVerify } from './show-check.ts';
import { runLine, showRuns, totalsLines } from './show-run.ts';
import { showUndoPlan } from './show-undo.ts';

export interface RunsOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly project: string;
  /** Absent: runs of the state directory. */
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

/** Options of commands that act on runs that are there already. */
export function addRunsOptions(command: Command): Command {
  return addStateDir(addServerOptions(command));
}

export function addServerOptions(command: Command): Command {
  command
    .option('--config <id>', 'import app config of a server; without it: what was begun on this machine')
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl));
  // Where an import of this machine can be meant, too, the key is there already.
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

/** A run of this machine is undone in its service, where alone that is known. */
async function listed(terminal: Terminal, options: RunsOptions): Promise<readonly RunView[]> {
  const found = await (await runsOf(options)).list();
  if (options.config !== undefined || found.length === 0) return found;
  const { undoneRuns } = await import('./undone-runs.ts');
  const { ids, unasked } = await undoneRuns(options.stateDir, options.apiKey);
  for (const why of unasked) terminal.note(`whether runs were undone since could not be asked of ${why}`);
  return found.map((view) => (ids.has(view.id) ? undoneView(view) : view));
}

function undoneView(view: RunView): RunView {
  return { ...view, state: 'undone', stage: 'undo', totals: { ...view.totals, loaded: 0, verified: null } };
}

function oneRun(parent: Command, name: string, description: string): Command {
  return addRunsOptions(parent.command(name))
    .description(description)
    .option('--json', 'print JSON')
    .option('--run <id>', 'the run, as "millrace import list" shows it; the newest otherwise');
}

/** `list`, `watch`, `report`, `verify`, `rejected`. */
export function addReadCommands(parent: Command, terminal: Terminal): void {
  addOutputOptions(addRunsOptions(parent.command('list')))
    .description('list the runs of a config, or those begun on this machine')
    .action(async (options: RunsOptions & OutputOptions) => {
      const found = await listed(terminal, options);
      await showList(terminal, options, found, () => showRuns(terminal, found));
    });
  oneRun(parent, 'watch', 'follow a run until nothing happens any more').action((options: OneRunOptions) =>
    watch(terminal, options),
  );
  oneRun(parent, 'report', 'show what a run did; --json gives the whole report')
    .option('--html', 'as one page of HTML')
    .option('--out <file>', 'the whole report into a file: .html gives the page, anything else JSON')
    .action((options: OneRunOptions) => report(terminal, options));
  oneRun(parent, 'verify', 'show what the comparison of what is stored with what was sent has found')
    .option('--again', 'compare once more')
    .action((options: OneRunOptions) => verify(terminal, options));
  oneRun(parent, 'rejected', 'records that did not get in, with the reason, as NDJSON')
    .option('--out <file>', 'into a file')
    .action(async (options: OneRunOptions) => {
      const runs = await runsOf(options);
      const { id } = await runs.find(options.run);
      await deliver(terminal, (signal) => runs.rejected(id, signal), options.out);
    });
}

/** `pause`, `cancel`, `retry-rejected`; `resume` of a server's run. */
export function addActCommands(parent: Command, terminal: Terminal): void {
  oneRun(parent, 'pause', 'pause a run; nothing is lost').action((options: OneRunOptions) =>
    act(terminal, 'pause', options),
  );
  addSameRecordsOptions(addChanges(oneRun(parent, 'resume', 'go on with a run that is paused or has failed')))
    .option('--yes', 'do not ask before earlier runs are taken back')
    .action(async (options: OneRunOptions) => {
      await confirmReplace(terminal, options);
      await act(terminal, 'resume', options);
    });
  oneRun(parent, 'cancel', 'end a run for good; what was loaded stays')
    .option('--yes', 'do not ask')
    .action(async (options: OneRunOptions) => {
      await confirm(terminal.process, 'Cancel the run for good?', options);
      await act(terminal, 'cancel', options);
    });
  oneRun(
    parent,
    'retry-rejected',
    'check and load a completed run anew from what is staged: rejected records get in where they now can',
  ).action((options: OneRunOptions) => act(terminal, 'retry_rejected', options));
  oneRun(parent, 'promote', 'do the full form of a trial (with --config)').action((options: OneRunOptions) =>
    act(terminal, 'promote', options),
  );
}

/** `undo`. */
export function addUndoCommand(parent: Command, terminal: Terminal): void {
  oneRun(parent, 'undo', 'take back what an import stored in a service: its events, and what they made of persons')
    .argument('[run]', 'the run, as "millrace import list" shows it; the newest otherwise')
    .option('--dry-run', 'show what would be taken back; change nothing')
    .option('--yes', 'do not ask')
    .action((run: string | undefined, options: UndoOptions) => undo(terminal, options, run ?? options.run));
}

interface UndoOptions extends OneRunOptions {
  readonly dryRun?: boolean;
}

async function undo(terminal: Terminal, options: UndoOptions, run: string | undefined): Promise<void> {
  const { runs, id } = await undoable(options, run);
  const plan = await runs.undoPlan(id);
  if (options.json === true && options.dryRun === true) return terminal.json(plan);
  if (options.json !== true) showUndoPlan(terminal, id, plan);
  if (options.dryRun === true) return;
  await confirm(terminal.process, `Take back ${numberText(plan.events)} events of run ${id}?`, options);
  await watchRun(terminal, runs, options, await runs.undo(id));
}

/** The service that has stored what is to be taken back, and the id of the run there. */
async function undoable(
  options: UndoOptions,
  run: string | undefined,
): Promise<{ readonly runs: ServerRuns; readonly id: string }> {
  if (options.config !== undefined) {
    const runs = serverRunsOf(options, options.config);
    return { runs, id: (await runs.find(run)).id };
  }
  const { registeredRun } = await import('./registered-run.ts');
  const found = await registeredRun(options, run);
  return { runs: serverRuns(projectApi({ ...options, ...found.service }), ofCommands), id: found.id };
}

/** In place of a config's id: runs of the command line. */
const ofCommands = 0;

/** As commander gives them. */
export interface ReplaceOptions {
  readonly replace?: boolean | readonly string[];
  readonly yes?: boolean;
}

/** What becomes of an earlier run of the same records. */
export function addSameRecordsOptions(command: Command): Command {
  return command
    .option('--again', 'load although an earlier run made other events of the same records')
    .option(
      '--replace [run...]',
      'take back what earlier runs stored, and load these in their place: these runs, or the one of the same records',
    );
}

/** Before anything that takes back events; a dry run needs no word. */
export async function confirmReplace({ process }: Terminal, options: ReplaceOptions): Promise<void> {
  const { replace } = options;
  if (replace === undefined || replace === false) return;
  const runs = replace === true ? 'the earlier run of the same records' : `what ${replace.join(', ')} stored`;
  await confirm(process, `Take back ${runs}, once the new records have passed their check?`, options);
}

/** As the API takes it. */
export function replaceOf({ replace }: ReplaceOptions): Pick<ImportRunResume, 'replace'> {
  if (replace === undefined || replace === false) return {};
  return { replace: replace === true ? true : [...replace] };
}

function addChanges(command: Command): Command {
  return command
    .option('--rejected-max <share>', 'share of the records that may be rejected: 1% or 0.01')
    .option('--speed <events>', 'events per second at most; 0: as fast as the target takes them');
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
    terminal.note(`"millrace import resume --run ${id}" shows the command that goes on with it`);
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

/** Errors: CommandError as the run ended; Ctrl-C ends the watching, not the run. */
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
    const resume = '"millrace import resume" goes on with it';
    const notes = (checked ?? check)?.notes;
    const end = endOf(view, { check, verify: compared, notes }, { paused: resume, failed: resume });
    if (end !== undefined) throw end;
  });
}

/** Of a trial: however it ended, nothing of it stays. Errors: as the trial ended. */
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
    } else terminal.note(`${first.id} is ${state}: "millrace import undo ${first.id}" takes it back once it has ended`);
  }
}

async function* none(): AsyncIterable<never> {}

export interface RunEnd extends Findings {
  readonly view: RunView;
}

/** The figures of a run that has ended, and what its last stage found. */
export function showEnd(terminal: Terminal, { view, check, warnings = [], verify: compared }: RunEnd): void {
  if (view.state === 'undone')
    return terminal.data(`run ${view.id} is taken back; "millrace import report" says what came of it`);
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
    return terminal.note(`${id} will be compared once more when its command is given again`);
  }
  const result = await runs.verify(id);
  if (options.json) terminal.json(result);
  else showVerify(terminal, result);
  const end = verdictEnd(result);
  if (end !== undefined) throw end;
}

/** To stdout or into a file. */
async function deliver(
  terminal: Terminal,
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  out: string | undefined,
): Promise<void> {
  await runUntilStopped(terminal.process, async (signal) => {
    const chunks = Readable.from(open(signal), { objectMode: false });
    if (out === undefined) return pipeline(chunks, terminal.process.stdout, { end: false });
    await pipeline(chunks, createWriteStream(out));
    terminal.note(`written to ${out}`);
  });
}
