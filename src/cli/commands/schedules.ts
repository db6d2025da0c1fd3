import type { Command } from 'commander';
import { overlapMinutesDefault } from '../../wire/contract/import-schedule-limits.ts';
import type { ImportScheduleRecord } from '../../wire/contract/import-schedules.ts';
import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import { addApiOptions, listAll, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { countOf } from '../read-arguments.ts';
import type { Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly every?: string;
  readonly at?: string;
  readonly overlap?: string;
  readonly from?: string;
  readonly paused?: boolean;
  readonly yes?: boolean;
}

export function schedulesCommand(parent: Command, terminal: Terminal): void {
  const schedules = parent.command('schedules');
  listCommand(schedules, terminal);
  setCommand(schedules, terminal);
  stateCommands(schedules, terminal);
  runCommand(schedules, terminal);
  deleteCommand(schedules, terminal);
}

function listCommand(schedules: Command, terminal: Terminal): void {
  addApiOptions(schedules.command('list'))
    .description('list the schedules of a project')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const found = await listAll<ImportScheduleRecord>(api, `${api.root}/import_schedules/`);
      await showList(terminal, options, found, () => showSchedules(terminal, found));
    });
}

function setCommand(schedules: Command, terminal: Terminal): void {
  addApiOptions(onConfig(schedules, 'set'))
    .option('--every <span>', 'interval in minutes, hours or days: 15m, 1h, 1d')
    .option('--at <time>', 'daily at this time in the project time zone: 03:30')
    .option('--overlap <span>', 'how far a run reaches back, for late data: 30m, 2h', `${overlapMinutesDefault}m`)
    .option('--from <time>', 'start of the first run; default: now, or where the schedule left off')
    .option('--paused', 'create it paused')
    .description('create or replace the schedule of an import app')
    .action(async (config: string, options: Options) => {
      const { api, path } = placeOf(config, options);
      const { every, at, from, overlap = '', paused = false } = options;
      if ((every === undefined) === (at === undefined)) {
        throw new CommandError('usage', 'expected either --every or --at, got both or neither');
      }
      const body = {
        ...(every !== undefined && { every_minutes: minutesOf('--every', every) }),
        ...(at !== undefined && { daily_at: at }),
        ...(from !== undefined && { from }),
        overlap_minutes: minutesOf('--overlap', overlap),
        paused,
      };
      await showSchedule(terminal, options, await api.send<ImportScheduleRecord>('PUT', path, body));
    });
}

function stateCommands(schedules: Command, terminal: Terminal): void {
  const verbs = [
    ['pause', true, 'pause a schedule; a run in progress continues'],
    ['resume', false, 'resume a schedule; one run makes up for what was missed'],
  ] as const;
  for (const [verb, paused, description] of verbs) {
    addApiOptions(onConfig(schedules, verb))
      .description(description)
      .action(async (config: string, options: Options) => {
        const { api, path } = placeOf(config, options);
        await showSchedule(terminal, options, await api.send<ImportScheduleRecord>('PATCH', path, { paused }));
      });
  }
}

function runCommand(schedules: Command, terminal: Terminal): void {
  addApiOptions(onConfig(schedules, 'run'))
    .description('start the next run now; follow it with "import watch --config"')
    .action(async (config: string, options: Options) => {
      const { api, path } = placeOf(config, options);
      const run = await api.send<ImportRunRecord>('POST', `${path}run/`);
      await showRecord(terminal, options, run, () => terminal.data(run.id));
    });
}

function deleteCommand(schedules: Command, terminal: Terminal): void {
  addApiOptions(onConfig(schedules, 'delete'))
    .option('--yes', 'do not ask')
    .description('delete a schedule; imported events stay')
    .action(async (config: string, options: Options) => {
      const { api, path } = placeOf(config, options);
      await confirm(terminal.process, `Delete the schedule of config ${config}?`, options);
      await api.send('DELETE', path);
      terminal.note(`deleted the schedule of config ${config}`);
    });
}

function onConfig(schedules: Command, name: string): Command {
  return schedules.command(name).argument('<config>', 'number of the import app config, from "configs list"');
}

function placeOf(config: string, options: Options): { readonly api: ProjectApi; readonly path: string } {
  const api = projectApi(options);
  const id = countOf('<config>', config, 1);
  return { api, path: `${api.root}/pipeline_import_apps_configs/${id}/schedule/` };
}

const minutesIn = { m: 1, h: 60, d: 1440 } as const;

function minutesOf(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (number !== '') return Number(number) * minutesIn[unit as keyof typeof minutesIn];
  throw new CommandError('usage', `${option}: expected minutes, hours or days such as 15m, 2h or 1d, got: ${text}`);
}

async function showSchedule(terminal: Terminal, options: Options, schedule: ImportScheduleRecord): Promise<void> {
  await showRecord(terminal, options, schedule, () => showSchedules(terminal, [schedule]));
}

function showSchedules(terminal: Terminal, schedules: readonly ImportScheduleRecord[]): void {
  showTable(terminal, schedules, {
    CONFIG: ({ plugin_config: id }) => String(id),
    WHEN: ({ every_minutes: every, daily_at: at }) => (every === null ? `daily at ${at}` : `every ${every} min`),
    OVERLAP: ({ overlap_minutes: overlap }) => `${overlap} min`,
    'IMPORTED TO': ({ covered_to: to }) => to,
    NEXT: ({ next_at: next }) => next ?? 'paused',
    RUN: ({ run, run_state: state }) => (run === null ? '-' : `${run} ${state ?? ''}`.trim()),
    'LAST RUN': ({ last_run: last }) => (last === null ? '-' : `${last.state} ${last.created_at}`),
    ERROR: ({ error }) => error || '-',
  });
}
