import { Option, type Command } from 'commander';
import { addApiOptions, listAll, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { textOrFile } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

const paths = {
  'import-apps': 'pipeline_import_apps_configs',
  transformations: 'pipeline_transformation_configs',
} as const;

interface ConfigOptions extends ApiOptions {
  readonly family: keyof typeof paths;
  readonly yes?: boolean;
  readonly plugin?: string;
  readonly name?: string;
  readonly description?: string;
  readonly order?: string;
  readonly enabled?: boolean;
  readonly settings?: string;
}

interface ConfigRecord {
  readonly id: number;
  readonly plugin: number;
  readonly enabled: boolean;
  readonly order: number;
  readonly name: string;
  readonly error: string;
  readonly delivery_rate_24h: string;
}

/** Plugin configs of both families, over the API of a running service. */
export function configsCommand(parent: Command, terminal: Terminal): void {
  const configs = parent
    .command('configs')
    .description('plugin configs of a running service: import apps and transformations');
  const show = (record: ConfigRecord, options: ConfigOptions): void => showRecords(terminal, [record], options, record);

  onFamily(configs.command('list'))
    .description('list the configs, in order')
    .action(async (options: ConfigOptions) => {
      const api = projectApi(options);
      const records = await listAll<ConfigRecord>(api, collection(api, options));
      showRecords(terminal, records, options, records);
    });

  withFields(onFamily(configs.command('create')).requiredOption('--plugin <id|slug>', 'the plugin, e.g. drop-events'))
    .description('make a config')
    .action(async (options: ConfigOptions) => {
      const api = projectApi(options);
      const settings = settingsOf(options);
      const body = { ...fieldsOf(options), plugin: await pluginId(api, options.plugin ?? '') };
      const made = await api.send<ConfigRecord>('POST', collection(api, options), body);
      show(settings === undefined ? made : await writeSettings(api, options, made.id, settings), options);
    });

  withFields(onFamily(configs.command('update').argument('<id>', 'number of the config')))
    .option('--plugin <id|slug>', 'change the plugin')
    .description('change fields or settings of a config')
    .action(async (id: string, options: ConfigOptions) => {
      const api = projectApi(options);
      const settings = settingsOf(options);
      const plugin = options.plugin === undefined ? {} : { plugin: await pluginId(api, options.plugin) };
      const updated = await api.send<ConfigRecord>('PATCH', item(api, options, id), {
        ...fieldsOf(options),
        ...plugin,
      });
      show(settings === undefined ? updated : await writeSettings(api, options, updated.id, settings), options);
    });

  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    onFamily(configs.command(verb).argument('<id>', 'number of the config'))
      .description(enabled ? 'let a config take part' : 'stop a config')
      .action(async (id: string, options: ConfigOptions) => {
        const api = projectApi(options);
        show(await api.send<ConfigRecord>('PATCH', item(api, options, id), { enabled }), options);
      });
  }

  onFamily(configs.command('reorder').argument('<id>', 'number of the config').argument('<position>', '0 is first'))
    .description('move a config to a position; the others follow')
    .action(async (id: string, position: string, options: ConfigOptions) => {
      const api = projectApi(options);
      const body = { id: numberOf(id), order: numberOf(position) };
      show(await api.send<ConfigRecord>('PATCH', `${collection(api, options)}rearrange/`, body), options);
    });

  onFamily(configs.command('delete').argument('<id>', 'number of the config'))
    .option('--yes', 'do not ask')
    .description('delete a config for good')
    .action(async (id: string, options: ConfigOptions) => {
      const api = projectApi(options);
      const path = item(api, options, id);
      await confirm(terminal.process, `Delete config ${id} with its settings for good?`, options);
      await api.send('DELETE', path);
      terminal.note(`deleted config ${id}`);
    });
}

function onFamily(command: Command): Command {
  const family = new Option('--family <family>', 'which kind of config')
    .choices(Object.keys(paths))
    .makeOptionMandatory();
  return addApiOptions(command.addOption(family));
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

function fieldsOf({ name, description, order, enabled }: ConfigOptions): Record<string, unknown> {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(order !== undefined && { order: numberOf(order) }),
    ...(enabled !== undefined && { enabled }),
  };
}

function settingsOf({ settings }: ConfigOptions): Record<string, unknown> | undefined {
  if (settings === undefined) return undefined;
  const text = textOrFile('--settings', settings);
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>;
  } catch {
    // Said below, with what was expected.
  }
  throw new CommandError(
    'usage',
    '--settings: expected a JSON object such as {"events":"$pageleave"}, or @FILE with one',
  );
}

async function writeSettings(
  api: ProjectApi,
  options: ConfigOptions,
  id: number,
  settings: Record<string, unknown>,
): Promise<ConfigRecord> {
  const path = item(api, options, String(id));
  await api.send('PATCH', `${path}settings/`, settings).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    const message = `config ${id} is there, but its settings were refused: ${error.message}`;
    throw new CommandError(error.reason, message, { cause: error });
  });
  return api.get<ConfigRecord>(path);
}

/** A plugin is named by its number or by its slug. */
async function pluginId(api: ProjectApi, name: string): Promise<number> {
  if (/^\d+$/.test(name)) return Number(name);
  const plugins = await listAll<{ id: number; slug: string }>(api, `${api.root}/plugins/`);
  const found = plugins.find(({ slug }) => slug === name);
  if (found !== undefined) return found.id;
  throw new CommandError('notFound', `no plugin "${name}"; there are ${plugins.map(({ slug }) => slug).join(', ')}`);
}

function collection(api: ProjectApi, { family }: ConfigOptions): string {
  return `${api.root}/${paths[family]}/`;
}

function item(api: ProjectApi, options: ConfigOptions, id: string): string {
  return `${collection(api, options)}${numberOf(id)}/`;
}

function numberOf(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new CommandError('usage', `expected a number, got: ${text}`);
}

function showRecords(
  terminal: Terminal,
  records: readonly ConfigRecord[],
  options: ConfigOptions,
  json: unknown,
): void {
  if (options.json) return terminal.json(json);
  terminal.table(
    ['ORDER', 'ID', 'NAME', 'ENABLED', 'DELIVERED 24 H', 'ERROR'],
    records.map((each) => [
      String(each.order),
      String(each.id),
      each.name,
      each.enabled ? 'yes' : 'no',
      each.delivery_rate_24h || '-',
      each.error || '-',
    ]),
  );
}
