import { Option, type Command } from 'commander';
import type { CommandProcess } from '../terminal.ts';
import { profileOf, readProfiles, type Profile } from './profiles.ts';

/** Adds `--profile`, for commands that talk to a service. */
export function addProfileOption(command: Command): Command {
  if (hasOption(command, 'profile')) return command;
  const option = new Option(
    '--profile <name>',
    'profile that stores the service and its keys; see "millrace profiles"',
  );
  return command.addOption(option.env('MILLRACE_PROFILE'));
}

export function hasOption(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name);
}

/** Tells whether a flag or a variable sets an option. */
export function isGiven(command: Command, name: string): boolean {
  return ['cli', 'env'].includes(command.getOptionValueSource(name) ?? '');
}

/** Returns the options that name the service; `--to` does only in commands that send events. */
export function addressesOf(command: Command): readonly string[] {
  const names = hasOption(command, 'projectKey') ? ['url', 'to'] : ['url'];
  return names.filter((name) => hasOption(command, name));
}

/** Options that a profile can set. */
const fields: readonly (readonly [option: string, field: keyof Profile])[] = [
  ['apiKey', 'api_key'],
  ['projectKey', 'project_key'],
  ['project', 'project'],
];

/**
 * Sets options not given as flags or variables from the named or current profile. Its keys and project are used only with its address, so
 * that no key is sent to another service. Errors: those of `profileOf` and `readProfiles`.
 */
export function takeProfile(command: Command, process: Pick<CommandProcess, 'env'>): void {
  if (!hasOption(command, 'profile')) return;
  const profile = selectedProfile(command, process);
  if (profile === undefined) return;
  for (const address of addressesOf(command)) {
    if (!isGiven(command, address)) command.setOptionValueWithSource(address, profile.url, 'config');
    else if (!isSameAddress(String(command.getOptionValue(address)), profile.url)) return;
  }
  for (const [option, field] of fields) {
    const value = profile[field];
    if (value === undefined || !takesOne(command, option) || isGiven(command, option)) continue;
    command.setOptionValueWithSource(option, value, 'config');
  }
}

/** Options with several values (`--project` of `keys create`) are limits and never come from a profile. */
function takesOne(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name && !option.variadic);
}

function selectedProfile(command: Command, process: Pick<CommandProcess, 'env'>): Profile | undefined {
  const named: unknown = command.getOptionValue('profile');
  // Commands on a data directory use a profile only if it is named.
  if (named === undefined && hasOption(command, 'dataDir')) return undefined;
  const known = readProfiles(process);
  if (typeof named === 'string' && named !== '') return profileOf(known, named);
  return known.current === undefined ? undefined : profileOf(known, known.current);
}

/** Compares addresses regardless of their spelling. */
export function isSameAddress(one: string, other: string): boolean {
  const plain = (text: string): string =>
    (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, '').replace(/\/batch$/, '');
  return plain(one) === plain(other);
}
