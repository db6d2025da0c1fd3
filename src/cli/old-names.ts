import { Option, type Command } from 'commander';
import { inWords } from '../base/words.ts';
import { CommandError } from './exit-codes.ts';
import { hasOption, isGiven } from './profiles/take-profile.ts';
import type { Terminal } from './terminal.ts';

/** Names of options of before, which still work. */
const names = {
  token: { flags: '--token <key>', now: 'apiKey', shown: '--api-key' },
  personalApiKey: { flags: '--personal-api-key <key>', now: 'apiKey', shown: '--api-key' },
} as const;

/** Not in the help any more. */
export function addOldName(command: Command, name: keyof typeof names): Command {
  return hasOption(command, name) ? command : command.addOption(new Option(names[name].flags).hideHelp());
}

/** `--api-key` of commands that have no use for a personal one: it was the project's. */
export function addOldApiKey(command: Command): Command {
  return command.addOption(new Option('--api-key <key>').hideHelp());
}

/** What was given under an old name is taken under the new one, which is said. */
export function takeOldNames(command: Command, terminal: Terminal): void {
  takeProjectKey(command, terminal);
  for (const [name, { now, shown }] of Object.entries(names)) {
    if (!hasOption(command, name) || command.getOptionValueSource(name) !== 'cli') continue;
    terminal.note(`--${inWords(name, '-')} is now ${shown}; the old name still works`);
    if (command.getOptionValueSource(now) === 'cli') continue;
    command.setOptionValueWithSource(now, command.getOptionValue(name), 'cli');
  }
}

/** `--api-key` was the project's key where events are sent, and is the personal one now. */
function takeProjectKey(command: Command, terminal: Terminal): void {
  if (!hasOption(command, 'projectKey') || command.getOptionValueSource('apiKey') !== 'cli') return;
  const key = String(command.getOptionValue('apiKey'));
  if (!isProjectKey(command, key)) return;
  if (isGiven(command, 'projectKey') && !isGiven(command, 'personalApiKey')) {
    throw new CommandError(
      'usage',
      '--api-key: expected a personal key (phx_…), got the key of a project, which is given as --project-key; "millrace keys create" makes a personal key',
    );
  }
  terminal.note(
    'the key of a project is now given as --project-key; --api-key, which is the personal key, still takes it',
  );
  if (command.getOptionValueSource('projectKey') !== 'cli') {
    command.setOptionValueWithSource('projectKey', key, 'cli');
  }
  command.setOptionValueWithSource('apiKey', undefined, undefined);
}

/** By how keys begin; one of another service, which may begin otherwise, by what else is given. */
function isProjectKey(command: Command, key: string): boolean {
  if (key.startsWith('phx_')) return false;
  const isAlone = !isGiven(command, 'projectKey') || command.getOptionValueSource('personalApiKey') === 'cli';
  return key.startsWith('phc_') || isAlone;
}
