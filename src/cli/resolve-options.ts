import { Option, type Command } from 'commander';
import { inWords } from '../base/words.ts';
import { CommandError } from './exit-codes.ts';
import { addressesOf, hasOption, isGiven, isSameAddress, takeProfile } from './profiles/take-profile.ts';
import { textOrFile } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

const keyOptions = [
  ['apiKey', '--api-key'],
  ['projectKey', '--project-key'],
  ['token', '--token'],
  ['personalApiKey', '--personal-api-key'],
] as const;

/** Resolves former option names, files that contain keys, and the profile, before a command runs. Errors: CommandError. */
export function resolveOptions(command: Command, terminal: Terminal): void {
  for (const [name, flag] of keyOptions) {
    const value: unknown = command.getOptionValue(name);
    if (!hasOption(command, name) || typeof value !== 'string' || !value.startsWith('@')) continue;
    command.setOptionValueWithSource(name, textOrFile(flag, value), command.getOptionValueSource(name));
    command.setOptionValue(fileAttribute(name), value);
  }
  takeFormerNames(command, terminal);
  dropForeignKey(command, terminal);
  takeProfile(command, terminal.process);
}

/** Returns the file (`@key.txt`) that an option was read from, or `undefined`. */
export function fileOfOption(command: Command, name: string): string | undefined {
  const file: unknown = command.getOptionValue(fileAttribute(name));
  return typeof file === 'string' ? file : undefined;
}

function fileAttribute(name: string): string {
  return `${name}File`;
}

/** MILLRACE_API_KEY belongs to the service of MILLRACE_URL, so it is not sent to another one. */
function dropForeignKey(command: Command, { process: { env } }: Terminal): void {
  if (!addressesOf(command).includes('to') || command.getOptionValueSource('apiKey') !== 'env') return;
  const { MILLRACE_URL: own } = env;
  if (own === undefined || command.getOptionValueSource('to') !== 'cli') return;
  if (isSameAddress(String(command.getOptionValue('to')), own)) return;
  command.setOptionValueWithSource('apiKey', undefined, undefined);
}

/** Former names of options, which still work and are hidden from the help. */
const formerNames = {
  token: { flags: '--token <key>', now: 'apiKey', shown: '--api-key' },
  personalApiKey: { flags: '--personal-api-key <key>', now: 'apiKey', shown: '--api-key' },
} as const;

export function addFormerName(command: Command, name: keyof typeof formerNames): Command {
  return hasOption(command, name) ? command : command.addOption(new Option(formerNames[name].flags).hideHelp());
}

/** Adds `--api-key` to commands that need no personal key, where it used to be the project's key. */
export function addFormerApiKey(command: Command): Command {
  return command.addOption(new Option('--api-key <key>').hideHelp());
}

function takeFormerNames(command: Command, terminal: Terminal): void {
  takeProjectKey(command, terminal);
  for (const [name, { now, shown }] of Object.entries(formerNames)) {
    if (!hasOption(command, name) || command.getOptionValueSource(name) !== 'cli') continue;
    terminal.note(`--${inWords(name, '-')} is now ${shown}; the old name still works`);
    if (command.getOptionValueSource(now) === 'cli') continue;
    command.setOptionValueWithSource(now, command.getOptionValue(name), 'cli');
  }
}

/** Commands that send events used to take the project's key as `--api-key`, which is the personal key now. */
function takeProjectKey(command: Command, terminal: Terminal): void {
  if (!hasOption(command, 'projectKey')) return;
  refusePersonalKey(command);
  if (command.getOptionValueSource('apiKey') !== 'cli') return;
  const key = String(command.getOptionValue('apiKey'));
  if (!isProjectKey(command, key)) return;
  if (isGiven(command, 'projectKey') && !isGiven(command, 'personalApiKey')) {
    throw new CommandError(
      'usage',
      '--api-key: expected a personal key (phx_…), got a project key, which belongs in --project-key; "millrace keys create" creates a personal key',
    );
  }
  terminal.note('--api-key is for personal keys and still accepts a project key; use --project-key for that');
  if (command.getOptionValueSource('projectKey') !== 'cli') {
    command.setOptionValueWithSource('projectKey', key, 'cli');
  }
  command.setOptionValueWithSource('apiKey', undefined, undefined);
}

function refusePersonalKey(command: Command): void {
  const key: unknown = command.getOptionValue('projectKey');
  if (typeof key !== 'string' || !key.startsWith('phx_')) return;
  throw new CommandError(
    'usage',
    '--project-key: expected a project key (phc_…), got a personal key, which belongs in --api-key; "millrace projects list" shows project keys',
  );
}

/** Recognises a project key by its prefix; a key of another service, which may start differently, by the other options given. */
function isProjectKey(command: Command, key: string): boolean {
  if (key.startsWith('phx_')) return false;
  const isAlone = !isGiven(command, 'projectKey') || command.getOptionValueSource('personalApiKey') === 'cli';
  return key.startsWith('phc_') || isAlone;
}
