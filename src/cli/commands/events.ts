import {
  addApiOptions,
  pagesOf,
  projectApi,
  type ApiOptions,
  addServiceOptions,
  type ProjectApi,
} from '../api-options.ts';
import { showList, showRecord } from '../output.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import { backoffMs } from '../../base/retry.ts';
import {
  liveEventsPerSecondDefault,
  liveEventsPerSecondMax,
  liveStages,
  type LiveEvent,
  type LiveSkipped,
} from '../../wire/contract/live-events.ts';
import { CommandError } from '../exit-codes.ts';
import { addExportOptions } from '../exports/export-options.ts';
import type { StartOptions } from '../exports/export-events.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import { runUntilStopped } from '../stop-signal.ts';
import { numberText } from '../progress-line.ts';
import { printable, type Terminal } from '../terminal.ts';

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
  readonly results: readonly { time: string; event: string; historical_migration: boolean; count: number }[];
  readonly total: { readonly standard: number; readonly historical: number };
}

export function eventsCommand(parent: Command, terminal: Terminal): void {
  const events = parent.command('events');

  tailCommand(events, terminal);

  withFilter(addApiOptions(events.command('list')))
    .option('--limit <number>', 'number of events', '20')
    .addOption(
      new Option('--historical <boolean>', 'only imported history (true) or only the rest (false)').choices([
        'true',
        'false',
      ]),
    )
    .description('list events, newest first')
    .action((options: EventOptions) => list(terminal, options));

  withFilter(addApiOptions(events.command('counts')))
    .addOption(
      new Option('--interval <interval>', 'interval of a row').choices(['hour', 'day', 'week', 'month']).default('day'),
    )
    .description('count events by time and name, live and historical separately')
    .action((options: EventOptions) => counts(terminal, options));

  exportCommand(events, terminal);
}

function exportCommand(events: Command, terminal: Terminal): void {
  addExportOptions(addApiOptions(events.command('export')))
    .option('--to <dir>', 'directory to download the files to; created if missing')
    .option('--destination <json|@file>', 'bucket or container that receives the files instead, with its keys')
    .option('--detach', 'only start the export; "exports download" gets its files')
    .option('--keep', 'also keep downloaded files in the service')
    .option('--dry-run', 'only count what would be exported')
    .description('export events, and persons and groups if wanted, to files with a manifest')
    .action(async (options: StartOptions) => {
      // Loaded when it is needed.
      const { exportEvents } = await import('../exports/export-events.ts');
      await exportEvents(terminal, options);
    });
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
      numberText(each.count),
    ]);
    terminal.table(['TIME', 'EVENT', 'KIND', 'COUNT'], rows);
    const { standard, historical } = found.total;
    terminal.data(`total: ${numberText(standard)} standard, ${numberText(historical)} historical`);
  });
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new CommandError('usage', `${option}: expected a number above 0, got: ${text}`);
}

interface TailOptions extends ApiOptions {
  readonly event?: string;
  readonly distinctId?: string;
  readonly stage: readonly string[];
  readonly rate: string;
}

const retriesMax = 10;

/** The stages that end processing: each event is shown once, with its outcome. */
const finalStages = ['stored', 'dropped', 'dead_letter'] as const;

function tailCommand(events: Command, terminal: Terminal): void {
  addServiceOptions(events.command('tail'))
    .option('--json', 'print JSON, one object per line')
    .option('--event <name>', 'only events of this name')
    .option('--distinct-id <id>', 'only events of this person')
    .addOption(
      new Option('--stage <stage...>', 'only events at these stages').choices(liveStages).default([...finalStages]),
    )
    .option(
      '--rate <number>',
      `events per second and stage, at most ${liveEventsPerSecondMax}; the others are counted`,
      String(liveEventsPerSecondDefault),
    )
    .description('follow events as they arrive, imported history included, with their outcome')
    .action((options: TailOptions) => runUntilStopped(terminal.process, (signal) => tail(terminal, options, signal)));
}

/** Follows until Ctrl-C. Reconnects after a failure, a limited number of times in a row; the first connection must succeed. */
async function tail(terminal: Terminal, options: TailOptions, signal: AbortSignal): Promise<never> {
  const api = projectApi(options);
  const path = pathOf(api, options);
  let connected = false;
  for (let failures = 0; ; failures += 1) {
    try {
      const response = await api.open(path, 'text/event-stream', signal);
      terminal.note(connected ? 'reconnected' : 'waiting for events; Ctrl-C stops');
      connected = true;
      failures = 0;
      for await (const { event, data } of serverSentEvents(response)) showLive(terminal, options, event, data);
    } catch (error) {
      signal.throwIfAborted();
      if (!connected || !isLost(error) || failures >= retriesMax) throw error;
    }
    if (failures === 0) terminal.note('connection lost; events that arrive before it is restored are not shown');
    await sleep(backoffMs(failures, 500, 15_000), undefined, { signal });
  }
}

function pathOf({ root }: ProjectApi, { event, distinctId, stage, rate }: TailOptions): string {
  const query = new URLSearchParams({ stages: stage.join(','), events_per_second: String(rateOf(rate)) });
  if (event !== undefined) query.set('event', event);
  if (distinctId !== undefined) query.set('distinct_id', distinctId);
  return `${root}/live_events/?${query.toString()}`;
}

function rateOf(text: string): number {
  const rate = Number(text);
  if (Number.isInteger(rate) && rate >= 1 && rate <= liveEventsPerSecondMax) return rate;
  throw new CommandError('usage', `--rate: expected a whole number from 1 to ${liveEventsPerSecondMax}, got: ${text}`);
}

function isLost(error: unknown): boolean {
  return !(error instanceof CommandError) || ['unreachable', 'rateLimited'].includes(error.reason);
}

function showLive(terminal: Terminal, { json }: TailOptions, kind: string | undefined, data: string): void {
  if (kind === 'skipped') terminal.note(skippedText(JSON.parse(data) as LiveSkipped));
  // Printed as received, so that numbers keep every digit.
  else if (kind === 'event') terminal.data(json ? data : lineOf(JSON.parse(data) as LiveEvent));
}

const stageChars = Math.max(...liveStages.map((stage) => stage.length));

function lineOf({ at, stage, event, distinct_id, timestamp, historical_migration, reason }: LiveEvent): string {
  const history = historical_migration ? `  (historical, of ${timestamp ?? 'no time'})` : '';
  const why = reason === null ? '' : `  ${printable(reason)}`;
  return `${at}  ${stage.padEnd(stageChars)}  ${named(event)}  ${printable(distinct_id)}${history}${why}`;
}

/** A refused event may lack a name. */
function named(event: string): string {
  return event === '' ? '(no name)' : printable(event);
}

function skippedText({ rate, slow }: LiveSkipped): string {
  const counted = [rate, slow].flatMap((each) => Object.entries(each));
  const parts = counted.map(([stage, count]) => `${count.toLocaleString('en')} ${stage.replace('_', ' ')}`);
  return `not shown: ${parts.join(', ')}; --rate shows more per second`;
}
