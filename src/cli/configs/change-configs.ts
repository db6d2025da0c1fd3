import type { Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import { listAll, projectApi, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { jsonOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';
import { collectionOf, findConfig, onConfig, onConfigs, type ConfigOptions, type FamilyName } from './find-config.ts';
import { showConfig } from './show-configs.ts';

interface ChangeOptions extends ConfigOptions {
  readonly yes?: boolean;
  readonly plugin?: string;
  readonly name?: string;
  readonly description?: string;
  readonly order?: string;
  readonly enabled?: boolean;
  readonly settings?: string;
}

/** `create`, `update`, `enable`, `disable`, `reorder`, `delete`. */
export function addChangeCommands(configs: Command, terminal: Terminal): void {
  withFields(onConfigs(configs.command('create')).requiredOption('--plugin <id|slug>', 'the plugin, e.g. drop-events'))
    .description('make a config')
    .action(async (options: ChangeOptions) => showConfig(terminal, options, await create(options)));

  withFields(onConfig(configs.command('update')))
    .option('--plugin <id|slug>', 'change the plugin')
    .description('change fields or settings of a config')
    .action(async (id: string, options: ChangeOptions) => showConfig(terminal, options, await update(id, options)));

  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    onConfig(configs.command(verb))
      .description(enabled ? 'let a config take part' : 'stop a config')
      .action(async (id: string, options: ChangeOptions) => {
        const api = projectApi(options);
        const { path } = await findConfig(api, id, options);
        await showConfig(terminal, options, await api.send<PluginConfigRecord>('PATCH', path, { enabled }));
      });
  }

  onConfig(configs.command('reorder'))
    .argument('<position>', '0 is first')
    .description('move a config to a position; the others follow')
    .action(async (id: string, position: string, options: ChangeOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const body = { id: Number(id), order: numberOf(position) };
      const collection = path.replace(/\d+\/$/, '');
      await showConfig(terminal, options, await api.send('PATCH', `${collection}rearrange/`, body));
    });

  onConfig(configs.command('delete'))
    .option('--yes', 'do not ask')
    .description('delete a config for good')
    .action(async (id: string, options: ChangeOptions) => {
      const api = projectApi(options);
      await confirm(terminal.process, `Delete config ${id} with its settings for good?`, options);
      const { path } = await findConfig(api, id, options);
      await api.send('DELETE', path);
      terminal.note(`deleted config ${id}`);
    });
}

function withFields(command: Command): Command {
  return command
    .option('--name <text>', 'name to show')
    .option('--description <text>', 'description to show')
    .option('--order <number>', 'position in the family, 0 is first')
    .option('--enabled', 'take part at once')
    .option('--no-enabled', 'do not take part')
    .option('--settings <json|@file>', 'settings to set, as a JSON object; the others stay');
}

/** All of it or nothing: a config whose settings are refused does not stay, and none is enabled before it has them. */
async function create(options: ChangeOptions): Promise<PluginConfigRecord> {
  const api = projectApi(options);
  const settings = settingsOf(options);
  const plugin = await pluginOf(api, options.plugin ?? '');
  const { enabled, ...fields } = fieldsOf(options);
  const collection = collectionOf(api, familyOf(plugin, options));
  const made = await api.send<PluginConfigRecord>('POST', collection, { ...fields, plugin: plugin.id });
  const path = `${collection}${made.id}/`;
  try {
    if (settings !== undefined) await api.send('PATCH', `${path}settings/`, settings);
    if (enabled === undefined) return await api.get<PluginConfigRecord>(path);
    return await api.send<PluginConfigRecord>('PATCH', path, { enabled });
  } catch (error) {
    await api.send('DELETE', path);
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.reason, `no config was made: ${error.message}`, { cause: error });
  }
}

async function update(id: string, options: ChangeOptions): Promise<PluginConfigRecord> {
  const api = projectApi(options);
  const settings = settingsOf(options);
  const { path } = await findConfig(api, id, options);
  const plugin = options.plugin === undefined ? {} : { plugin: (await pluginOf(api, options.plugin)).id };
  const updated = await api.send<PluginConfigRecord>('PATCH', path, { ...fieldsOf(options), ...plugin });
  if (settings === undefined) return updated;
  await api.send('PATCH', `${path}settings/`, settings).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.reason, `the settings of config ${id} were refused: ${error.message}`, {
      cause: error,
    });
  });
  return api.get<PluginConfigRecord>(path);
}

function fieldsOf({ name, description, order, enabled }: ChangeOptions) {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(order !== undefined && { order: numberOf(order) }),
    ...(enabled !== undefined && { enabled }),
  };
}

function settingsOf({ settings }: ChangeOptions): JsonObject | undefined {
  return settings === undefined ? undefined : jsonOf('--settings', settings);
}

/** A plugin is named by its number or by its slug. */
async function pluginOf(api: ProjectApi, name: string): Promise<PluginRecord> {
  if (/^\d+$/.test(name)) return api.get<PluginRecord>(`${api.root}/plugins/${name}/`);
  const plugins = await listAll<PluginRecord>(api, `${api.root}/plugins/`);
  const found = plugins.find(({ slug }) => slug === name);
  if (found !== undefined) return found;
  throw new CommandError('notFound', `no plugin "${name}"; there are ${plugins.map(({ slug }) => slug).join(', ')}`);
}

/** What the plugin is, unless it is both or the command says. */
function familyOf({ slug, kind }: PluginRecord, { family }: ConfigOptions): FamilyName {
  if (family !== undefined) return family;
  if (kind === 'transformation') return 'transformations';
  if (kind === 'import-app') return 'import-apps';
  throw new CommandError('usage', `--family: expected one, because ${slug} is of kind "${kind}"`);
}

function numberOf(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new CommandError('usage', `expected a number, got: ${text}`);
}
