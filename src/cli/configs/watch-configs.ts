import { Option, type Command } from 'commander';
import type { PluginErrorListRecord, PluginLogRecord, PluginMetricsRecord } from '../../wire/contract/plugin-view.ts';
import { listUpTo, projectApi } from '../api-options.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import { printable, type Terminal } from '../terminal.ts';
import { findConfig, onConfig, type ConfigOptions } from './find-config.ts';

interface WatchOptions extends ConfigOptions {
  readonly level?: string;
  readonly source?: string;
  readonly search?: string;
  readonly after?: string;
  readonly before?: string;
  readonly interval?: string;
  readonly limit: string;
}

/** `logs`, `metrics`, `errors`: how a config does. */
export function addWatchCommands(configs: Command, terminal: Terminal): void {
  withTimes(onConfig(configs.command('logs')))
    .option('--level <level>', 'only lines of this level: DEBUG, LOG, INFO, WARN, ERROR')
    .option('--search <text>', 'only lines with this text')
    .option('--limit <number>', 'how many', '100')
    .description('show the log of a config, newest first')
    .action(async (id: string, options: WatchOptions) => {
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
    .addOption(new Option('--interval <interval>', 'length of a row').choices(['hour', 'day']))
    .description('count the events that a config has seen, by time, and its own metrics')
    .action(async (id: string, options: WatchOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const query = { date_from: options.after, date_to: options.before, interval: options.interval };
      const metrics = await api.get<PluginMetricsRecord>(`${path}metrics/`, query);
      await showRecord(terminal, options, metrics, () => showMetrics(terminal, metrics));
    });

  onConfig(configs.command('errors'))
    .description('show the failures of a config, those that are alike together')
    .action(async (id: string, options: WatchOptions) => {
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
