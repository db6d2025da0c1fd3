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
import { collect, countOf, jsonOf } from '../read-arguments.ts';
import type { JsonValue } from '../../base/json.ts';

export interface ExportOptions extends ApiOptions {
  readonly to?: string;
  readonly destination?: string;
  readonly tables: string;
  readonly event?: readonly string[];
  readonly distinctId?: readonly string[];
  readonly person?: string;
  readonly after?: string;
  readonly before?: string;
  readonly historical?: string;
  readonly run?: string;
  readonly property?: readonly string[];
  readonly format: NonNullable<ExportStart['format']>;
  readonly shape: NonNullable<ExportStart['shape']>;
  readonly compression?: ExportStart['compression'];
  readonly rowsPerPart?: string;
}

/** Adds what to export and in which form. */
export function addExportOptions(command: Command): Command {
  return command
    .option('--tables <names>', `what to export: ${exportTableNames.join(', ')}`, 'events')
    .option('--event <name>', 'only events of this name, in which * matches any characters; repeatable', collect)
    .option('--distinct-id <id>', 'only events with this distinct_id; repeatable', collect)
    .option('--person <uuid>', 'only events of this person, under any of its ids')
    .option('--after <time>', 'only events from this time on (ISO 8601)')
    .option('--before <time>', 'only events before this time')
    .addOption(
      new Option('--historical <boolean>', 'only imported history (true) or only the rest (false)').choices([
        'true',
        'false',
      ]),
    )
    .option('--run <id>', 'only events of this import run')
    .option('--property <json>', 'only events with this property: {"key","operator","value"}; repeatable', collect)
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

function selectionOf(options: ExportOptions): NonNullable<ExportStart['selection']> {
  const { event, distinctId, person, after, before, historical, run, property } = options;
  return {
    ...(event && { events: [...event] }),
    ...(distinctId && { distinct_ids: [...distinctId] }),
    ...(person !== undefined && { person_id: person }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(historical !== undefined && { historical_migration: historical === 'true' }),
    ...(run !== undefined && { import_run: run }),
    // The service validates them.
    ...(property && {
      properties: property.map((each) => jsonOf('--property', each) as { key: string; value?: JsonValue }),
    }),
  };
}
