import { setTimeout } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import {
  destinationKinds,
  noticeEventsOf,
  type DeliveryRecord,
  type DestinationRecord,
  type NewDestinationRecord,
} from '../../wire/contract/notices.ts';
import { addApiOptions, listAll, listUpTo, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import { collect, countOf, textOrFile } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly service?: boolean;
  readonly name?: string;
  readonly kind?: string;
  readonly email?: readonly string[];
  readonly address?: string;
  readonly secret?: string;
  readonly event?: readonly string[];
  readonly enable?: boolean;
  readonly disable?: boolean;
  readonly limit?: string;
  readonly yes?: boolean;
}

/** A test is sent once; the service polls for it every two seconds. */
const testTimeoutMs = 75_000;
const pollMs = 300;

export function noticesCommand(parent: Command, terminal: Terminal): void {
  const notices = parent.command('notifications').alias('notices');
  listCommand(notices, terminal);
  createCommand(notices, terminal);
  updateCommand(notices, terminal);
  deleteCommand(notices, terminal);
  testCommand(notices, terminal);
  deliveriesCommand(notices, terminal);
}

function command(notices: Command, name: string): Command {
  return addApiOptions(notices.command(name)).option(
    '--service',
    'notifications about the whole service (disk, lag) instead of a project; admins only',
  );
}

function fieldOptions(made: Command): Command {
  const events = [...noticeEventsOf('project'), ...noticeEventsOf('service')].join(', ');
  return made
    .option('--address <url>', 'webhook or Slack: address to post to; @file reads it')
    .option('--email <email>', 'e-mail: recipient; repeatable', collect)
    .option('--secret <key>', 'webhook: key that signs requests; @file reads it')
    .option('--event <name>', `event to report, default all: ${events}; repeatable`, collect);
}

function listCommand(notices: Command, terminal: Terminal): void {
  command(notices, 'list')
    .description('list the destinations, oldest first')
    .action(async (options: Options) => {
      const { api, path } = placeOf(options);
      const found = await listAll<DestinationRecord>(api, path);
      await showList(terminal, options, found, () => showDestinations(terminal, found));
    });
}

function createCommand(notices: Command, terminal: Terminal): void {
  fieldOptions(command(notices, 'create'))
    .requiredOption('--name <name>', 'name to show')
    .addOption(
      new Option('--kind <kind>', 'how notifications are sent').choices(destinationKinds).makeOptionMandatory(),
    )
    .option('--disable', 'create it disabled')
    .description('create a destination; the signing key of a webhook is printed only once')
    .action(async (options: Options) => {
      const { api, path } = placeOf(options);
      const { name, kind } = options;
      const made = await api.send<NewDestinationRecord>('POST', path, { name, kind, ...fieldsOf(options) });
      await showRecord(terminal, options, made, () => {
        showDestinations(terminal, [made]);
        if (made.secret !== null) terminal.note(`signing key, not shown again: ${made.secret}`);
      });
    });
}

function updateCommand(notices: Command, terminal: Terminal): void {
  fieldOptions(command(notices, 'update'))
    .argument('<id>', 'id of the destination')
    .option('--name <name>', 'name to show')
    .option('--enable', 'enable it')
    .option('--disable', 'disable it')
    .description('change a destination; other fields stay as they are')
    .action(async (id: string, options: Options) => {
      const { api, path } = placeOf(options);
      const { name } = options;
      const body = { ...(name !== undefined && { name }), ...fieldsOf(options) };
      await showDestination(terminal, options, await api.send<DestinationRecord>('PATCH', `${path}${part(id)}/`, body));
    });
}

function deleteCommand(notices: Command, terminal: Terminal): void {
  command(notices, 'delete')
    .argument('<id>', 'id of the destination')
    .option('--yes', 'do not ask')
    .description('delete a destination and its pending notifications')
    .action(async (id: string, options: Options) => {
      const { api, path } = placeOf(options);
      await confirm(terminal.process, `Delete destination ${id} permanently?`, options);
      await api.send('DELETE', `${path}${part(id)}/`);
      terminal.note(`deleted ${id}`);
    });
}

