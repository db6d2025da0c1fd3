import { Option, type Command } from 'commander';
import { addApiOptions, pagesOf, projectApi, type ApiOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord } from '../output.ts';
import { printable, type Terminal } from '../terminal.ts';
import { eventsTailCommand } from './events-tail.ts';

interface EventOptions extends ApiOptions {
  readonly event?: string;
  readonly distinctId?: string;
  readonly after?: string;
  readonly before?: string;
  readonly historical?: string;
  readonly limit?: string;
  readonly interval?: string;
}

interface StoredEvent {
  readonly id: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly historical_migration?: boolean;
}

interface Counts {
  readonly results: readonly { time: string; event: string; historical_migration: boolean; count: number | string }[];
  readonly total: { readonly standard: number | string; readonly historical: number | string };
}

/** Events of a running service: stored ones, and those on their way. */
export function eventsCommand(parent: Command, terminal: Terminal): void {
  const events = parent.command('events').description('stored events of a running service, and those on their way');

  eventsTailCommand(events, terminal);

  withFilter(addApiOptions(events.command('list')))
    .option('--limit <number>', 'how many', '20')
    .addOption(
      new Option('--historical <boolean>', 'only imported history, or only the rest').choices(['true', 'false']),
    )
    .description('list events, newest first')
    .action((options: EventOptions) => list(terminal, options));

  withFilter(addApiOptions(events.command('counts')))
    .addOption(
      new Option('--interval <interval>', 'length of a row').choices(['hour', 'day', 'week', 'month']).default('day'),
    )
    .description('count events by time and name, live and historical apart')
    .action((options: EventOptions) => counts(terminal, options));
}

function withFilter(command: Command): Command {
  return command
    .option('--event <name>', 'only events of this name')
    .option('--distinct-id <id>', 'only events of this person')
    .option('--after <time>', 'only later events (ISO 8601)')
    .option('--before <time>', 'only earlier events (ISO 8601)');
}

function filterOf(options: EventOptions): Record<string, string | undefined> {
  return {
    event: options.event,
    distinct_id: options.distinctId,
    after: options.after,
    before: options.before,
    historical_migration: options.historical,
  };
}

async function list(terminal: Terminal, options: EventOptions): Promise<void> {
  const api = projectApi(options);
  const max = positive('--limit', options.limit ?? '20');
  const pages = pagesOf<StoredEvent>(api, `${api.root}/events/`, filterOf(options), max);
  if (options.output === 'json' || options.output === 'yaml') {
    return showList(terminal, options, (await Array.fromAsync(pages)).flat(), () => undefined);
  }
  for await (const page of pages) for (const event of page) show(terminal, event, options);
}

function show(terminal: Terminal, event: StoredEvent, { json, output }: EventOptions): void {
  if (output === 'ndjson' || (json && output === undefined)) return terminal.data(JSON.stringify(event));
  const mark = event.historical_migration ? '  (historical)' : '';
  terminal.data(`${event.timestamp}  ${printable(event.event)}  ${printable(event.distinct_id)}${mark}`);
}

async function counts(terminal: Terminal, options: EventOptions): Promise<void> {
  const api = projectApi(options);
  const query = { ...filterOf(options), interval: options.interval };
  const found = await api.get<Counts>(`${api.root}/events/counts/`, query);
  await showRecord(terminal, options, found, () => {
    const rows = found.results.map((each) => [
      each.time,
      each.event,
      each.historical_migration ? 'historical' : 'standard',
      String(each.count),
    ]);
    terminal.table(['TIME', 'EVENT', 'KIND', 'COUNT'], rows);
    terminal.data(`total: ${found.total.standard} standard, ${found.total.historical} historical`);
  });
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new CommandError('usage', `${option}: expected a number above 0, got: ${text}`);
}
