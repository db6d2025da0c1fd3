import { readFileSync } from 'node:fs';
import { FormatOptionsError, type FormatOptions, type NameTable } from '../../imports/formats/format.ts';
import { parseNames } from '../../imports/formats/names.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import { CommandError } from '../exit-codes.ts';
import { createConverter } from './to-events.ts';

/** What the command line says about the format of the records. */
export interface FormatArguments {
  readonly from: string;
  readonly duplicates: 'keep' | 'drop';
  /** `key=value`; `key=@file` takes the value from a file. */
  readonly formatOption?: readonly string[];
  /** A file with a table of names. */
  readonly names?: string;
}

/** The converter that the command line asks for. Errors: usage, before anything is read or sent. */
export function converterFor(given: FormatArguments): ReturnType<typeof createConverter> {
  const { from, duplicates, formatOption = [], names } = given;
  return asUsage(() =>
    createConverter(from, {
      duplicates,
      options: optionsOf(formatOption),
      names: names === undefined ? undefined : namesIn(names, tableOf(from, '--names')),
    }),
  );
}

/** A format's table of names. Errors: usage. */
export function tableOf(from: string, option: string): NameTable {
  const format = findFormat(from);
  if (format !== undefined) return format.names;
  throw new CommandError('usage', `${option}: ${from} have no table of names; choose a format with --from`);
}

function asUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FormatOptionsError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

function optionsOf(pairs: readonly string[]): FormatOptions {
  const options = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new CommandError('usage', `--format-option: expected key=value, got: ${pair.slice(0, 60)}`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (options.has(key)) throw new CommandError('usage', `--format-option: expected ${key} once`);
    options.set(key, value.startsWith('@') ? textOf('--format-option', value.slice(1)) : value);
  }
  return Object.fromEntries(options);
}

function namesIn(path: string, standard: NameTable): NameTable {
  let table: unknown;
  const text = textOf('--names', path);
  try {
    table = JSON.parse(text);
  } catch (cause) {
    throw new CommandError('usage', `--names: expected JSON in ${path}; ${(cause as Error).message}`, { cause });
  }
  return parseNames(standard, table);
}

function textOf(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new CommandError('usage', `${option}: cannot read ${path} (${reason})`, { cause });
  }
}
