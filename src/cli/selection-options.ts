import { Option, type Command } from 'commander';
import type { JsonValue } from '../base/json.ts';
import type { EventSelection } from '../wire/contract/event-selection.ts';
import { collect, jsonOf } from './read-arguments.ts';

/** Options that select stored events. */
export interface SelectionOptions {
  readonly event?: readonly string[];
  readonly distinctId?: readonly string[];
  readonly person?: string;
  readonly after?: string;
  readonly before?: string;
  readonly historical?: string;
  readonly run?: string;
  readonly property?: readonly string[];
}

export function addSelectionOptions(command: Command): Command {
  return addConditionOptions(command).option('--person <uuid>', 'only events of this person, under any of its ids');
}

/** All of them except the person. */
export function addConditionOptions(command: Command): Command {
  return command
    .option('--event <name>', 'only events of this name, in which * matches any characters; repeatable', collect)
    .option('--distinct-id <id>', 'only events with this distinct_id; repeatable', collect)
    .option('--after <time>', 'only events from this time on (ISO 8601)')
    .option('--before <time>', 'only events before this time')
    .addOption(
      new Option('--historical <boolean>', 'only imported history (true) or only the rest (false)').choices([
        'true',
        'false',
      ]),
    )
    .option('--run <id>', 'only events of this import run')
    .option('--property <json>', 'only events with this property: {"key","operator","value"}; repeatable', collect);
}

/** Errors: usage, for text that is not JSON. The service validates everything else. */
export function selectionOf(options: SelectionOptions): EventSelection {
  const { event, distinctId, person, after, before, historical, run, property } = options;
  return {
    ...(event && { events: [...event] }),
    ...(distinctId && { distinct_ids: [...distinctId] }),
    ...(person !== undefined && { person_id: person }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(historical !== undefined && { historical_migration: historical === 'true' }),
    ...(run !== undefined && { import_run: run }),
    ...(property && {
      properties: property.map((each) => jsonOf('--property', each) as { key: string; value?: JsonValue }),
    }),
  };
}
