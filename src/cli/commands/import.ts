import { Option, type Command } from 'commander';
import type { PreflightResult } from '../../wire/contract/import-preflight.ts';
import type { ImportRunCreate } from '../../wire/contract/import-runs.ts';
import { findFormat, formats } from '../../imports/formats/registry.ts';
import { addApiOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import {
  addPreflightMs,
  addRangeOptions,
  addRunOptions,
  addSourceOptions,
  addTargetOptions,
  preflightMsOf,
  type ImportOptions,
  type RunScopeOptions,
} from '../import/import-options.ts';
import { addChoiceOptions, choiceOf } from '../import/choice-options.ts';
import type { UploadOptions } from '../import/upload.ts';
import { showRecord } from '../output.ts';
import { countOf, shareOf } from '../read-arguments.ts';
import { limitOf, rangeOf, requestOf } from '../import/request.ts';
import {
  addActCommands,
  addReadCommands,
  addRunsOptions,
  addSameRecordsOptions,
  addServerOptions,
  addUndoCommand,
  confirmReplace,
  replaceOf,
  serverRunsOf,
  watchAndUndo,
  watchRun,
  type ReplaceOptions,
  type RunsOptions,
} from '../import/run-commands.ts';
import { endOfPreflight, showPreflight } from '../import/show-preflight.ts';
import { showRuns } from '../import/show-run.ts';
import type { Terminal } from '../terminal.ts';

/** Historical imports: by this process to any service that speaks `/batch/`, or by a server's import app. */
export function importCommand(parent: Command, terminal: Terminal): void {
  const imports = parent
    .command('import')
    .description('import history: from files or another tool, to any service that speaks /batch/, exactly once')
    .usage('[options] <format> [paths...] | [command]')
    .addHelpText('after', '\nmillrace import help run: the options of an import');
  addHere(imports, terminal);
  addPreflight(imports, terminal);
  addUpload(imports, terminal);
  addStart(imports, terminal);
  addReadCommands(imports, terminal);
  addActCommands(imports, terminal);
  addUndoCommand(imports, terminal);
  addExample(imports, terminal);
}

/** What people try on a file that is still written to. */
function refuseFollow(): never {
  throw new CommandError(
    'usage',
    '--follow: an import reads what is there and ends. Import what is finished (a copy, or the files that are not written to ' +
      'any more); what comes from now on is sent as it happens, with a client library or POST /batch/',
  );
}

/** What this process does itself. The engine takes longer to load than most commands take to run. */
const loadRunHere = () => import('../import/run-here.ts');

function addHere(imports: Command, terminal: Terminal): void {
  const run = imports.command('run', { isDefault: true }).description('import records; the same command again goes on');
  addRunOptions(addTargetOptions(addSourceOptions(run, true)))
    .option('--check', 'convert and examine everything, send nothing')
    .option('--report <file>', 'write the report; .html gives the page, anything else JSON')
    .addOption(new Option('--replace [run]', 'only with "import start --config"').hideHelp())
    .addOption(new Option('--follow', 'an import ends: it follows nothing').argParser(refuseFollow).hideHelp())
    .action(async (format: string, paths: readonly string[], options: ImportOptions, command: Command) => {
      const { runHere } = await loadRunHere();
      await runHere(terminal, requestOf(format, paths, options, process.cwd()), options, command);
    });

  const check = imports.command('check').description('convert and examine everything, send nothing, say what is wrong');
  addRunOptions(addServerOptions(addTargetOptions(addSourceOptions(check, false)))).action(
    async (
      format: string | undefined,
      paths: readonly string[],
      given: ImportOptions & StartOptions,
      command: Command,
    ) => {
      const options = { ...given, check: true };
      if (options.config !== undefined) return start(terminal, { ...options, watch: true }, options.config);
      if (format === undefined) throw new CommandError('usage', 'expected a format and paths, or --config');
      const { runHere } = await loadRunHere();
      await runHere(terminal, requestOf(format, paths, options, process.cwd()), options, command);
    },
  );

  const plan = imports
    .command('plan')
    .description('show what would be fetched, and how long it may take; send nothing');
  addTargetOptions(addSourceOptions(plan, true))
    .option('--json', 'print JSON')
    .action(async (format: string, paths: readonly string[], options: ImportOptions) => {
      const { showPlan } = await import('../import/show-plan.ts');
      const request = requestOf(format, paths, { ...options, check: true }, process.cwd());
      await showPlan(terminal, request, options.json === true);
    });
}

function addUpload(imports: Command, terminal: Terminal): void {
  addApiOptions(imports.command('upload'))
    .argument('<file>', 'a file of this machine')
    .option('--name <name>', 'what it is called there; default: its own name')
    .option('--resume', 'go on behind what is there of it; without it what is there is replaced')
    .description('bring a file to a service, for its import apps')
    .action(async (path: string, options: UploadOptions) => {
      const { uploadFile } = await import('../import/upload.ts');
      const file = await uploadFile(terminal, options, path);
      await showRecord(terminal, options, file, () => terminal.data(file.path));
    });
}

function addPreflight(imports: Command, terminal: Terminal): void {
  const command = imports
    .command('preflight')
    .description('look at target, keys, disk and source, and say what to change; fetch and send nothing');
  addPreflightMs(addServerOptions(addTargetOptions(addSourceOptions(command, false))))
    .option('--json', 'print JSON')
    .action(async (format: string | undefined, paths: readonly string[], options: ImportOptions & StartOptions) => {
      const result = await lookFirst(terminal, format, paths, options);
      if (options.json === true) terminal.json(result);
      else showPreflight(terminal, result);
      const end = endOfPreflight(result);
      if (end !== undefined) throw end;
    });
}

async function lookFirst(
  terminal: Terminal,
  format: string | undefined,
  paths: readonly string[],
  options: ImportOptions & StartOptions,
): Promise<PreflightResult> {
  const { config, stateDir } = options;
  if (config !== undefined) return serverRunsOf(options, config).preflight(orderOf(options));
  if (format === undefined) throw new CommandError('usage', 'expected a format and paths, or --config');
  const [{ preflightHere }, { withTimes }, { transformHere }] = await Promise.all([
    import('../import/preflight-here.ts'),
    import('../import/open-source.ts'),
    import('../import/transform-here.ts'),
  ]);
  await using here = await transformHere(terminal, withTimes(requestOf(format, paths, options, process.cwd())));
  return await preflightHere(terminal, { ...here, stateDir, limitMs: preflightMsOf(options) });
}

interface StartOptions extends RunsOptions, RunScopeOptions, ReplaceOptions {
  /** Id of a transformation config. */
  readonly transform?: string;
  readonly watch?: boolean;
  readonly undo?: boolean;
  readonly again?: boolean;
  readonly dryRun?: boolean;
  /** False: `--no-preflight`. */
  readonly preflight?: boolean;
}

function addStart(imports: Command, terminal: Terminal): void {
  addSameRecordsOptions(
    addChoiceOptions(addRangeOptions(addRunsOptions(imports.command('start').option('--json', 'print JSON')))),
  )
    .description("start a run of a server's import app config")
    .option('--check', 'up to the check: nothing is sent')
    .option('--rejected-max <share>', 'share of the records that may be rejected: 1% or 0.01')
    .option('--speed <events>', 'events per second at most; 0: as fast as the target takes them')
    .option('--transform <id>', 'transformation config whose code changes or drops each event before the check')
    .option('--no-preflight', 'begin without a look at target, keys, disk and source')
    .option('--watch', 'follow it until nothing happens any more')
    .option(
      '--dry-run',
      'with --replace: up to the check, and show what would be taken back and stored; nothing is sent',
    )
    .option('--yes', 'do not ask before earlier runs are taken back')
    .option('--undo', 'of a trial: follow it, and take back what it stored when it has ended')
    .action((options: StartOptions) => {
      if (options.config === undefined) {
        throw new CommandError('usage', 'expected --config; "millrace import <format> <paths>" needs no server');
      }
      return start(terminal, options, options.config);
    });
}

async function start(terminal: Terminal, options: StartOptions, config: string): Promise<void> {
  const runs = serverRunsOf(options, config);
  if (options.undo === true && limitOf(options).limit === undefined) {
    throw new CommandError('usage', 'expected --trial or --limit with --undo: only a trial is taken back by itself');
  }
  const isDry = options.check === true || options.dryRun === true;
  if (options.dryRun === true && options.replace === undefined) {
    throw new CommandError('usage', 'expected --replace with --dry-run: what else a run would do shows --check');
  }
  if (!isDry) await confirmReplace(terminal, options);
  const view = await runs.create(orderOf(options));
  if (options.dryRun === true) return watchRun(terminal, runs, options, view);
  if (options.undo === true) return watchAndUndo(terminal, runs, options, view);
  if (options.watch === true) return watchRun(terminal, runs, options, view);
  if (options.json) terminal.json(view);
  else showRuns(terminal, [view]);
}

/** Unset options leave what the config's settings say. */
function orderOf(options: StartOptions): ImportRunCreate {
  const { check, dryRun, rejectedMax, speed, transform } = options;
  const choose = choiceOf(options);
  return {
    ...rangeOf(options),
    ...limitOf(options),
    ...(choose === undefined ? {} : { choose }),
    ...(transform === undefined ? {} : { transform: countOf('--transform', transform, 1) }),
    ...(options.again === true && { again: true }),
    ...replaceOf(options),
    ...(check === true || dryRun === true ? { last: 'check' as const } : {}),
    ...(rejectedMax === undefined ? {} : { rejected_max: shareOf('--rejected-max', rejectedMax) }),
    ...(speed === undefined ? {} : { events_per_second: countOf('--speed', speed, 0) }),
    ...(options.preflight === false ? { preflight: false } : {}),
  };
}

function addExample(imports: Command, terminal: Terminal): void {
  imports
    .command('example')
    .argument('<format>', `one of ${formats.map(({ slug }) => slug).join(', ')}`)
    .description('print the example records of a format, one a line: made up, in the shape of a real export')
    .action((slug: string) => {
      const format = findFormat(slug);
      if (format === undefined) {
        throw new CommandError(
          'usage',
          `expected a format: ${formats.map((each) => each.slug).join(', ')}; got: ${slug}`,
        );
      }
      // Records that are lines of text come as the lines that they are.
      for (const record of format.example.records) {
        terminal.data(typeof record === 'string' ? record : JSON.stringify(record));
      }
      for (const [key, value] of Object.entries(format.example.options)) {
        terminal.note(`meant with --format-option '${key}=${value.replaceAll("'", String.raw`'\''`)}'`);
      }
    });
}
