import { Option, type Command } from 'commander';
import { ConfigError, flagName, loadSettings, type LoadedSettings } from '../server/config/load.ts';
import { settingDefinitions, type SettingDefinition, type SettingName } from '../server/config/settings.ts';
import type { CommandProcess } from './terminal.ts';
import { CommandError } from './exit-codes.ts';

const allSettings = Object.keys(settingDefinitions) as SettingName[];

/** Adds one option per setting and `--config-file`. */
export function addSettingOptions(command: Command, names: readonly SettingName[] = allSettings): Command {
  command.option('--config-file <file>', 'JSON file of settings (MILLRACE_CONFIG_FILE)');
  for (const name of names) command.addOption(settingOption(name));
  return command;
}

function settingOption(name: SettingName): Option {
  const definition: SettingDefinition = settingDefinitions[name];
  const argument =
    definition.type === 'boolean' ? '[boolean]' : `<${definition.type === 'integer' ? 'number' : 'value'}>`;
  const option = new Option(
    `${flagName(name)} ${argument}`,
    `${definition.help} (${definition.env}${defaultText(definition)})`,
  );
  return definition.type === 'boolean' ? option.preset('true') : option;
}

function defaultText({ default: value }: SettingDefinition): string {
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text === '' ? '' : `, default ${text}`;
}

/** Loads the settings from flags, environment and file. Errors: CommandError invalidConfig with every problem. */
export function settingsFrom(options: Readonly<Record<string, unknown>>, { env }: CommandProcess): LoadedSettings {
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of allSettings) {
    const value = options[name];
    if (typeof value === 'string') flags[name] = value;
  }
  const file = options['configFile'];
  try {
    return loadSettings({ flags, env, file: typeof file === 'string' ? file : undefined });
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new CommandError('invalidConfig', `invalid configuration\n  ${cause.problems.join('\n  ')}`, { cause });
  }
}
