import type { Command } from 'commander';
import type {
  RetentionPass,
  RetentionPolicy,
  RetentionPreview,
  RetentionRecord,
} from '../../wire/contract/retention.ts';
import { bytesText } from '../../imports/stages/report/figures.ts';
import { addApiOptions, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { collect } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface ChangeOptions extends ApiOptions {
  readonly liveDays?: string;
  readonly historicalDays?: string;
  readonly event?: readonly string[];
  readonly withoutEvent?: readonly string[];
  readonly yes?: boolean;
}

type KeptDays = Pick<RetentionPolicy, 'live_days' | 'historical_days'>;

const forever = 'forever';

export function retentionCommand(parent: Command, terminal: Terminal): void {
  const retention = parent.command('retention');

  addApiOptions(retention.command('show'))
    .description('show how long the events of a project are kept, and what the service keeps for how long')
    .action(async (options: ApiOptions) => {
      const api = projectApi(options);
      const record = await api.get<RetentionRecord>(pathOf(api));
      await showRecord(terminal, options, record, () => showRetention(terminal, record));
    });

  addChangeOptions(retention.command('preview'))
    .description('count by month, name and kind the events that the policy, with these changes, would remove now')
    .action(async (options: ChangeOptions) => {
      const api = projectApi(options);
      const policy = changed(await api.get<RetentionRecord>(pathOf(api)), options);
      const preview = await previewOf(api, policy);
      await showRecord(terminal, options, preview, () => showPreview(terminal, preview));
    });

  addChangeOptions(retention.command('set'))
    .option('--yes', 'do not ask')
    .description('change how long events are kept; asks with the number of events that this removes')
    .action(async (options: ChangeOptions) => {
      const api = projectApi(options);
      const policy = changed(await api.get<RetentionRecord>(pathOf(api)), options);
      const preview = await previewOf(api, policy);
      if (preview.newly_expired > 0) {
        const size = `${numberText(preview.events)} events (about ${bytesText(preview.bytes)})`;
        const question = `This policy removes ${size} permanently, from the next night on. Save it?`;
        await confirm(terminal.process, question, options);
      }
      const body = { ...policy, expected_events: preview.events };
      const record = await api.send<RetentionRecord>('PUT', pathOf(api), body);
      await showRecord(terminal, options, record, () => showRetention(terminal, record));
    });
}

function addChangeOptions(command: Command): Command {
  return addApiOptions(command)
    .option('--live-days <days>', `days that live events are kept, or "${forever}"`)
    .option('--historical-days <days>', `days that historical events are kept, or "${forever}"`)
    .option(
      '--event <name=days>',
      'days for events of this name: NAME=30, or NAME=30/365 for live/historical (repeatable)',
      collect,
    )
    .option('--without-event <name>', 'removes the days of this name (repeatable)', collect);
}

function pathOf({ root }: ProjectApi): string {
  return `${root}/retention/`;
}

function previewOf(api: ProjectApi, policy: RetentionPolicy): Promise<RetentionPreview> {
  return api.send<RetentionPreview>('POST', `${pathOf(api)}preview/`, policy);
}

/** Applies the options to the current policy. Errors: usage. */
function changed(
  { live_days, historical_days, events }: RetentionRecord,
  { liveDays, historicalDays, event = [], withoutEvent = [] }: ChangeOptions,
): RetentionPolicy {
  const rules = new Map(events.map((rule) => [rule.event, rule]));
  for (const name of withoutEvent) {
    if (!rules.delete(name)) throw new CommandError('usage', `--without-event: the policy has no days for ${name}`);
  }
  for (const text of event) {
    const rule = ruleOf(text);
    rules.set(rule.event, rule);
  }
  return {
    live_days: liveDays === undefined ? live_days : daysOf('--live-days', liveDays),
    historical_days: historicalDays === undefined ? historical_days : daysOf('--historical-days', historicalDays),
    events: [...rules.values()],
  };
}

/** A name may contain `=`. Errors: usage. */
function ruleOf(text: string): RetentionPolicy['events'][number] {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new CommandError('usage', `--event: expected NAME=DAYS, got: ${text}`);
  const [live = '', historical = live, more] = text.slice(at + 1).split('/');
  if (more !== undefined) throw new CommandError('usage', `--event: expected NAME=LIVE/HISTORICAL, got: ${text}`);
  return {
    event: text.slice(0, at),
    live_days: daysOf('--event', live),
    historical_days: daysOf('--event', historical),
  };
}

/** Errors: usage. */
function daysOf(option: string, text: string): number | null {
  if (text === forever) return null;
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new CommandError('usage', `${option}: expected days from 1 to 36500 or "${forever}", got: ${text}`);
}

function daysText(days: number | null): string {
  return days === null ? forever : `${numberText(days)} days`;
}

function showRetention(terminal: Terminal, record: RetentionRecord): void {
  const { service, last_pass: last } = record;
  const rows: readonly (KeptDays & { readonly event: string })[] = [
    { ...record, event: '(all others)' },
    ...record.events,
  ];
  showTable(terminal, rows, {
    EVENT: ({ event }) => event,
    LIVE: ({ live_days }) => daysText(live_days),
    HISTORICAL: ({ historical_days }) => daysText(historical_days),
  });
  terminal.data('');
  const days = (count: number): string => (count === 0 ? forever : daysText(count));
  showFields(terminal, {
    'next removal': record.next_pass_at ?? '-',
    'last removal': last === null ? '-' : passText(last),
    'dead letters': days(service.dead_letter_days),
    'hourly counts': days(service.count_days),
    'activity log': days(service.activity_days),
    'plugin logs': days(service.plugin_log_days),
    uploads: days(service.import_upload_days),
    'staged records of ended runs': daysText(service.import_keep_days),
    'scheduled runs': daysText(service.import_run_days),
  });
}

function passText({ ended_at, dropped_rows, deleted_rows, bytes }: RetentionPass): string {
  return `${ended_at}: ${numberText(dropped_rows + deleted_rows)} rows, about ${bytesText(bytes)}`;
}

function showPreview(terminal: Terminal, preview: RetentionPreview): void {
  showTable(terminal, preview.cells, {
    MONTH: ({ month }) => month,
    EVENT: ({ event }) => event,
    KIND: (cell) => (cell.historical_migration ? 'historical' : 'live'),
    EVENTS: ({ events }) => numberText(events),
    SIZE: ({ bytes }) => bytesText(bytes),
  });
  const newly = `${numberText(preview.newly_expired)} of them kept by the current policy`;
  terminal.note(`${numberText(preview.events)} events in all, about ${bytesText(preview.bytes)}; ${newly}`);
  if (preview.is_truncated) terminal.note('only the first 5,000 lines are shown; the numbers count all');
}
