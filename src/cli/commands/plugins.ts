import { Option, type Command } from 'commander';
import type { PluginRecord, PluginVersionRecord } from '../../wire/contract/plugins.ts';
import { addApiOptions, listAll, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { packageBody } from '../package-body.ts';
import type { Terminal } from '../terminal.ts';
import { changeVersion, listVersions, rollBackVersion } from '../plugin-versions.ts';

interface PluginOptions extends ApiOptions {
  readonly name?: string;
  readonly kind?: string;
  readonly search?: string;
  readonly to?: string;
  readonly configs?: boolean;
  readonly yes?: boolean;
}

const sourceHelp = 'folder, file (.js, .ts), archive (.zip, .tgz), address, or npm package NAME[@VERSION]';

/** Plugins of a running service: those it brings and those installed. */
export function pluginsCommand(parent: Command, terminal: Terminal): void {
  const plugins = parent.command('plugins').description('plugins of a running service: install, update, remove');
  addRead(plugins, terminal);
  addChange(plugins, terminal);
}

function addRead(plugins: Command, terminal: Terminal): void {
  addApiOptions(plugins.command('list'))
    .description('list the plugins, built in and installed')
    .addOption(new Option('--kind <kind>', 'only these').choices(['transformation', 'import-app', 'both', 'none']))
    .option('--search <text>', 'only those with this text in name or description')
    .action(async (options: PluginOptions) => {
      const found = await listPlugins(projectApi(options), options);
      await showList(terminal, options, found, () => showPlugins(terminal, found));
    });

  addApiOptions(plugins.command('show').argument('<plugin>', 'number or slug'))
    .description('show a plugin and its versions')
    .action(async (name: string, options: PluginOptions) => {
      const api = projectApi(options);
      const plugin = await findPlugin(api, name);
      const versions = await listVersions(api, plugin.id);
      await showRecord(terminal, options, { ...plugin, all_versions: versions }, () => {
        showPlugins(terminal, [plugin]);
        if (plugin.description !== '') terminal.note(plugin.description);
        showSettings(terminal, plugin.config_schema);
        if (versions.length > 0) showVersions(terminal, versions);
      });
    });
}

function addChange(plugins: Command, terminal: Terminal): void {
  const show = (plugin: PluginRecord, options: PluginOptions): Promise<void> =>
    showRecord(terminal, options, plugin, () => showPlugins(terminal, [plugin]));

  addApiOptions(plugins.command('install').argument('<source>', sourceHelp))
    .description('install a plugin')
    .option('--name <text>', "name instead of the plugin's own")
    .action(async (source: string, options: PluginOptions) => {
      const api = projectApi(options);
      const body = await packageBody(source, options.name === undefined ? {} : { name: options.name });
      await show(await api.send<PluginRecord>('POST', `${api.root}/plugins/`, body), options);
    });

  addApiOptions(plugins.command('upgrade').argument('<plugin>', 'number or slug').argument('[source]', sourceHelp))
    .description('get the newest version from where the plugin came from, or from another source')
    .option('--to <version>', 'this version: one that is kept, or one of the npm package')
    .option('--configs', 'upgrade its configs in the project, too')
    .action(async (name: string, source: string | undefined, options: PluginOptions) => {
      const api = projectApi(options);
      const plugin = await findPlugin(api, name);
      const { upgraded, configs } = await changeVersion(api, plugin, { ...options, source });
      if (upgraded.version === plugin.version) terminal.note(`${plugin.slug} is at ${plugin.version} already`);
      noteConfigs(terminal, configs, upgraded.version);
      await show(upgraded, options);
    });

  addApiOptions(plugins.command('rollback').argument('<plugin>', 'number or slug'))
    .description('make the version before the present one the latest again')
    .option('--configs', 'take its configs in the project there, too')
    .action(async (name: string, options: PluginOptions) => {
      const api = projectApi(options);
      const { upgraded, configs } = await rollBackVersion(api, await findPlugin(api, name), options);
      noteConfigs(terminal, configs, upgraded.version);
      await show(upgraded, options);
    });

  addApiOptions(plugins.command('remove').argument('<plugin>', 'number or slug'))
    .description('remove an installed plugin that no config uses')
    .option('--yes', 'do not ask')
    .action(async (name: string, options: PluginOptions) => {
      const api = projectApi(options);
      const plugin = await findPlugin(api, name);
      await confirm(terminal.process, `Remove plugin ${plugin.slug} with all its versions for good?`, options);
      await api.send('DELETE', `${api.root}/plugins/${plugin.id}/`);
      terminal.note(`removed ${plugin.slug}`);
    });
}

function noteConfigs(terminal: Terminal, configs: readonly number[], version: string): void {
  if (configs.length > 0) terminal.note(`configs now at ${version}: ${configs.join(', ')}`);
}

function listPlugins(
  api: ProjectApi,
  { kind, search }: Pick<PluginOptions, 'kind' | 'search'>,
): Promise<PluginRecord[]> {
  return listAll(api, `${api.root}/plugins/`, { kind, search });
}

async function findPlugin(api: ProjectApi, name: string): Promise<PluginRecord> {
  if (/^\d{1,10}$/.test(name)) return api.get<PluginRecord>(`${api.root}/plugins/${name}/`);
  const plugins = await listPlugins(api, { search: name });
  const found = plugins.find(({ slug }) => slug === name);
  if (found !== undefined) return found;
  const near = plugins.map(({ slug }) => slug).slice(0, 10);
  const hint = near.length === 0 ? '"millrace plugins list" shows them' : `did you mean ${near.join(', ')}?`;
  throw new CommandError('notFound', `no plugin "${name}"; ${hint}`);
}

function showPlugins(terminal: Terminal, plugins: readonly PluginRecord[]): void {
  terminal.table(
    ['ID', 'SLUG', 'NAME', 'KIND', 'VERSION', 'FROM'],
    plugins.map((each) => [
      String(each.id),
      each.slug,
      each.name,
      each.kind,
      each.version,
      each.is_built_in ? 'built in' : (each.source_url ?? each.source_kind ?? '-'),
    ]),
  );
}

/** Those that a config may have. */
function showSettings(terminal: Terminal, schema: PluginRecord['config_schema']): void {
  const fields = schema.filter((entry) => 'key' in entry);
  if (fields.length === 0) return;
  showTable(terminal, fields, {
    SETTING: ({ key }) => key,
    TYPE: (field) => (field.secret === true ? `${field.type}, secret` : field.type),
    REQUIRED: ({ required }) => (required === true ? 'yes' : 'no'),
    DEFAULT: (field) => (field.default === undefined ? '-' : JSON.stringify(field.default)),
    MEANING: ({ name, hint }) => hint ?? name ?? '',
  });
}

function showVersions(terminal: Terminal, versions: readonly PluginVersionRecord[]): void {
  terminal.table(
    ['VERSION', 'LATEST', 'CONFIGS', 'INSTALLED', 'FROM'],
    versions.map((each) => [
      each.version,
      each.is_latest ? 'yes' : 'no',
      String(each.configs),
      each.created_at,
      each.source_url ?? each.source_kind,
    ]),
  );
}
