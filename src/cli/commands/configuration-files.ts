import { counted } from '../../base/integer-text.ts';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { addServiceOptions, type ServiceOptions } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { printable, type Terminal } from '../terminal.ts';

// YAML and the built-in plugins take longer to load than most commands take to run.
const loadFiles = () => import('../files/configuration-files.ts');

const fileNameDefault = 'millrace.yaml';

interface FileOptions extends Omit<ServiceOptions, 'project'> {
  readonly json?: boolean;
  readonly file: string;
  readonly project?: string;
  readonly prune?: boolean;
  readonly keepSecrets?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface ExportOptions extends ServiceOptions {
  readonly json?: boolean;
  readonly allProjects?: boolean;
  readonly file?: string;
}

interface ValidateOptions {
  readonly file: string;
  readonly json?: boolean;
  readonly printSchema?: boolean;
}

export function configurationFileCommands(parent: Command, terminal: Terminal): void {
  exportCommand(parent, terminal);
  diffCommand(parent, terminal);
  applyCommand(parent, terminal);
  validateCommand(parent, terminal);
}

function exportCommand(parent: Command, terminal: Terminal): void {
  addServiceOptions(parent.command('export'))
    .option('--json', 'print JSON')
    .option('--all-projects', 'all projects that the key may see')
    .option(
      '-f, --file <file>',
      'write to this file, with the sources of uploaded plugins and an editor schema next to it',
    )
    .action(async (options: ExportOptions) => {
      const { exportConfiguration } = await loadFiles();
      const { text, variables, files, beside } = await exportConfiguration(options, (line) => terminal.note(line));
      const { file } = options;
      if (file !== undefined) {
        await writeAll(file, text, beside);
        terminal.note(`wrote ${[file, ...beside.keys()].join(', ')}`);
      }
      if (options.json) terminal.json({ file: text, variables, files });
      else if (file === undefined) terminal.data(text.trimEnd());
      if (variables.length > 0) terminal.note(`secrets are read from the variables ${variables.join(', ')}`);
      if (files.length > 0) terminal.note(`settings files are not exported; put them at ${files.join(', ')}`);
    });
}

/** @param beside further files by path relative to the output */
async function writeAll(output: string, text: string, beside: ReadonlyMap<string, string>): Promise<void> {
  const folder = dirname(resolve(output));
  const all = new Map([
    [resolve(output), text],
    ...[...beside].map(([path, content]) => [join(folder, path), content] as const),
  ]);
  for (const [path, content] of all) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

function diffCommand(parent: Command, terminal: Terminal): void {
  onService(parent.command('diff')).action(async (options: FileOptions) => {
    const { planFile, planRecord, planSentence, showPlan, isEmptyPlan } = await loadFiles();
    const { plan } = await planFile(options, terminal).catch(notUsage);
    if (options.json) terminal.json(planRecord(plan));
    else showPlan(terminal, plan);
    if (isEmptyPlan(plan)) return terminal.note(planSentence(plan));
    throw new CommandError('differences', planSentence(plan));
  });
}

/** Exit code 2 of `diff` means differences only. */
function notUsage(error: unknown): never {
  if (!(error instanceof CommandError) || error.reason !== 'usage') throw error;
  throw new CommandError('failed', error.message, { cause: error });
}

function applyCommand(parent: Command, terminal: Terminal): void {
  onService(parent.command('apply'))
    .option('--dry-run', 'show what would be done, without changes')
    .option('--yes', 'do not ask')
    .action(async (options: FileOptions) => {
      const { planFile, planRecord, planSentence, showPlan, isEmptyPlan, applyPlan } = await loadFiles();
      const { plan, missing, input } = await planFile(options, terminal);
      if (options.json) terminal.json(planRecord(plan));
      else showPlan(terminal, plan);
      terminal.note(planSentence(plan));
      if (options.dryRun === true) return terminal.note('dry run: nothing was changed');
      if (missing.length > 0) throw missingValues(missing);
      if (isEmptyPlan(plan)) return;
      await confirm(terminal.process, 'Apply these changes?', options);
      await applyPlan({ ...input, note: (line) => terminal.note(`done: ${printable(line)}`) }, plan);
    });
}

function missingValues(missing: readonly string[]): CommandError {
  const list = missing.map((each) => `\n  ${each}`).join('');
  const message = `nothing was changed: these variables or files are missing or empty (--keep-secrets keeps secrets that are set)${list}`;
  return new CommandError('invalidConfig', message);
}

function validateCommand(parent: Command, terminal: Terminal): void {
  withFile(parent.command('validate').option('--json', 'print JSON'))
    .option('--print-schema', 'print the JSON Schema of configuration files for editors')
    .action(async (options: ValidateOptions) => {
      const { configurationFileJsonSchema, validateFile } = await loadFiles();
      if (options.printSchema === true) return terminal.json(configurationFileJsonSchema());
      const { notes, configs, projects } = await validateFile(options.file, terminal.process.stdin);
      if (options.json) terminal.json({ valid: true, notes, projects, configs });
      for (const note of notes) terminal.note(note);
      terminal.note(`valid: ${counted(projects, 'project')}, ${counted(configs, 'config')}`);
    });
}

function onService(command: Command): Command {
  // Without it projects are found by their names in the file.
  const project = new Option('--project <id>', 'number of the project that the file describes, or @current');
  return withFile(addServiceOptions(command, project).option('--json', 'print JSON'))
    .option('--prune', 'delete configs that the file does not list')
    .option('--keep-secrets', 'keep secrets that are set, without reading their references');
}

function withFile(command: Command): Command {
  return command.addOption(new Option('-f, --file <file>', 'configuration file; - for stdin').default(fileNameDefault));
}
