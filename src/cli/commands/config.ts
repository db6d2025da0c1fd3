import type { Command } from 'commander';
import { fileName } from '../../server/config/load.ts';
import {
  settingDefinitions,
  type SettingDefinition,
  type SettingName,
  type Settings,
} from '../../server/config/settings.ts';
import { addOutputOptions, showRecord, type OutputOptions } from '../output.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

/** Shows the configuration that `serve` would use with the same flags. */
export function configCommand(parent: Command, terminal: Terminal): void {
  const config = parent.command('config');
  addSettingOptions(addOutputOptions(config.command('show')))
    .description('show every setting, its value and its origin; secrets are hidden')
    .action(async (options: OutputOptions) => {
      const { settings, origins } = settingsFrom({ ...options }, terminal.process);
      const names = Object.keys(settingDefinitions) as SettingName[];
      const entries = names.map((name) => [
        fileName(name),
        { value: jsonValue(name, settings), origin: origins[name] },
      ]);
      await showRecord(terminal, options, Object.fromEntries(entries), () =>
        terminal.table(
          ['SETTING', 'VALUE', 'FROM'],
          names.map((name) => [fileName(name), shownValue(name, settings), origins[name]]),
        ),
      );
    });
}

function jsonValue(name: SettingName, settings: Settings): unknown {
  return isSecret(name) ? shownValue(name, settings) : settings[name];
}

function shownValue(name: SettingName, settings: Settings): string {
  const value = settings[name];
  if (value === '') return '(empty)';
  if (isSecret(name)) return '(set, hidden)';
  return Array.isArray(value) ? value.join(',') : String(value);
}

function isSecret(name: SettingName): boolean {
  const definition: SettingDefinition = settingDefinitions[name];
  return definition.secret === true;
}
