import { Option, type Command } from 'commander';
import { activityScopes, type ActivityEntry } from '../../wire/contract/activity.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { showList, showTable } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly scope?: string;
  readonly item?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: string;
}

export function activityCommand(parent: Command, terminal: Terminal): void {
  addApiOptions(parent.command('activity'))
    .addOption(new Option('--scope <kind>', 'only items of this kind').choices(activityScopes))
    .option('--item <id>', 'only this item; needs --scope')
    .option('--after <time>', 'from this time on (ISO 8601)')
    .option('--before <time>', 'before this time')
    .option('--limit <number>', 'number of entries', '50')
    .action(async ({ scope, item, after, before, ...options }: Options) => {
      const api = projectApi(options);
      const query = { scope, item_id: item, after, before };
      const max = countOf('--limit', options.limit, 1);
      const entries = await listUpTo<ActivityEntry>(api, `${api.root}/activity_log/`, query, max);
      await showList(terminal, options, entries, () => showActivity(terminal, entries));
    });
}

export function showActivity(terminal: Terminal, entries: readonly ActivityEntry[]): void {
  showTable(terminal, entries, {
    TIME: ({ created_at }) => created_at,
    WHO: (entry) => whoDid(entry),
    WHAT: ({ activity }) => activity,
    ITEM: ({ scope, item_id, detail }) => `${scope} ${item_id} ${detail.name}`,
    CHANGED: ({ detail }) => detail.changes.map(({ field }) => field).join(', ') || '-',
  });
}

function whoDid({ user, is_system: isSystem, key_label: key }: ActivityEntry): string {
  if (isSystem || user === null) return 'the service';
  const name = user.email || user.first_name;
  return key === null ? name : `${name}, key "${key}"`;
}
