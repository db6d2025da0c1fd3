import type { Command, Option } from 'commander';
import { addressesOf } from './profiles/take-profile.ts';
import { fileOfOption } from './resolve-options.ts';

/** The words of one argument, or of one option and its value. */
export type WordGroup = readonly string[];

/** Shown instead of a secret. */
export const placeholder = '…';

/** Options whose value is a key. The name of a key file is not a secret. */
const secretOptions: ReadonlySet<string> = new Set(['apiKey', 'projectKey', 'token', 'personalApiKey']);

/**
 * Returns how a value is shown; `undefined` omits its option.
 *
 * @param option attribute name of the option, empty for an argument
 */
export type ShownValue = (option: string, value: string) => string | undefined;

/**
 * Returns the words that repeat a command: arguments and options as typed, and an address that came from a variable or a profile, because
 * that one may differ next time. A typed key becomes a placeholder; a key from a variable or a profile is omitted.
 */
export function givenWords(command: Command, shown: ShownValue = (_, value) => value): WordGroup[] {
  const operands = command.args.map((arg): WordGroup => [shown('', arg) ?? placeholder]);
  const options = command.options.flatMap((option) => optionWords(command, option, shown));
  // An argument that starts with a dash must follow `--`.
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
      ? (fileOfOption(command, name) ?? keyPlaceholder(String(each)))
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

/** Keeps the prefix of a key, which tells its kind. */
export function keyPlaceholder(key: string): string {
  return `${/^ph[a-z]_/.exec(key)?.[0] ?? ''}${placeholder}`;
}

/** Joins words and quotes them for a shell. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./…-]+$/.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
