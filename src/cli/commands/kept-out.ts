import type { Command } from 'commander';
import type { Static } from 'typebox';
import type { keptOutCountSchema, keptOutRemovedSchema } from '../../wire/contract/kept-out.ts';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showRecord } from '../output.ts';
import { numberText } from '../progress-line.ts';
import type { Terminal } from '../terminal.ts';

interface KeptOutOptions extends ApiOptions {
  readonly remove?: readonly string[];
  readonly removeAll?: boolean;
  readonly yes?: boolean;
}

/** Adds the command that counts the ids which a project keeps out, or removes some. */
export function addKeptOutCommand(erasures: Command, terminal: Terminal): void {
  addApiOptions(erasures.command('kept-out'))
    .option('--remove <ids...>', 'store events of these distinct_ids again')
    .option('--remove-all', 'store events of all ids again')
    .option('--yes', 'do not ask')
    .description('count the erased ids whose events are dropped, or store their events again')
    .action(async (options: KeptOutOptions) => {
      const api = projectApi(options);
      const path = `${api.root}/erasures/kept_out/`;
      const { remove, removeAll: isAll = false } = options;
      if (remove !== undefined && isAll) {
        throw new CommandError('usage', 'expected --remove or --remove-all, got both');
      }
      if (remove === undefined && !isAll) {
        const found = await api.get<Static<typeof keptOutCountSchema>>(path);
        return showRecord(terminal, options, found, () => showFields(terminal, { ids: numberText(found.count) }));
      }
      if (isAll) await confirm(terminal.process, 'Store events of all of these ids again?', options);
      const removed = isAll
        ? await api.send<Removed>('DELETE', path)
        : await api.send<Removed>('POST', `${path}remove/`, { distinct_ids: [...new Set(remove)] });
      await showRecord(terminal, options, removed, () =>
        showFields(terminal, { removed: numberText(removed.removed), ids: numberText(removed.count) }),
      );
    });
}

type Removed = Static<typeof keptOutRemovedSchema>;
