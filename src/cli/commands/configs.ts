import { type Command, Option } from 'commander';
import { projectApi, listUpTo, listAll, type ProjectApi } from '../api-options.ts';
import {
  findConfig,
  listConfigs,
  onConfig,
  onConfigs,
  type ConfigOptions,
  collectionOf,
  type FamilyName,
} from '../configs/find-config.ts';
import { showConfigs, showWholeConfig, addMonitorCommands, showConfig } from '../configs/show-configs.ts';
import type { ActivityEntry } from '../../wire/contract/activity.ts';
import type { JobRecord } from '../../wire/contract/jobs.ts';
import { restorableFields, type PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { TrialRecord } from '../../pipeline/transform/trial-record.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import { collect, countOf, jsonOf, timeOf } from '../read-arguments.ts';
import { showActivity } from './activity.ts';
import { showTrial } from '../transformation/show-trial.ts';
import type { JsonObject } from '../../base/json.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

interface ListOptions extends ConfigOptions {
  readonly search?: string;
  readonly failing?: boolean;
  readonly deleted?: boolean;
}

export function configsCommand(parent: Command, terminal: Terminal): void {
  const configs = parent.command('configs');

  onConfigs(configs.command('list'))
    .option('--search <text>', 'only configs with this text in name, description or plugin')
    .option('--failing', 'only configs with an error')
    .option('--deleted', 'deleted configs')
    .description('list configs in their order')
    .action(async (options: ListOptions) => {
      const { search, failing, deleted } = options;
      const query = { search, failing: whenTrue(failing), deleted: whenTrue(deleted) };
      const records = await listConfigs(projectApi(options), options, query);
      await showList(terminal, options, records, () => showConfigs(terminal, records));
    });

  onConfig(configs.command('show'))
    .description('show a config with its settings; secrets are masked')
    .action(async (id: string, options: ConfigOptions) => {
      const { record } = await findConfig(projectApi(options), id, options);
      await showRecord(terminal, options, record, () => showWholeConfig(terminal, record));
    });

  addChangeCommands(configs, terminal);
  addMonitorCommands(configs, terminal);
  addActionCommands(configs, terminal);
}

function whenTrue(isWanted: boolean | undefined): string | undefined {
  return isWanted === true ? 'true' : undefined;
}

interface ActionOptions extends ConfigOptions {
  readonly limit: string;
  readonly event?: string;
  readonly eventId?: string;
  readonly name?: string;
  readonly offline?: boolean;
  readonly type?: string;
  readonly payload?: string;
  readonly operation?: string;
  readonly at: string;
  readonly field?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Adds `test`, `job`, `jobs`, `activity` and `restore`. */
function addActionCommands(configs: Command, terminal: Terminal): void {
  addTest(configs, terminal);
  addJobs(configs, terminal);
  addHistory(configs, terminal);
}

function addTest(configs: Command, terminal: Terminal): void {
  onConfig(configs.command('test'))
    .option('--event <json|@file>', 'event to test, as clients send it')
    .option('--event-id <uuid>', 'or a stored event')
    .option('--name <event>', 'or the latest stored event of this name; default: the latest event')
    .option('--offline', 'refuse requests to other servers')
    .description('test a transformation on one event; nothing is stored')
    .action(async (id: string, options: ActionOptions) => {
      const api = projectApi(options);
      await findConfig(api, id, { ...options, family: 'transformations' });
      const body = {
        ...subjectOf(options),
        config_ids: [Number(id)],
        ...(options.offline === true && { requests: 'refused' }),
      };
      const trial = await api.send<TrialRecord>('POST', `${collectionOf(api, 'transformations')}test/`, body);
      await showRecord(terminal, options, trial, () => showTrial(terminal, trial, { title: 'event', everyStep: true }));
      const failed = trial.steps.find(({ outcome }) => outcome === 'failed');
      if (failed !== undefined) throw new CommandError('failed', `config ${id} failed on the event`);
    });
}

function subjectOf({ event, eventId, name }: ActionOptions): JsonObject {
  if (event !== undefined) return { event: jsonOf('--event', event) };
  if (eventId !== undefined) return { event_id: eventId };
  return name === undefined ? {} : { match: { event: name } };
}

function addJobs(configs: Command, terminal: Terminal): void {
  onConfig(configs.command('job'))
    .option('--type <name>', "one of the plugin's jobs; default: the plugin's default job")
    .option('--payload <json|@file>', 'payload, a JSON object')
    .option('--operation <name>', 'operation; default: start')
    .description('start a job of a config')
    .action(async (id: string, options: ActionOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const job = {
        ...(options.type !== undefined && { type: options.type }),
        ...(options.payload !== undefined && { payload: jsonOf('--payload', options.payload) }),
        ...(options.operation !== undefined && { operation: options.operation }),
      };
      const config = await api.send<PluginConfigRecord>(
        'POST',
        `${path}job/`,
        Object.keys(job).length > 0 ? { job } : {},
      );
      await showConfig(terminal, options, config);
      terminal.note(`started; "millrace configs jobs ${id}" shows the outcome`);
    });

  withLimit(onConfig(configs.command('jobs')))
    .description('list the jobs of a config, newest first')
    .action(async (id: string, options: ActionOptions) => {
      const api = projectApi(options);
      await findConfig(api, id, options);
      const jobs = await listUpTo<JobRecord>(api, `${api.root}/jobs/`, { plugin_config: id }, limitOf(options));
      await showList(terminal, options, jobs, () =>
        showTable(terminal, jobs, {
          CREATED: ({ created_at }) => created_at,
          JOB: ({ type }) => type,
          KIND: ({ kind }) => kind,
          STATE: ({ state }) => state,
          ATTEMPTS: ({ attempts, attempts_max: max }) => `${attempts} of ${max}`,
          ERROR: ({ error }) => error || '-',
        }),
      );
    });
}

function addHistory(configs: Command, terminal: Terminal): void {
  withLimit(onConfig(configs.command('activity')))
    .description('list what users and the service changed in a config, newest first')
    .action(async (id: string, options: ActionOptions) => {
      const api = projectApi(options);
      const query = { scope: 'PluginConfig', item_id: id };
      const entries = await listUpTo<ActivityEntry>(api, `${api.root}/activity_log/`, query, limitOf(options));
      await showList(terminal, options, entries, () => showActivity(terminal, entries));
    });

  onConfig(configs.command('restore'))
    .requiredOption('--at <time>', 'time of the state to restore: a day or an ISO 8601 time')
    .addOption(
      new Option('--field <field...>', 'only these fields')
        .choices(restorableFields)
        .argParser<readonly string[]>(collect),
    )
    .option('--dry-run', 'only show the config as it would be')
    .option('--yes', 'do not ask')
    .description('restore a config, even a deleted one, to its state at a given time')
    .action(async (id: string, options: ActionOptions) => {
      const api = projectApi(options);
      const at = timeOf('--at', options.at);
      const body = { at, ...(options.field !== undefined && { fields: options.field }) };
      if (options.dryRun !== true) {
        await confirm(terminal.process, `Restore config ${id} to its state at ${at}?`, options);
      }
      const { path } = await findConfig(api, id, options);
      const restored = await api.send<PluginConfigRecord>('POST', `${path}restore/`, {
        ...body,
        dry_run: options.dryRun === true,
      });
      await showConfig(terminal, options, restored);
    });
}

function withLimit(command: Command): Command {
  return command.option('--limit <number>', 'number of entries', '50');
}

function limitOf({ limit }: ActionOptions): number {
  return countOf('--limit', limit, 1);
}

interface ChangeOptions extends ConfigOptions {
  readonly yes?: boolean;
  readonly plugin?: string;
  readonly name?: string;
  readonly description?: string;
  readonly order?: string;
  readonly enabled?: boolean;
  readonly settings?: string;
}

/** Adds `create`, `update`, `enable`, `disable`, `reorder` and `delete`. */
function addChangeCommands(configs: Command, terminal: Terminal): void {
  withFields(onConfigs(configs.command('create')).requiredOption('--plugin <id|slug>', 'plugin, such as drop-events'))
    .description('create a config')
    .action(async (options: ChangeOptions) => showChanged(terminal, options, await create(options)));

  withFields(onConfig(configs.command('update')))
    .option('--plugin <id|slug>', 'new plugin')
    .description('change fields or settings of a config')
    .action(async (id: string, options: ChangeOptions) => showChanged(terminal, options, await update(id, options)));

  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    onConfig(configs.command(verb))
      .description(enabled ? 'enable a config' : 'disable a config')
      .action(async (id: string, options: ChangeOptions) => {
        const api = projectApi(options);
        const { path } = await findConfig(api, id, options);
        await showChanged(terminal, options, await api.send<PluginConfigRecord>('PATCH', path, { enabled }));
      });
  }

  onConfig(configs.command('reorder'))
    .argument('<position>', 'position, 0 is first')
    .description('move a config to a position and renumber the others')
    .action(async (id: string, position: string, options: ChangeOptions) => {
      const api = projectApi(options);
      const { path } = await findConfig(api, id, options);
      const body = { id: Number(id), order: numberOf(position) };
      const collection = path.replace(/\d+\/$/, '');
      await showConfig(terminal, options, await api.send('PATCH', `${collection}rearrange/`, body));
    });

  onConfig(configs.command('delete'))
    .option('--yes', 'do not ask')
    .description('delete a config permanently')
    .action(async (id: string, options: ChangeOptions) => {
      const api = projectApi(options);
      await confirm(terminal.process, `Delete config ${id} with its settings permanently?`, options);
      const { path } = await findConfig(api, id, options);
      await api.send('DELETE', path);
      terminal.note(`deleted config ${id}`);
    });
}

/** Shows a changed config, and why it does not run although it is enabled: the API stores it and starts it once the fault is gone. */
async function showChanged(terminal: Terminal, options: OutputOptions, record: PluginConfigRecord): Promise<void> {
  await showConfig(terminal, options, record);
  const { id, enabled, error } = record;
  if (!enabled || error === '') return;
  terminal.note(`warning: config ${id} is enabled but does not work: ${error}; see "millrace configs show ${id}"`);
}

function withFields(command: Command): Command {
  return command
    .option('--name <text>', 'name to show')
    .option('--description <text>', 'description to show')
    .option('--order <number>', 'position in the family, 0 is first')
    .option('--enabled', 'enable it')
    .option('--no-enabled', 'disable it')
    .option('--settings <json|@file>', 'settings to change, as a JSON object; others stay');
}

/** Creates a config and sets its settings, or nothing: it is deleted if they are refused, and enabled only once it has them. */
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
    throw new CommandError(error.reason, `no config was created: ${error.message}`, { cause: error });
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

/** Finds a plugin by number or slug. */
async function pluginOf(api: ProjectApi, name: string): Promise<PluginRecord> {
  if (/^\d+$/.test(name)) return api.get<PluginRecord>(`${api.root}/plugins/${name}/`);
  const plugins = await listAll<PluginRecord>(api, `${api.root}/plugins/`);
  const found = plugins.find(({ slug }) => slug === name);
  if (found !== undefined) return found;
  throw new CommandError('notFound', `no plugin "${name}"; installed: ${plugins.map(({ slug }) => slug).join(', ')}`);
}

/** Returns the given family, or that of the plugin's kind. Errors: usage, when the kind belongs to both or neither. */
function familyOf({ slug, kind }: PluginRecord, { family }: ConfigOptions): FamilyName {
  if (family !== undefined) return family;
  if (kind === 'transformation') return 'transformations';
  if (kind === 'import-app') return 'import-apps';
  throw new CommandError(
    'usage',
    `--family: expected transformations or import-apps, because ${slug} is of kind "${kind}"`,
  );
}

function numberOf(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new CommandError('usage', `expected a number, got: ${text}`);
}
