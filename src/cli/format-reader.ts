import type { JsonObject } from '../base/json.ts';
import { FormatOptionsError, type Format, type FormatOptions, type RecordReader } from '../imports/formats/format.ts';
import { parseNames } from '../imports/formats/names.ts';
import type { ReaderMemory } from '../imports/formats/reader-memory.ts';
import { CommandError } from './exit-codes.ts';
import { jsonObjectIn } from './read-arguments.ts';

/** Options of the format of records, as commander gives them. */
export interface FormatArguments {
  /** `key=value`; `key=@file` takes the value from a file. */
  readonly formatOption?: readonly string[];
  /** A file with a table of names. */
  readonly names?: string;
}

/** Reads the file of `--names`. Errors: usage. */
export function namesIn({ names }: FormatArguments): JsonObject | undefined {
  return names === undefined ? undefined : jsonObjectIn('--names', names);
}

/** Creates the reader of a format. Errors: usage, when an option or the table of names does not fit the format. */
export function createFormatReader(
  format: Format,
  options: FormatOptions,
  names: JsonObject | undefined,
  memory?: ReaderMemory,
): RecordReader {
  try {
    return format.createReader(options, parseNames(format.names, names), memory);
  } catch (error) {
    if (error instanceof FormatOptionsError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}
