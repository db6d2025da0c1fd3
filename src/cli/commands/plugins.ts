import { Option, type Command } from 'commander';
import { type PluginRecord, type PluginVersionRecord, familyPaths } from '../../wire/contract/plugins.ts';
import { addApiOptions, listAll, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { showList, showRecord, showTable } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';
import { packageBody } from '../package-body.ts';

interface PluginOptions extends ApiOptions {
  readonly name?: string;
  readonly kind?: string;
  readonly search?: string;
  readonly to?: string;
  readonly configs?: boolean;
  readonly yes?: boolean;
}

const sourceHelp = 'folder, file (.js, .ts), archive (.zip, .tgz), URL, or npm package NAME[@VERSION]';

export function pluginsCommand(parent: Command, terminal: Terminal): void {
  const plugins = parent.command('plugins');
  addRead(plugins, terminal);
  addChange(plugins, terminal);
}

function addRead(plugins: Command, terminal: Terminal): void {
  addApiOptions(plugins.command('list'))
    .description('list built-in and installed plugins')
    .addOption(
      new Option('--kind <kind>', 'only plugins of this kind').choices([
        'transformation',
        'import-app',
        'both',
        'none',
      ]),
    )
    .option('--search <text>', 'only plugins with this text in name or description')
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
    .option('--name <text>', "name to show instead of the plugin's")
    .action(async (source: string, options: PluginOptions) => {
      const api = projectApi(options);
      const body = await packageBody(source, options.name === undefined ? {} : { name: options.name });
      await show(await api.send<PluginRecord>('POST', `${api.root}/plugins/`, body), options);
    });

  addApiOptions(plugins.command('upgrade').argument('<plugin>', 'number or slug').argument('[source]', sourceHelp))
    .description('install the newest version from the source of the plugin, or from another one')
    .option('--to <version>', 'version to install: one that was installed before, or one of the npm package')
    .option('--configs', 'also upgrade its configs in the project')
    .action(async (name: string, source: string | undefined, options: PluginOptions) => {
      const api = projectApi(options);
      const plugin = await findPlugin(api, name);
      const { upgraded, configs } = await changeVersion(api, plugin, { ...options, source });
      if (upgraded.version === plugin.version) terminal.note(`${plugin.slug} is at ${plugin.version} already`);
      noteConfigs(terminal, configs, upgraded.version);
      await show(upgraded, options);
    });

  addApiOptions(plugins.command('rollback').argument('<plugin>', 'number or slug'))
    .description('make the previous version the latest again')
    .option('--configs', 'also move its configs in the project')
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
      await confirm(terminal.process, `Remove plugin ${plugin.slug} with all its versions permanently?`, options);
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

/** Shows the settings of a config. */
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

interface VersionChange {
  /** Source instead of the one the plugin was installed from. */
  readonly source?: string | undefined;
  readonly to?: string | undefined;
  /** Whether to move the project's configs to the version. */
  readonly configs?: boolean | undefined;
}

interface ChangedVersion {
  readonly upgraded: PluginRecord;
  /** Ids of the configs that were moved. */
  readonly configs: readonly number[];
}

/** Lists versions, newest first. */
function listVersions(api: ProjectApi, pluginId: number): Promise<readonly PluginVersionRecord[]> {
  return listAll(api, `${api.root}/plugins/${pluginId}/versions/`);
}

/** Installs another version of a plugin, and moves its configs to it on request. Errors: CommandError. */
async function changeVersion(api: ProjectApi, plugin: PluginRecord, wanted: VersionChange): Promise<ChangedVersion> {
  const body = await bodyOf(api, plugin, wanted);
  const upgraded = await api.send<PluginRecord>('PATCH', `${api.root}/plugins/${plugin.id}/`, body);
  return { upgraded, configs: wanted.configs === true ? await moveConfigs(api, upgraded) : [] };
}

/** Makes the previous version the latest. Errors: failed, without one. */
async function rollBackVersion(
  api: ProjectApi,
  plugin: PluginRecord,
  wanted: Pick<VersionChange, 'configs'>,
): Promise<ChangedVersion> {
  const versions = await listVersions(api, plugin.id);
  const previous = versions[versions.findIndex(({ is_latest }) => is_latest) + 1];
  if (previous === undefined)
    throw new CommandError('failed', `${plugin.slug} has no version before ${plugin.version}`);
  return changeVersion(api, plugin, { ...wanted, to: previous.version });
}

async function bodyOf(api: ProjectApi, plugin: PluginRecord, { source, to }: VersionChange): Promise<object> {
  if (source !== undefined) {
    const body = await packageBody(source, to === undefined ? {} : { version: to });
    if (to === undefined || 'npm' in body) return body;
    throw new CommandError('usage', `--to: ${source} is one version; only npm packages have several`);
  }
  if (to !== undefined && (await listVersions(api, plugin.id)).some(({ version }) => version === to)) {
    return { version: to };
  }
  const npm = /^npm:(.+)@/.exec(plugin.source_url ?? '')?.[1];
  if (npm !== undefined) return to === undefined ? { npm } : { npm, version: to };
  if (to !== undefined) {
    throw new CommandError('notFound', `${plugin.slug} has no installed version ${to}; name a source that has it`);
  }
  if (plugin.source_url !== null) return { url: plugin.source_url };
  const origin = plugin.is_built_in ? 'is built in' : 'was installed from a folder, a file or an archive';
  throw new CommandError('usage', `${plugin.slug} ${origin}; name the source of the new version`);
}

/** Moves the configs of a plugin to a version, except deleted ones. */
async function moveConfigs(api: ProjectApi, { id, families, version }: PluginRecord): Promise<number[]> {
  const moved: number[] = [];
  for (const family of families) {
    const path = `${api.root}/${familyPaths[family]}/`;
    for (const config of await listAll<{ readonly id: number; readonly plugin: number }>(api, path)) {
      if (config.plugin !== id) continue;
      await api.send('POST', `${path}${config.id}/upgrade/`, { version });
      moved.push(config.id);
    }
  }
  return moved;
}
