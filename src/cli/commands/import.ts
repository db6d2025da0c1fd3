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

/** Historical imports: run by this process for any service that accepts `/batch/`, or by a server's import app. */
export function importCommand(parent: Command, terminal: Terminal): void {
  const imports = parent
    .command('import')
    .usage('[options] <format> [paths...] | [command]')
    .addHelpText('after', '\nmillrace import help run shows the options of an import');
  addLocal(imports, terminal);
  addPreflight(imports, terminal);
  addUpload(imports, terminal);
  addStart(imports, terminal);
  addReadCommands(imports, terminal);
  addActCommands(imports, terminal);
  addUndoCommand(imports, terminal);
  addExample(imports, terminal);
}

/** Refuses an option that users try on growing files. */
function refuseFollow(): never {
  throw new CommandError(
    'usage',
    '--follow: an import reads existing records and ends. Import completed files or a copy, and send new events ' +
      'as they happen, with a client library or POST /batch/',
  );
}

// The engine takes longer to load than most commands take to run.
const loadRunHere = () => import('../import/run-here.ts');

function addLocal(imports: Command, terminal: Terminal): void {
  const run = imports
    .command('run', { isDefault: true })
    .description('import records; the same command resumes the import');
  addRunOptions(addTargetOptions(addSourceOptions(run, true)))
    .option('--check', 'only convert and check the records; send nothing')
    .option('--report <file>', 'write the report to a file: .html for the page, otherwise JSON')
    .addOption(new Option('--replace [run]', 'only with "import start --config"').hideHelp())
    .addOption(new Option('--follow', 'not supported').argParser(refuseFollow).hideHelp())
    .action(async (format: string, paths: readonly string[], options: ImportOptions, command: Command) => {
      const { runHere } = await loadRunHere();
      await runHere(terminal, requestOf(format, paths, options, process.cwd()), options, command);
    });

  const check = imports.command('check').description('convert and check all records and report problems; send nothing');
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
    .description('show what would be fetched and estimate the duration; send nothing');
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
    .argument('<file>', 'local file')
    .option('--name <name>', 'name on the service; default: the name of the file')
    .option('--resume', 'resume a partial upload; default: replace it')
    .description('upload a file to a service for its import apps')
    .action(async (path: string, options: UploadOptions) => {
      const { uploadFile } = await import('../import/upload.ts');
      const file = await uploadFile(terminal, options, path);
      await showRecord(terminal, options, file, () => terminal.data(file.path));
    });
}

function addPreflight(imports: Command, terminal: Terminal): void {
  const command = imports
    .command('preflight')
    .description('check target, keys, disk and source, and report what to change; fetch and send nothing');
  addPreflightMs(addServerOptions(addTargetOptions(addSourceOptions(command, false))))
    .option('--json', 'print JSON')
    .action(async (format: string | undefined, paths: readonly string[], options: ImportOptions & StartOptions) => {
      const result = await preflight(terminal, format, paths, options);
      if (options.json === true) terminal.json(result);
      else showPreflight(terminal, result);
      const end = endOfPreflight(result);
      if (end !== undefined) throw end;
    });
}

async function preflight(
  terminal: Terminal,
  format: string | undefined,
  paths: readonly string[],
  options: ImportOptions & StartOptions,
): Promise<PreflightResult> {
  const { config, stateDir } = options;
  if (config !== undefined) return serverRunsOf(options, config).preflight(runOf(options));
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
    .option('--check', 'stop after the check; send nothing')
    .option('--rejected-max <share>', 'share of records that may be rejected: 1% or 0.01')
    .option('--speed <events>', 'maximum events per second; 0: as fast as the target accepts them')
    .option('--transform <id>', 'transformation config that changes or drops events before the check')
    .option('--no-preflight', 'skip the preflight of target, keys, disk and source')
    .option('--watch', 'follow the run until it pauses or ends')
    .option('--dry-run', 'with --replace: stop after the check and show what would be undone and stored; send nothing')
    .option('--yes', 'do not ask before earlier runs are undone')
    .option('--undo', 'follow a trial and undo it when it has ended')
    .action((options: StartOptions) => {
      if (options.config === undefined) {
        throw new CommandError('usage', 'expected --config; without a server use "millrace import <format> <paths>"');
      }
      return start(terminal, options, options.config);
    });
}

async function start(terminal: Terminal, options: StartOptions, config: string): Promise<void> {
  const runs = serverRunsOf(options, config);
  if (options.undo === true && limitOf(options).limit === undefined) {
    throw new CommandError(
      'usage',
      '--undo: expected --trial or --limit, because only a trial is undone automatically',
    );
  }
  const isDry = options.check === true || options.dryRun === true;
  if (options.dryRun === true && options.replace === undefined) {
    throw new CommandError('usage', '--dry-run: expected --replace; use --check to see what else a run would do');
  }
  if (!isDry) await confirmReplace(terminal, options);
  const view = await runs.create(runOf(options));
  if (options.dryRun === true) return watchRun(terminal, runs, options, view);
  if (options.undo === true) return watchAndUndo(terminal, runs, options, view);
  if (options.watch === true) return watchRun(terminal, runs, options, view);
  if (options.json) terminal.json(view);
  else showRuns(terminal, [view]);
}

/** Returns the options of a run; unset ones are taken from the config's settings. */
function runOf(options: StartOptions): ImportRunCreate {
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
    .description('print made-up example records of a format, one per line, in the shape of a real export')
    .action((slug: string) => {
      const format = findFormat(slug);
      if (format === undefined) {
        throw new CommandError(
          'usage',
          `expected a format: ${formats.map((each) => each.slug).join(', ')}; got: ${slug}`,
        );
      }
      // Text records are printed as lines.
      for (const record of format.example.records) {
        terminal.data(typeof record === 'string' ? record : JSON.stringify(record));
      }
      for (const [key, value] of Object.entries(format.example.options)) {
        terminal.note(`import these records with --format-option '${key}=${value.replaceAll("'", String.raw`'\''`)}'`);
      }
    });
}
