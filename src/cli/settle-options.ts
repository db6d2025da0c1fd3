import type { Command } from 'commander';
import { takeOldNames } from './old-names.ts';
import { addressesOf, hasOption, isSameAddress, takeProfile } from './profiles/take-profile.ts';
import { textOrFile } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

/** Before any command that speaks to a server acts: old names, files that hold keys, the profile. Errors: CommandError. */
export function settleOptions(command: Command, terminal: Terminal): void {
  for (const [name, flag] of [
    ['apiKey', '--api-key'],
    ['projectKey', '--project-key'],
    ['token', '--token'],
    ['personalApiKey', '--personal-api-key'],
  ] as const) {
    const value: unknown = command.getOptionValue(name);
    if (!hasOption(command, name) || typeof value !== 'string' || !value.startsWith('@')) continue;
    command.setOptionValueWithSource(name, textOrFile(flag, value), command.getOptionValueSource(name));
    command.setOptionValue(fileOption(name), value);
  }
  takeOldNames(command, terminal);
  leaveForeignKey(command, terminal);
  takeProfile(command, terminal.process);
}

/** How an option names the file from which its value was taken: `@key.txt`; undefined: it names none. */
export function takenFrom(command: Command, name: string): string | undefined {
  const file: unknown = command.getOptionValue(fileOption(name));
  return typeof file === 'string' ? file : undefined;
}

function fileOption(name: string): string {
  return `${name}File`;
}

/** MILLRACE_API_KEY is for the service of MILLRACE_URL: where events go elsewhere, it stays here. */
function leaveForeignKey(command: Command, { process: { env } }: Terminal): void {
  if (!addressesOf(command).includes('to') || command.getOptionValueSource('apiKey') !== 'env') return;
  const { MILLRACE_URL: own } = env;
  if (own === undefined || command.getOptionValueSource('to') !== 'cli') return;
  if (isSameAddress(String(command.getOptionValue('to')), own)) return;
  command.setOptionValueWithSource('apiKey', undefined, undefined);
}
