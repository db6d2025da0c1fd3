import { Option, type Command } from 'commander';
import type { CommandProcess } from '../terminal.ts';
import { profileOf, readProfiles, type Profile } from './profiles.ts';

/** For commands that speak to a server. */
export function addProfileOption(command: Command): Command {
  if (hasOption(command, 'profile')) return command;
  const option = new Option('--profile <name>', 'server and keys as "millrace profiles add" has stored them');
  return command.addOption(option.env('MILLRACE_PROFILE'));
}

export function hasOption(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name);
}

/** Whether a flag or a variable says it. */
export function isGiven(command: Command, name: string): boolean {
  return ['cli', 'env'].includes(command.getOptionValueSource(name) ?? '');
}

/** Options that name the server; `--to` of a command that sends no events is something else. */
export function addressesOf(command: Command): readonly string[] {
  const names = hasOption(command, 'projectKey') ? ['url', 'to'] : ['url'];
  return names.filter((name) => hasOption(command, name));
}

/** Values of options that come from a profile. */
const fields: readonly (readonly [option: string, field: keyof Profile])[] = [
  ['apiKey', 'api_key'],
  ['projectKey', 'project_key'],
  ['project', 'project'],
];

/**
 * What flags and variables leave open comes from the profile that is named, or in use. Keys and project belong to its address: with
 * another one they are not taken, so that no key reaches a server that it is not for. Errors: those of `profileOf`, `readProfiles`.
 */
export function takeProfile(command: Command, process: Pick<CommandProcess, 'env'>): void {
  if (!hasOption(command, 'profile')) return;
  const profile = chosen(command, process);
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

/** Several values limit what a command does, as of `keys create`, and are never taken from a profile. */
function takesOne(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name && !option.variadic);
}

function chosen(command: Command, process: Pick<CommandProcess, 'env'>): Profile | undefined {
  const named: unknown = command.getOptionValue('profile');
  // Where a command works on a data directory, a service has to be named.
  if (named === undefined && hasOption(command, 'dataDir')) return undefined;
  const known = readProfiles(process);
  if (typeof named === 'string' && named !== '') return profileOf(known, named);
  return known.current === undefined ? undefined : profileOf(known, known.current);
}

/** However it is written. */
export function isSameAddress(one: string, other: string): boolean {
  const plain = (text: string): string =>
    (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, '').replace(/\/batch$/, '');
  return plain(one) === plain(other);
}
