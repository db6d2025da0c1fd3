import type { RunOptions } from './run.ts';
import type { ForeignFiles } from '../source.ts';
import { FormatOptionsError } from '../formats/format.ts';
import { parseNames } from '../formats/names.ts';
import { createRecordTest } from '../formats/record-test.ts';
import { findFormat } from '../formats/registry.ts';

/** Returns `undefined` if the format is unknown or its options are invalid, which the check reports. */
export function foreignFiles(
  { format: slug, formatOptions, names }: Pick<RunOptions, 'format' | 'formatOptions' | 'names'>,
  leftOut: ForeignFiles['leftOut'],
): ForeignFiles | undefined {
  const format = findFormat(slug);
  if (format === undefined) return undefined;
  try {
    const table = parseNames(format.names, names);
    return { isRecord: createRecordTest(format, format.createReader(formatOptions, table), formatOptions), leftOut };
  } catch (error) {
    if (error instanceof FormatOptionsError) return undefined;
    throw error;
  }
}
