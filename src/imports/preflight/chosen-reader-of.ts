import { createChosenReader } from '../choosing/chosen-reader.ts';
import type { JoinTable } from '../choosing/join-table.ts';
import { FormatOptionsError, type RecordReader } from '../formats/format.ts';
import { parseNames } from '../formats/names.ts';
import { findFormat } from '../formats/registry.ts';
import type { RunOptions } from '../run/run.ts';

/** Creates the reader of a run with these options. `now` in ms. Throws FormatOptionsError. */
export function chosenReaderOf(
  { format: slug, formatOptions, names, choice }: RunOptions,
  now: number,
  tables: readonly JoinTable[] = [],
): RecordReader {
  const format = findFormat(slug);
  if (format === undefined) throw new FormatOptionsError(`this program has no format "${slug}"`);
  const table = parseNames(format.names, names);
  return createChosenReader((memory) => format.createReader(formatOptions, table, memory), choice, {
    tables,
    times: format.times,
    now,
  });
}
