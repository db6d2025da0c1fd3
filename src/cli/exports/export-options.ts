import { Option, type Command } from 'commander';
import {
  exportCompressions,
  exportFormats,
  exportShapes,
  exportTableNames,
  type ExportStart,
  type ExportTableName,
} from '../../wire/contract/exports.ts';
import type { ApiOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { countOf, jsonOf } from '../read-arguments.ts';
import { addSelectionOptions, selectionOf, type SelectionOptions } from '../selection-options.ts';

export interface ExportOptions extends ApiOptions, SelectionOptions {
  readonly to?: string;
  readonly destination?: string;
  readonly tables: string;
  readonly format: NonNullable<ExportStart['format']>;
  readonly shape: NonNullable<ExportStart['shape']>;
  readonly compression?: ExportStart['compression'];
  readonly rowsPerPart?: string;
}

/** Adds what to export and in which form. */
export function addExportOptions(command: Command): Command {
  const tables = `what to export: ${exportTableNames.join(', ')}`;
  return addSelectionOptions(command.option('--tables <names>', tables, 'events'))
    .addOption(new Option('--format <format>', 'format of the files').choices(exportFormats).default('ndjson'))
    .addOption(
      new Option('--shape <shape>', "millrace: as stored; posthog: columns of PostHog's batch exports")
        .choices(exportShapes)
        .default('millrace'),
    )
    .addOption(new Option('--compression <name>', 'default: gzip, for Parquet zstd').choices(exportCompressions))
    .option('--rows-per-part <number>', 'maximum number of rows of a file');
}

/** Returns the body of the request. Errors: usage. */
export function exportBody(options: ExportOptions): ExportStart {
  const { format, shape, compression, rowsPerPart, destination } = options;
  return {
    tables: tablesOf(options.tables),
    selection: selectionOf(options),
    format,
    shape,
    ...(compression && { compression }),
    ...(rowsPerPart !== undefined && { rows_per_part: countOf('--rows-per-part', rowsPerPart, 1000) }),
    // The service validates it.
    ...(destination !== undefined && {
      destination: jsonOf('--destination', destination) as unknown as NonNullable<ExportStart['destination']>,
    }),
  };
}

function tablesOf(text: string): ExportTableName[] {
  const names = text.split(',').map((each) => each.trim());
  return names.map((name) => {
    const known = exportTableNames.find((each) => each === name);
    if (known !== undefined) return known;
    throw new CommandError('usage', `--tables: expected some of ${exportTableNames.join(', ')}, got: ${name}`);
  });
}
