import { Option, type Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import type { ActivityEntry } from '../../wire/contract/activity.ts';
import type { JobRecord } from '../../wire/contract/jobs.ts';
import { restorableFields, type PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { TrialRecord } from '../../pipeline/transform/trial-record.ts';
import { listUpTo, projectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { collect, countOf, jsonOf, timeOf } from '../read-arguments.ts';
import { showActivity } from '../show-activity.ts';
import type { Terminal } from '../terminal.ts';
import { showTrial } from '../transformation/show-trial.ts';
import { collectionOf, findConfig, onConfig, type ConfigOptions } from './find-config.ts';
import { showConfig } from './show-configs.ts';

interface ActOptions extends ConfigOptions {
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

/** `test`, `job`, `jobs`, `activity`, `restore`. */
export function addActCommands(configs: Command, terminal: Terminal): void {
  addTest(configs, terminal);
  addJobs(configs, terminal);
  addHistory(configs, terminal);
}

function addTest(configs: Command, terminal: Terminal): void {
  onConfig(configs.command('test'))
    .option('--event <json|@file>', 'the event to try, as clients send it')
    .option('--event-id <uuid>', 'or a stored event')
    .option('--name <event>', 'or the latest stored event of this name; default: the latest of all')
    .option('--offline', 'let requests to other servers fail')
    .description('try a transformation on one event; nothing is stored')
    .action(async (id: string, options: ActOptions) => {
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

function subjectOf({ event, eventId, name }: ActOptions): JsonObject {
  if (event !== undefined) return { event: jsonOf('--event', event) };
  if (eventId !== undefined) return { event_id: eventId };
  return name === undefined ? {} : { match: { event: name } };
}

function addJobs(configs: Command, terminal: Terminal): void {
  onConfig(configs.command('job'))
    .option('--type <name>', "one of the plugin's jobs; default: the plugin's default job")
    .option('--payload <json|@file>', 'what is handed to it, a JSON object')
    .option('--operation <name>', 'what to do; default: start')
    .description('start a job of a config')
    .action(async (id: string, options: ActOptions) => {
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
      terminal.note(`started; "millrace configs jobs ${id}" shows what became of it`);
    });

  withLimit(onConfig(configs.command('jobs')))
    .description('list the jobs of a config, newest first')
    .action(async (id: string, options: ActOptions) => {
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
    .description('list what people and the service did to a config, newest first')
    .action(async (id: string, options: ActOptions) => {
      const api = projectApi(options);
      const query = { scope: 'PluginConfig', item_id: id };
      const entries = await listUpTo<ActivityEntry>(api, `${api.root}/activity_log/`, query, limitOf(options));
      await showList(terminal, options, entries, () => showActivity(terminal, entries));
    });

  onConfig(configs.command('restore'))
    .requiredOption('--at <time>', 'the config becomes as it stood then: a day or an ISO 8601 time')
    .addOption(
      new Option('--field <field...>', 'only these').choices(restorableFields).argParser<readonly string[]>(collect),
    )
    .option('--dry-run', 'only show the config as it would be')
    .option('--yes', 'do not ask')
    .description('put a config back to how it stood at a time, also one that has been deleted into the bin')
    .action(async (id: string, options: ActOptions) => {
      const api = projectApi(options);
      const at = timeOf('--at', options.at);
      const body = { at, ...(options.field !== undefined && { fields: options.field }) };
      if (options.dryRun !== true) {
        await confirm(terminal.process, `Put config ${id} back to how it stood at ${at}?`, options);
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
  return command.option('--limit <number>', 'how many', '50');
}

function limitOf({ limit }: ActOptions): number {
  return countOf('--limit', limit, 1);
}
