import type { Command, Option } from 'commander';
import { addressesOf } from './profiles/take-profile.ts';
import { takenFrom } from './settle-options.ts';

/** The words of one argument, or of one option and its value. */
export type WordGroup = readonly string[];

/** What stands for a secret. */
export const placeholder = '…';

/** Options whose value is a key. What names the file of a key is no secret. */
const secretOptions: ReadonlySet<string> = new Set(['apiKey', 'projectKey', 'token', 'personalApiKey']);

/** What is shown of a value; undefined: nothing, and its option is not repeated. `option`: its attribute, empty for an argument. */
export type ShownValue = (option: string, value: string) => string | undefined;

/**
 * The words with which a command can be given again: arguments and options as they were typed, and an address that came from a
 * variable or a profile, because it may be another one next time. A typed key becomes a placeholder; the one of a variable or a
 * profile is not repeated.
 */
export function givenWords(command: Command, shown: ShownValue = (_, value) => value): WordGroup[] {
  const operands = command.args.map((arg): WordGroup => [shown('', arg) ?? placeholder]);
  const options = command.options.flatMap((option) => optionWords(command, option, shown));
  // What looks like a flag is one, unless it follows two dashes.
  if (command.args.every((arg) => !arg.startsWith('-'))) return [...operands, ...options];
  return [...options, ['--'], ...operands];
}

function optionWords(command: Command, option: Option, shown: ShownValue): WordGroup[] {
  const name = option.attributeName();
  const flag = option.long ?? option.short ?? '';
  const value: unknown = command.getOptionValue(name);
  if (option.hidden || !isRepeated(command, option) || value === undefined) return [];
  if (typeof value === 'boolean') return value === option.negate || shown(name, '') === undefined ? [] : [[flag]];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.flatMap((each) => {
    const text = secretOptions.has(name)
      ? (takenFrom(command, name) ?? keyPlaceholder(String(each)))
      : shown(name, String(each));
    return text === undefined ? [] : [[flag, text]];
  });
}

function isRepeated(command: Command, option: Option): boolean {
  const name = option.attributeName();
  const source = command.getOptionValueSource(name);
  if (source === 'cli') return true;
  return (source === 'env' || source === 'config') && addressesOf(command).includes(name);
}

/** How a key begins says what it is a key of. */
export function keyPlaceholder(key: string): string {
  return `${/^ph[a-z]_/.exec(key)?.[0] ?? ''}${placeholder}`;
}

/** As a shell takes them. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./…-]+$/.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
