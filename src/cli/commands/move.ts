import { counted } from '../../base/integer-text.ts';
import type { Command } from 'commander';
import { ConfigError, loadSettings } from '../../server/config/load.ts';
import type { SettingName, Settings } from '../../server/config/settings.ts';
import { eventLogOf, isCluster } from '../../server/config/event-log-kind.ts';
import type { MoveProgress } from '../../stores/move/move-progress.ts';
import type { MoveReport } from '../../stores/move/move.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';
import { startProgressLine } from '../progress-line.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';

interface MoveOptions extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
  readonly to?: string;
}

/** Options that name the new stores instead of a file. */
const targetOptions = [
  ['--to-database-url <url>', 'toDatabaseUrl', 'databaseUrl', 'PostgreSQL to move to'],
  ['--to-clickhouse-url <url>', 'toClickhouseUrl', 'clickhouseUrl', 'ClickHouse to move to'],
  ['--to-clickhouse-cluster <name>', 'toClickhouseCluster', 'clickhouseCluster', 'its cluster'],
  ['--to-clickhouse-replicas <addresses>', 'toClickhouseReplicas', 'clickhouseReplicas', 'addresses of its servers'],
  ['--to-kafka-brokers <addresses>', 'toKafkaBrokers', 'kafkaBrokers', 'Kafka of the new event log'],
  ['--to-event-log <place>', 'toEventLog', 'eventLog', '`postgres`: the new event log is in --to-database-url'],
  ['--to-slots <number>', 'toSlots', 'slots', 'slots of the new event log'],
] as const satisfies readonly (readonly [string, string, SettingName, string])[];

export function moveCommand(parent: Command, terminal: Terminal): void {
  const command = addSettingOptions(parent.command('move').option('--json', 'print JSON'), [
    'dataDir',
    'logLevel',
    'storeMemoryBytesMax',
  ]);
  command.option('--to <file>', 'settings of the new stores, a JSON file as for --config-file');
  for (const [flag, , , help] of targetOptions) command.option(flag, help);
  command.action(async (options: MoveOptions) => {
    const target = targetFrom(options, terminal.process);
    const { settings } = settingsFrom(options, terminal.process);
    const report = await run(settings, target, terminal);
    if (options.json === true) terminal.json(report);
    else for (const line of summaryOf(report, settings, target)) terminal.data(line);
  });
}

/** Reads the file and the flags only: the environment describes the old stores. */
function targetFrom(options: MoveOptions, { env }: CommandProcess): Settings {
  const flags: Partial<Record<SettingName, string>> = {};
  for (const [, option, setting] of targetOptions) {
    const value = options[option];
    if (typeof value === 'string') flags[setting] = value;
  }
  if (options.to === undefined && Object.keys(flags).length === 0) {
    throw new CommandError('usage', 'expected --to <file> or --to-database-url and --to-clickhouse-url, got neither');
  }
  try {
    return loadSettings({ flags, env: withoutSettings(env), file: options.to }).settings;
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new CommandError('invalidConfig', `invalid settings in --to\n  ${cause.problems.join('\n  ')}`, { cause });
  }
}

function withoutSettings(env: CommandProcess['env']): Readonly<Record<string, string | undefined>> {
  const isSetting = (name: string): boolean => /^(MILLRACE_|DATABASE_URL|CLICKHOUSE_URL|KAFKA_)/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSetting(name)));
}

async function run(settings: Settings, target: Settings, terminal: Terminal): Promise<MoveReport> {
  const [{ moveStores }, { createLog, stderrLines }, { MoveRefusedError }] = await Promise.all([
    import('../../server/service/move.ts'),
    import('../../server/telemetry/log.ts'),
    import('../../stores/move/move.ts'),
  ]);
  const shown = { step: 'reading both sides', rows: 0, events: 0 };
  const line = startProgressLine(
    () => `${shown.step}  ${counted(shown.rows, 'row')}, ${counted(shown.events, 'event')}`,
    terminal.process.stderr,
  );
  const progress: MoveProgress = {
    table: (name, at, of) => (shown.step = `table ${at + 1} of ${of}: ${name}`),
    rows: (count) => (shown.rows += count),
    month: (project, month) => (shown.step = `events of project ${project}, ${month}`),
    events: (count) => (shown.events += count),
    note: (sentence) => line.say(sentence),
  };
  try {
    const log = createLog(
      settings.logLevel === 'info' ? 'warn' : settings.logLevel,
      stderrLines(() => undefined),
    );
    return await moveStores(settings, target, { log, progress });
  } catch (error) {
    if (error instanceof MoveRefusedError) throw new CommandError('failed', error.message, { cause: error });
    throw error;
  } finally {
    line.stop();
  }
}

function summaryOf(report: MoveReport, { dataDir, databaseUrl }: Settings, target: Settings): string[] {
  const old = databaseUrl === '' ? `${dataDir} is unchanged; a service started on it reports` : oldCluster;
  const tables = Object.keys(report.tables).length;
  const months = Object.keys(report.months).length;
  return [
    `moved ${counted(report.rows, 'row')} of ${counted(tables, 'table')} and ${counted(report.events, 'event')} of ${counted(months, 'month')}; counts and checksums agree`,
    `${old} that it was moved`,
    `next: start "millrace serve" with ${settingsOf(target)} and a separate data directory; then send to its address`,
    ...(isCluster(target) ? ['its first start creates the slots of the event log'] : []),
  ];
}

const oldCluster =
  'the old stores are unchanged, except for the table move_to in their database; a process started on them reports';

/** Returns the settings of the next start; addresses that contain passwords by name only. */
function settingsOf(target: Settings): string {
  const { clickhouseCluster, clickhouseReplicas, kafkaBrokers, slots } = target;
  const log = eventLogOf(target) === 'postgres' ? 'MILLRACE_EVENT_LOG=postgres' : `KAFKA_BROKERS='${kafkaBrokers}'`;
  return [
    'DATABASE_URL and CLICKHOUSE_URL of the new stores',
    ...(clickhouseCluster === '' ? [] : [`MILLRACE_CLICKHOUSE_CLUSTER='${clickhouseCluster}'`]),
    ...(clickhouseReplicas === '' ? [] : [`MILLRACE_CLICKHOUSE_REPLICAS='${clickhouseReplicas}'`]),
    ...(isCluster(target)
      ? [log, `MILLRACE_SLOTS=${slots}`, 'MILLRACE_IMPORT_STAGING at a bucket (s3://bucket/prefix)']
      : []),
  ].join(', ');
}
