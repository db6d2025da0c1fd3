import { Argument, type Command } from 'commander';
import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { addServiceOptions, listAll, listUpTo, projectApi, type ServiceOptions } from '../api-options.ts';
import { completeIdsName, completionScript, idKinds, shells, type IdKind, type Shell } from '../completion-script.ts';
import { listConfigs } from '../configs/find-config.ts';
import { readProfiles } from '../profiles/profiles.ts';
import { resolveOptions } from '../resolve-options.ts';
import { printable, type CommandProcess, type Terminal } from '../terminal.ts';

export function completionCommand(parent: Command, terminal: Terminal): void {
  parent
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .action((shell: Shell) => terminal.data(completionScript(shell, parent)));
  addIdCompletion(parent, terminal);
}

/** Adds the command that the script calls: it prints ids, each with a tab and a label, and nothing without access. */
function addIdCompletion(parent: Command, terminal: Terminal): void {
  addServiceOptions(parent.command(completeIdsName, { hidden: true }))
    .addArgument(new Argument('<kind>', 'kind of ids').choices(idKinds))
    .argument('[words...]', 'words typed before')
    .option('--config <id>', 'config of the runs')
    .description('print ids for the shell')
    .action(async (kind: IdKind, words: readonly string[], _: unknown, command: Command) => {
      takeTypedOptions(command, words);
      resolveOptions(command, terminal);
      const found = await completeIds(kind, command.opts<CompleteOptions>(), terminal.process);
      for (const { id, label } of found) terminal.data(`${id}\t${printable(label)}`);
    });
}

/** Takes the options for the service from the words typed. The last option may lack its value. */
function takeTypedOptions(command: Command, words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    const [flag = '', ...rest] = word.split('=');
    const value = rest.length > 0 ? rest.join('=') : words[at + 1];
    const option = command.options.find(({ long }) => long === flag);
    if (option !== undefined && value !== undefined) {
      command.setOptionValueWithSource(option.attributeName(), value, 'cli');
    }
  }
}

interface KnownId {
  readonly id: string;
  readonly label: string;
}

interface CompleteOptions extends ServiceOptions {
  /** Config whose runs are completed; without it all of the project. */
  readonly config?: string;
}

const runsMax = 50;

/** Returns the ids of a kind. Errors: those of the service. */
async function completeIds(
  kind: IdKind,
  options: CompleteOptions,
  process: Pick<CommandProcess, 'env'>,
): Promise<readonly KnownId[]> {
  if (kind === 'profiles') {
    return Object.entries(readProfiles(process).profiles).map(([id, { url }]) => ({ id, label: url }));
  }
  const api = projectApi(options);
  if (kind === 'projects') {
    const projects = await listAll<ProjectRecord>(api, '/api/projects/');
    return projects.map(({ id, name }) => ({ id: String(id), label: name }));
  }
  if (kind === 'configs') {
    const configs = await listConfigs(api, { ...options }, {});
    return configs.map(({ id, name }) => ({ id: String(id), label: name }));
  }
  const runs = await listUpTo<ImportRunRecord>(api, `${api.root}/import_runs/`, {}, runsMax);
  return runs
    .filter(({ plugin_config: config }) => options.config === undefined || String(config) === options.config)
    .map(({ id, state, created_at: at }) => ({ id, label: `${state}, ${at}` }));
}
