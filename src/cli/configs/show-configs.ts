import type { JsonValue } from '../../base/json.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import { showFields, showRecord, showTable, type OutputOptions, showList } from '../output.ts';
import { type Terminal, printable } from '../terminal.ts';
import { Option, type Command } from 'commander';
import type { PluginErrorListRecord, PluginLogRecord, PluginMetricsRecord } from '../../wire/contract/plugin-view.ts';
import { listUpTo, projectApi } from '../api-options.ts';
import { countOf } from '../read-arguments.ts';
import { findConfig, onConfig, type ConfigOptions } from './find-config.ts';

export function showConfigs(
  terminal: Terminal,
  records: readonly (PluginConfigRecord & { readonly family?: string })[],
): void {
  const withFamily = records.some(({ family }) => family !== undefined);
  showTable(terminal, records, {
    ...(withFamily && { FAMILY: ({ family }: { readonly family?: string }) => family ?? '-' }),
    ORDER: ({ order }) => String(order),
    ID: ({ id }) => String(id),
    NAME: ({ name }) => name,
    ENABLED: ({ enabled }) => (enabled ? 'yes' : 'no'),
    'DELIVERED 24 H': (record) => rateText(record),
    ERROR: ({ error }) => error || '-',
  });
}

export function showConfig(terminal: Terminal, options: OutputOptions, record: PluginConfigRecord): Promise<void> {
  return showRecord(terminal, options, record, () => showConfigs(terminal, [record]));
}

/** Shows all fields and settings of a config; the API masks secrets. */
export function showWholeConfig(terminal: Terminal, record: PluginConfigRecord): void {
  const settings = JSON.parse(record.config) as Readonly<Record<string, JsonValue>>;
  showFields(terminal, {
    id: String(record.id),
    name: record.name,
    description: record.description,
    plugin: String(record.plugin),
    enabled: record.enabled ? 'yes' : 'no',
    deleted: record.deleted ? 'yes' : 'no',
    order: String(record.order),
    'delivered 24 h': rateText(record),
    error: record.error || '-',
    created: record.created_at,
    updated: record.updated_at,
    ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`settings.${key}`, textOf(value)])),
  });
}

/** Formats a share of the API: `0.9975` is 99.75 %. */
function rateText({ delivery_rate_24h: rate }: Pick<PluginConfigRecord, 'delivery_rate_24h'>): string {
  return rate === '' ? '-' : `${Number((Number(rate) * 100).toFixed(2))} %`;
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

interface MonitorOptions extends ConfigOptions {
  readonly level?: string;
  readonly source?: string;
  readonly search?: string;
  readonly after?: string;
  readonly before?: string;
  readonly interval?: string;
  readonly limit: string;
}

/** Adds `logs`, `metrics` and `errors`. */
export function addMonitorCommands(configs: Command, terminal: Terminal): void {
  withTimes(onConfig(configs.command('logs')))
    .option('--level <level>', 'only lines of this level: DEBUG, LOG, INFO, WARN, ERROR')
    .option('--search <text>', 'only lines with this text')
    .option('--limit <number>', 'number of lines', '100')
    .description('show the log of a config, newest first')
    .action(async (id: string, options: MonitorOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const { level, search, after, before } = options;
      const query = { level, search, after, before };
      const lines = await listUpTo<PluginLogRecord>(api, `${path}logs/`, query, countOf('--limit', options.limit, 1));
      await showList(terminal, options, lines, () => {
        for (const line of lines) terminal.data(logLine(line));
      });
    });

  withTimes(onConfig(configs.command('metrics')))
    .addOption(new Option('--interval <interval>', 'interval of a row').choices(['hour', 'day']))
    .description('count the events a config has processed by time, and show its own metrics')
    .action(async (id: string, options: MonitorOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const query = { date_from: options.after, date_to: options.before, interval: options.interval };
      const metrics = await api.get<PluginMetricsRecord>(`${path}metrics/`, query);
      await showRecord(terminal, options, metrics, () => showMetrics(terminal, metrics));
    });

  onConfig(configs.command('errors'))
    .description('show the failures of a config, grouped by kind')
    .action(async (id: string, options: MonitorOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const { results } = await api.get<PluginErrorListRecord>(`${path}errors/`);
      await showList(terminal, options, results, () =>
        showTable(terminal, results, {
          'LAST SEEN': (each) => each.last_seen,
          COUNT: ({ count }) => String(count),
          METHOD: ({ method }) => method,
          ERROR: ({ name, message }) => `${name}: ${message}`,
        }),
      );
    });
}

function withTimes(command: Command): Command {
  return command.option('--after <time>', 'from this time on (ISO 8601)').option('--before <time>', 'before this time');
}

function logLine({ timestamp, level, source, message }: PluginLogRecord): string {
  return `${timestamp}  ${level.padEnd(5)}  ${source}  ${printable(message)}`;
}

function showMetrics(terminal: Terminal, { series, totals, own }: PluginMetricsRecord): void {
  const rows = series.filter((each) => each.succeeded + each.failed + each.dropped + each.skipped > 0);
  showTable(terminal, [...rows, { time: 'total', ...totals }], {
    TIME: ({ time }) => time,
    SUCCEEDED: ({ succeeded }) => String(succeeded),
    FAILED: ({ failed }) => String(failed),
    DROPPED: ({ dropped }) => String(dropped),
    SKIPPED: ({ skipped }) => String(skipped),
    'TIME MS': (each) => String(Math.round(each.time_ms)),
  });
  for (const { name, kind, total } of own) terminal.data(`${printable(name)} (${kind}): ${total}`);
}