function testCommand(notices: Command, terminal: Terminal): void {
  command(notices, 'test')
    .argument('<id>', 'id of the destination')
    .description('send a test notification and wait for the outcome; fails when it is not delivered')
    .action(async (id: string, options: Options) => {
      const { api, path } = placeOf(options);
      const begun = await api.send<DeliveryRecord>('POST', `${path}${part(id)}/test/`);
      const ended = await endOf(api, `${path}${part(id)}/deliveries/${begun.id}/`);
      await showRecord(terminal, options, ended, () => showDeliveries(terminal, [ended]));
      if (ended.state === 'sent') return;
      const reason = ended.error === '' ? 'no process with the role jobs has claimed it yet' : ended.error;
      throw new CommandError('failed', `the test was not sent: ${reason}`);
    });
}

function deliveriesCommand(notices: Command, terminal: Terminal): void {
  command(notices, 'deliveries')
    .argument('<id>', 'id of the destination')
    .option('--limit <number>', 'number of deliveries', '20')
    .description('list deliveries to a destination, newest first')
    .action(async (id: string, options: Options) => {
      const { api, path } = placeOf(options);
      const max = countOf('--limit', options.limit ?? '20', 1);
      const found = await listUpTo<DeliveryRecord>(api, `${path}${part(id)}/deliveries/`, {}, max);
      await showList(terminal, options, found, () => showDeliveries(terminal, found));
    });
}

function placeOf(options: Options): { readonly api: ProjectApi; readonly path: string } {
  const api = projectApi(options);
  const root = options.service === true ? '/api' : api.root;
  return { api, path: `${root}/notice_destinations/` };
}

function part(id: string): string {
  return encodeURIComponent(id);
}

function fieldsOf({ address, email, secret, event, enable, disable }: Options) {
  if (enable === true && disable === true) throw new CommandError('usage', 'expected --enable or --disable, got both');
  return {
    ...(address !== undefined && { url: textOrFile('--address', address) }),
    ...(email !== undefined && { to: email }),
    ...(secret !== undefined && { secret: textOrFile('--secret', secret) }),
    ...(event !== undefined && { events: event }),
    ...((enable ?? disable) !== undefined && { enabled: enable === true }),
  };
}

async function endOf(api: ProjectApi, path: string): Promise<DeliveryRecord> {
  const until = performance.now() + testTimeoutMs;
  for (;;) {
    const now = await api.get<DeliveryRecord>(path);
    if (now.state === 'sent' || now.state === 'failed' || performance.now() > until) return now;
    await setTimeout(pollMs);
  }
}

function showDestination(terminal: Terminal, options: OutputOptions, destination: DestinationRecord): Promise<void> {
  return showRecord(terminal, options, destination, () => showDestinations(terminal, [destination]));
}

function showDestinations(terminal: Terminal, destinations: readonly DestinationRecord[]): void {
  showTable(terminal, destinations, {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    KIND: ({ kind }) => kind,
    TO: ({ url, to }) => url ?? to.join(', '),
    EVENTS: ({ events }) => events.join(', '),
    STATE: ({ enabled }) => (enabled ? 'on' : 'off'),
  });
}

function showDeliveries(terminal: Terminal, deliveries: readonly DeliveryRecord[]): void {
  showTable(terminal, deliveries, {
    ID: ({ id }) => id,
    STATE: ({ state }) => state,
    EVENT: ({ notice }) => (notice.state === 'happened' ? notice.event : `${notice.event} ${notice.state}`),
    ATTEMPTS: ({ attempts, attempts_max: max }) => `${attempts} of ${max}`,
    CREATED: ({ created_at }) => created_at,
    SUMMARY: ({ notice }) => notice.summary,
    ERROR: ({ error }) => error || '-',
  });
}
