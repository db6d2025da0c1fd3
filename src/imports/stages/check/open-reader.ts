import { createChosenReader } from '../../choosing/chosen-reader.ts';
import type { JoinTable } from '../../choosing/join-table.ts';
import { FormatOptionsError, type Format, type NameTable, type RecordReader } from '../../formats/format.ts';
import { parseNames } from '../../formats/names.ts';
import { createReaderMemory, type Links, type ReaderMemory } from '../../formats/reader-memory.ts';
import { findFormat, formats } from '../../formats/registry.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import type { Run } from '../../run/run.ts';

export interface OpenedReader {
  readonly format: Format;
  readonly names: NameTable;
  readonly read: RecordReader;
  /** Links created up to now. */
  readonly links: Pick<Links, 'has'>;
}

/** The options of a run that decide how its records are read; structured clone. */
export interface ReaderOptions {
  readonly options: Pick<Run['options'], 'format' | 'formatOptions' | 'names' | 'choice'>;
  readonly createdAt: number;
}

/** Opens a reader for the options of the run. Throws RunFailedError. */
export function openReader(
  run: ReaderOptions,
  tables: readonly JoinTable[] = [],
  memory: ReaderMemory = createReaderMemory(),
): OpenedReader {
  const { format: slug, formatOptions, names: given, choice } = run.options;
  const format = findFormat(slug);
  if (format === undefined) {
    const known = formats.map((each) => each.slug).join(', ');
    throw new RunFailedError(`expected one of the formats ${known}, got: ${slug}`, {
      advice: 'startAgain',
    });
  }
  try {
    const names = parseNames(format.names, given);
    const rules = { tables, times: format.times, now: run.createdAt, memory };
    const create = (of: ReaderMemory): RecordReader => format.createReader(formatOptions, names, of);
    return { format, names, read: createChosenReader(create, choice, rules), links: memory.links };
  } catch (cause) {
    if (!(cause instanceof FormatOptionsError)) throw cause;
    throw new RunFailedError(`${cause.message}; correct the format options`, { advice: 'startAgain', cause });
  }
}
