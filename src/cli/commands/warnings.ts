import { Option, type Command } from 'commander';
import type { Static } from 'typebox';
import type { ingestionWarningHoursSchema, IngestionWarningRecord } from '../../wire/contract/ingestion-warnings.ts';
import { warningSeverities } from '../../wire/contract/warnings.ts';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';

type WarningHours = Static<typeof ingestionWarningHoursSchema>;

interface Options extends ApiOptions {
  readonly severity?: string;
  readonly after?: string;
  readonly before?: string;
}

export function warningsCommand(parent: Command, terminal: Terminal): void {
  const warnings = parent.command('warnings');

  withTimes(addApiOptions(warnings.command('list')))
    .addOption(new Option('--severity <severity>', 'only with this severity').choices(warningSeverities))
    .description('list warning types, most frequent first; default: the last 7 days')
    .action(async ({ severity, after, before, ...options }: Options) => {
      const api = projectApi(options);
      const query = { severity, after, before };
      const { results } = await api.get<{ results: IngestionWarningRecord[] }>(
        `${api.root}/ingestion_warnings/`,
        query,
      );
      await showList(terminal, options, results, () =>
        showTable(terminal, results, {
          TYPE: ({ type }) => type,
          SEVERITY: (each) => each.severity,
          COUNT: ({ count }) => numberText(count),
          'LAST SEEN': ({ last_seen }) => last_seen,
          MEANING: ({ meaning }) => meaning,
        }),
      );
    });

  withTimes(addApiOptions(warnings.command('show')))
    .argument('<type>', 'type from "warnings list"')
    .description('show the latest hours of a warning type, with samples')
    .action(async (type: string, { after, before, ...options }: Options) => {
      const api = projectApi(options);
      const path = `${api.root}/ingestion_warnings/${encodeURIComponent(type)}/`;
      const found = await api.get<WarningHours>(path, { after, before });
      await showRecord(terminal, options, found, () => {
        terminal.data(`${found.type} (${found.severity}): ${found.meaning}`);
        showTable(terminal, found.results, {
          HOUR: ({ hour }) => hour,
          COUNT: ({ count }) => numberText(count),
          SAMPLE: ({ samples }) => JSON.stringify(samples[0] ?? {}),
        });
      });
    });
}

function withTimes(command: Command): Command {
  return command
    .option('--after <time>', 'from the hour of this time (ISO 8601)')
    .option('--before <time>', 'hours that start before this time');
}
