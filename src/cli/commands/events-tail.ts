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
import { addServiceOptions, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import { untilStopped } from '../stop-signal.ts';
import { printable, type Terminal } from '../terminal.ts';

interface TailOptions extends ApiOptions {
  readonly event?: string;
  readonly distinctId?: string;
  readonly stage: readonly string[];
  readonly rate: string;
}

const retriesMax = 10;

/** Where an event's way ends: each event shows once, with what became of it. */
const ends = ['stored', 'dropped', 'dead_letter'] as const;

/** Events of a running service as they arrive, whatever time they are of. */
export function eventsTailCommand(events: Command, terminal: Terminal): void {
  addServiceOptions(events.command('tail'))
    .option('--json', 'print JSON, one object a line')
    .option('--event <name>', 'only events of this name')
    .option('--distinct-id <id>', 'only events of this person')
    .addOption(
      new Option('--stage <stage...>', 'only what is seen at these stages').choices(liveStages).default([...ends]),
    )
    .option(
      '--rate <number>',
      `events a second of each stage, at most ${liveEventsPerSecondMax}; the others are counted`,
      String(liveEventsPerSecondDefault),
    )
    .description('print events as they arrive, imported history too, with what became of them')
    .action((options: TailOptions) => untilStopped(terminal.process, (signal) => tail(terminal, options, signal)));
}

/** Until Ctrl-C. A connection that breaks is opened again, a few times in a row at most; the first one has to succeed. */
async function tail(terminal: Terminal, options: TailOptions, signal: AbortSignal): Promise<never> {
  const api = projectApi(options);
  const path = pathOf(api, options);
  let connected = false;
  for (let failures = 0; ; failures += 1) {
    try {
      const response = await api.open(path, 'text/event-stream', signal);
      terminal.note(connected ? 'connected again' : 'waiting for events; Ctrl-C stops');
      connected = true;
      failures = 0;
      for await (const { event, data } of serverSentEvents(response)) show(terminal, options, event, data);
    } catch (error) {
      signal.throwIfAborted();
      if (!connected || !isLost(error) || failures >= retriesMax) throw error;
    }
    if (failures === 0) terminal.note('the connection broke; what arrives until it is back is not shown');
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

function show(terminal: Terminal, { json }: TailOptions, kind: string | undefined, data: string): void {
  if (kind === 'skipped') terminal.note(skippedText(JSON.parse(data) as LiveSkipped));
  // As it came: every digit stays.
  else if (kind === 'event') terminal.data(json ? data : lineOf(JSON.parse(data) as LiveEvent));
}

const stageChars = Math.max(...liveStages.map((stage) => stage.length));

function lineOf({ at, stage, event, distinct_id, timestamp, historical_migration, reason }: LiveEvent): string {
  const history = historical_migration ? `  (historical, of ${timestamp ?? 'no time'})` : '';
  const why = reason === null ? '' : `  ${printable(reason)}`;
  return `${at}  ${stage.padEnd(stageChars)}  ${named(event)}  ${printable(distinct_id)}${history}${why}`;
}

/** What was refused may have no name. */
function named(event: string): string {
  return event === '' ? '(no name)' : printable(event);
}

function skippedText({ rate, slow }: LiveSkipped): string {
  const counted = [rate, slow].flatMap((each) => Object.entries(each));
  const parts = counted.map(([stage, count]) => `${count.toLocaleString('en')} ${stage.replace('_', ' ')}`);
  return `not shown: ${parts.join(', ')}; --rate shows more a second`;
}
