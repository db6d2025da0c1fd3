import type { Command } from 'commander';
import { projectApi } from '../api-options.ts';
import { addActCommands } from '../configs/act-on-configs.ts';
import { addChangeCommands } from '../configs/change-configs.ts';
import { findConfig, listConfigs, onConfig, onConfigs, type ConfigOptions } from '../configs/find-config.ts';
import { showConfigs, showWholeConfig } from '../configs/show-configs.ts';
import { addWatchCommands } from '../configs/watch-configs.ts';
import { showList, showRecord } from '../output.ts';
import type { Terminal } from '../terminal.ts';

interface ListOptions extends ConfigOptions {
  readonly search?: string;
  readonly failing?: boolean;
  readonly deleted?: boolean;
}

/** Plugin configs of both families, over the API of a running service. */
export function configsCommand(parent: Command, terminal: Terminal): void {
  const configs = parent
    .command('configs')
    .description('plugin configs of a running service: import apps and transformations');

  onConfigs(configs.command('list'))
    .option('--search <text>', 'only those with this text in name, description or plugin')
    .option('--failing', 'only those with an error')
    .option('--deleted', 'those in the bin')
    .description('list the configs, in order')
    .action(async (options: ListOptions) => {
      const { search, failing, deleted } = options;
      const query = { search, failing: whenTrue(failing), deleted: whenTrue(deleted) };
      const records = await listConfigs(projectApi(options), options, query);
      await showList(terminal, options, records, () => showConfigs(terminal, records));
    });

  onConfig(configs.command('show'))
    .description('show a config with its settings; secrets are masked')
    .action(async (id: string, options: ConfigOptions) => {
      const { record } = await findConfig(projectApi(options), id, options);
      await showRecord(terminal, options, record, () => showWholeConfig(terminal, record));
    });

  addChangeCommands(configs, terminal);
  addWatchCommands(configs, terminal);
  addActCommands(configs, terminal);
}

function whenTrue(isWanted: boolean | undefined): string | undefined {
  return isWanted === true ? 'true' : undefined;
}
