import type { Command } from 'commander';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly after?: string;
  readonly before?: string;
}

interface Usage {
  readonly results: readonly { readonly date: string; readonly standard: number; readonly historical: number }[];
  readonly total: { readonly standard: number; readonly historical: number };
}

export function usageCommand(parent: Command, terminal: Terminal): void {
  addApiOptions(parent.command('usage'))
    .option('--after <day>', 'from this day on')
    .option('--before <day>', 'before this day')
    .action(async ({ after, before, ...options }: Options) => {
      const api = projectApi(options);
      const usage = await api.get<Usage>(`${api.root}/usage/`, { after, before });
      await showRecord(terminal, options, usage, () =>
        showTable(terminal, [...usage.results, { date: 'total', ...usage.total }], {
          DAY: ({ date }) => date,
          STANDARD: ({ standard }) => numberText(standard),
          HISTORICAL: ({ historical }) => numberText(historical),
        }),
      );
    });
}
