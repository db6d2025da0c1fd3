import type { Command } from 'commander';
import type { Static } from 'typebox';
import type { GroupRecord, groupTypeSchema } from '../../wire/contract/groups.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showList, showRecord, showTable } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

type GroupType = Static<typeof groupTypeSchema>;

interface Options extends ApiOptions {
  readonly search?: string;
  readonly limit: string;
}

export function groupsCommand(parent: Command, terminal: Terminal): void {
  const groups = parent.command('groups');

  addApiOptions(groups.command('types'))
    .description('list the group types')
    .action(async (options: Options) => {
      const types = await typesOf(projectApi(options));
      await showList(terminal, options, types, () =>
        showTable(terminal, types, {
          INDEX: ({ group_type_index: index }) => String(index),
          TYPE: ({ group_type }) => group_type,
        }),
      );
    });

  addApiOptions(groups.command('list'))
    .argument('<type>', 'type as named in events, or its index')
    .option('--search <text>', 'only groups whose key contains this')
    .option('--limit <number>', 'number of groups', '20')
    .description('list the groups of a type, by key')
    .action(async (type: string, options: Options) => {
      const api = projectApi(options);
      const query = { group_type_index: await indexOf(api, type), search: options.search };
      const max = countOf('--limit', options.limit, 1);
      const found = await listUpTo<GroupRecord>(api, `${api.root}/groups/`, query, max);
      await showList(terminal, options, found, () =>
        showTable(terminal, found, {
          KEY: ({ group_key }) => group_key,
          'FIRST SEEN': ({ created_at }) => created_at,
          PROPERTIES: (group) => JSON.stringify(group.group_properties),
        }),
      );
    });

  addApiOptions(groups.command('show'))
    .argument('<type>', 'type as named in events, or its index')
    .argument('<key>', 'key of the group')
    .description('show a group')
    .action(async (type: string, key: string, options: Options) => {
      const api = projectApi(options);
      const query = { group_type_index: await indexOf(api, type), group_key: key };
      const group = await api.get<GroupRecord>(`${api.root}/groups/find/`, query);
      await showRecord(terminal, options, group, () =>
        showFields(terminal, {
          key: group.group_key,
          'first seen': group.created_at,
          ...Object.fromEntries(
            Object.entries(group.group_properties).map(([name, value]) => [
              `properties.${name}`,
              JSON.stringify(value),
            ]),
          ),
        }),
      );
    });
}

function typesOf(api: ProjectApi): Promise<readonly GroupType[]> {
  return api.get<readonly GroupType[]>(`${api.root}/groups_types/`);
}

async function indexOf(api: ProjectApi, name: string): Promise<string> {
  const types = await typesOf(api);
  const found = types.find((type) => type.group_type === name || String(type.group_type_index) === name);
  if (found !== undefined) return String(found.group_type_index);
  const known = types.map(({ group_type }) => group_type).join(', ') || 'none';
  throw new CommandError('notFound', `no group type "${name}"; known types: ${known}`);
}
