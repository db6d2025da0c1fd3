import { Option, type Command } from 'commander';
import type { HistoricalMigrationRecord } from '../../wire/contract/historical-migrations.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly state?: string;
  readonly source: string;
  readonly method: string;
  readonly events: string;
  readonly speed: string;
  readonly note?: string;
  readonly yes?: boolean;
}

const decisions = [
  ['approve', 'approve a filed agreement (operators only)'],
  ['reject', 'reject a filed agreement (operators only)'],
  ['end', 'end an approved agreement'],
] as const;

const listMax = 1000;

export function agreementsCommand(parent: Command, terminal: Terminal): void {
  const agreements = parent.command('agreements');

  addApiOptions(agreements.command('list'))
    .addOption(new Option('--state <state>', 'only in this state').choices(['filed', 'approved', 'rejected', 'ended']))
    .description('list the agreements of a project, newest first')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const path = `${api.root}/historical_migrations/`;
      const found = await listUpTo<HistoricalMigrationRecord>(api, path, { state: options.state }, listMax);
      await showList(terminal, options, found, () => showAgreements(terminal, found));
    });

  addApiOptions(agreements.command('file'))
    .requiredOption('--source <text>', 'source of the events, such as the previous tool')
    .requiredOption('--method <text>', 'how they are sent, such as an import app or a script')
    .requiredOption('--events <number>', 'total number of events')
    .requiredOption('--speed <number>', 'maximum events per second')
    .option('--note <text>', 'additional information')
    .description('file an agreement for a historical import')
    .action(async ({ source, method, events, speed, note, ...options }: Options) => {
      const api = projectApi(options);
      const body = {
        source,
        method,
        total_events: countOf('--events', events, 1),
        events_per_second: countOf('--speed', speed, 1),
        ...(note !== undefined && { note }),
      };
      const filed = await api.send<HistoricalMigrationRecord>('POST', `${api.root}/historical_migrations/`, body);
      await showAgreement(terminal, options, filed);
    });

  for (const [verb, description] of decisions) {
    addApiOptions(agreements.command(verb))
      .argument('<id>', 'id of the agreement')
      .option('--note <text>', 'reason')
      .option('--yes', 'do not ask')
      .description(description)
      .action(async (id: string, options: Options) => {
        const api = projectApi(options);
        if (verb !== 'approve') await confirm(terminal.process, `Agreement ${id}: ${verb} it permanently?`, options);
        const path = `${api.root}/historical_migrations/${encodeURIComponent(id)}/${verb}/`;
        const body = options.note === undefined ? {} : { note: options.note };
        await showAgreement(terminal, options, await api.send<HistoricalMigrationRecord>('POST', path, body));
      });
  }
}

function showAgreement(terminal: Terminal, options: OutputOptions, agreement: HistoricalMigrationRecord) {
  return showRecord(terminal, options, agreement, () => showAgreements(terminal, [agreement]));
}

function showAgreements(terminal: Terminal, agreements: readonly HistoricalMigrationRecord[]): void {
  showTable(terminal, agreements, {
    ID: ({ id }) => id,
    STATE: ({ state }) => state,
    SOURCE: ({ source }) => source,
    METHOD: ({ method }) => method,
    EVENTS: (each) => numberText(each.total_events),
    'PER SECOND': (each) => numberText(each.events_per_second),
    FILED: ({ created_at }) => created_at,
    NOTE: ({ note }) => note || '-',
  });
}
