import { Option, type Command } from 'commander';
import { activityScopes, type ActivityEntry } from '../../wire/contract/activity.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { showList } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import { showActivity } from '../show-activity.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly scope?: string;
  readonly item?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: string;
}

/** Who changed what. */
export function activityCommand(parent: Command, terminal: Terminal): void {
  addApiOptions(parent.command('activity'))
    .addOption(new Option('--scope <kind>', 'only of this kind of items').choices(activityScopes))
    .option('--item <id>', 'only of this item; needs --scope')
    .option('--after <time>', 'from this time on (ISO 8601)')
    .option('--before <time>', 'before this time')
    .option('--limit <number>', 'how many', '50')
    .description('list what people and the service changed in a project of a running service, newest first')
    .action(async ({ scope, item, after, before, ...options }: Options) => {
      const api = projectApi(options);
      const query = { scope, item_id: item, after, before };
      const max = countOf('--limit', options.limit, 1);
      const entries = await listUpTo<ActivityEntry>(api, `${api.root}/activity_log/`, query, max);
      await showList(terminal, options, entries, () => showActivity(terminal, entries));
    });
}
