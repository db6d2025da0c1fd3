import type { Command } from 'commander';
import { completeIdsName } from './completion-script.ts';
import type { Terminal } from './terminal.ts';

type Load = () => Promise<(program: Command, terminal: Terminal) => void>;

type Row = readonly [load: Load, lines: Readonly<Record<string, string>>];

const unlisted = '';

/**
 * All commands by group of the help: what adds them, and their lines in the help. Loading all of them takes longer than most commands
 * run: only the one that is called is loaded, and none for the help of the program.
 */
const groups: Readonly<Record<string, readonly Row[]>> = {
  'Send and import:': [
    [
      async () => (await import('./commands/send.ts')).sendCommand,
      {
        'send [options] [file]':
          'send a file of events, or of records of another tool, as NDJSON, JSON, CSV, Parquet or Avro, plain or compressed',
      },
    ],
    [
      async () => (await import('./commands/import.ts')).importCommand,
      { import: 'import history from files or another tool into any service that accepts /batch/, exactly once' },
    ],
    [
      async () => (await import('./commands/runs.ts')).runsCommand,
      { 'runs [options]': 'list import runs of a running service in all projects or one (--project), newest first' },
    ],
    [
      async () => (await import('./commands/schedules.ts')).schedulesCommand,
      { schedules: 'schedule import apps of a running service; each run imports what is new' },
    ],
    [
      async () => (await import('./commands/demo.ts')).demoCommand,
      { 'demo [options]': 'create a project "Demo shop" with a year of events of a small web shop' },
    ],
    [
      async () => (await import('./commands/agreements.ts')).agreementsCommand,
      { agreements: 'file, approve and reject agreements for historical imports' },
    ],
  ],
  'Read data:': [
    [
      async () => (await import('./commands/events.ts')).eventsCommand,
      { events: 'list, count, follow and export events of a running service' },
    ],
    [
      async () => (await import('./commands/exports.ts')).exportsCommand,
      { exports: 'list, download, cancel and delete exports of a running service' },
    ],
    [
      async () => (await import('./commands/persons.ts')).personsCommand,
      { persons: 'list and show persons of a running service' },
    ],
    [
      async () => (await import('./commands/groups.ts')).groupsCommand,
      { groups: 'list and show groups of a running service, such as companies' },
    ],
    [
      async () => (await import('./commands/dead-letters.ts')).deadLettersCommand,
      { 'dead-letters': 'list, correct, replay and discard events that a running service could not store' },
    ],
    [
      async () => (await import('./commands/replays.ts')).replaysCommand,
      { replays: 'pass stored events of a running service to a plugin again' },
    ],
    [
      async () => (await import('./commands/erasures.ts')).erasuresCommand,
      { erasures: 'erase persons with their events, or events by a filter, from a running service' },
    ],
    [
      async () => (await import('./commands/warnings.ts')).warningsCommand,
      { warnings: 'list ingestion warnings of a running service: events not stored exactly as sent' },
    ],
    [
      async () => (await import('./commands/usage.ts')).usageCommand,
      { 'usage [options]': 'count events received per day by a running service, imported history separately' },
    ],
    [
      async () => (await import('./commands/status.ts')).statusCommand,
      { 'status [options]': 'show throughput and what needs attention in a running service' },
    ],
    [
      async () => (await import('./commands/top.ts')).topCommand,
      { 'top [options]': 'show status repeatedly until Ctrl-C' },
    ],
  ],
  'Configure the pipeline:': [
    [
      async () => (await import('./commands/configs.ts')).configsCommand,
      { configs: 'manage plugin configs of a running service: import apps and transformations' },
    ],
    [
      async () => (await import('./commands/plugins.ts')).pluginsCommand,
      { plugins: 'install, upgrade and remove plugins of a running service' },
    ],
    [
      async () => (await import('./commands/transformation.ts')).transformationCommand,
      { transformation: 'test transformations on events' },
    ],
    [
      async () => (await import('./commands/plan.ts')).planCommand,
      { plan: 'manage the tracking plan of a project: save, learn from events, test events, list violations' },
    ],
    [
      async () => (await import('./commands/configuration-files.ts')).configurationFileCommands,
      {
        'export [options]':
          'write transformations and import apps of a project as a configuration file; secrets become references',
        'diff [options]':
          'compare a configuration file with a service and show what apply would do; exit code 2 if there are differences',
        'apply [options]': 'apply a configuration file to a service; applying it again changes nothing',
        'validate [options]': 'check a configuration file without a service or secrets',
      },
    ],
    [
      async () => (await import('./commands/retention.ts')).retentionCommand,
      { retention: 'show and change how long the events of a project are kept, with a preview of what goes' },
    ],
    [
      async () => (await import('./commands/notices.ts')).noticesCommand,
      { 'notifications|notices': 'manage notifications of a running service by webhook, Slack or e-mail' },
    ],
    [
      async () => (await import('./commands/activity.ts')).activityCommand,
      {
        'activity [options]': 'list what users and the service changed in a project of a running service, newest first',
      },
    ],
  ],
  'Manage access:': [
    [
      async () => (await import('./commands/profiles.ts')).profilesCommand,
      { profiles: 'manage stored services and keys (--profile)' },
    ],
    [
      async () => (await import('./commands/login.ts')).loginCommand,
      {
        'login [options] [user]':
          'print a one-time link that signs in to the console of the data directory (or DATABASE_URL) or of a running service',
      },
    ],
    [
      async () => (await import('./commands/users.ts')).usersCommand,
      { users: 'manage users, in the data directory (or DATABASE_URL) or of a running service' },
    ],
    [
      async () => (await import('./commands/keys.ts')).keysCommand,
      { keys: 'manage personal API keys, in the data directory (or DATABASE_URL) or of a running service' },
    ],
    [
      async () => (await import('./commands/projects.ts')).projectsCommand,
      { projects: 'manage projects and their keys, in the data directory (or DATABASE_URL) or of a running service' },
    ],
  ],
  'Run the service:': [
    [async () => (await import('./commands/serve.ts')).serveCommand, { 'serve [options]': 'run the service' }],
    [async () => (await import('./commands/config.ts')).configCommand, { config: 'show the configuration' }],
    [
      async () => (await import('./commands/doctor.ts')).doctorCommand,
      { 'doctor [options]': 'check settings, machine, stores and a running service, and say what to change' },
    ],
    [
      async () => (await import('./commands/healthcheck.ts')).healthcheckCommand,
      { 'healthcheck [options] [url]': 'check whether a service is ready' },
    ],
    [
      async () => (await import('./commands/backup.ts')).backupCommand,
      {
        'backup [options]':
          'copy a data directory at one point in time, whether the service is running or not, and verify the copy',
      },
    ],
    [
      async () => (await import('./commands/restore.ts')).restoreCommand,
      { 'restore [options]': 'create a data directory from a backup, with every file verified' },
    ],
    [
      async () => (await import('./commands/move.ts')).moveCommand,
      {
        'move [options]':
          'copy a data directory or a cluster to new stores and compare the copy; the same command resumes it',
      },
    ],
  ],
  'Other:': [
    [
      async () => (await import('./commands/openapi.ts')).openapiCommand,
      { 'openapi [options]': 'print the OpenAPI description of the management API' },
    ],
    [
      async () => (await import('./commands/completion.ts')).completionCommand,
      {
        'completion <shell>': 'print a completion script, e.g. source <(millrace completion bash)',
        [completeIdsName]: unlisted,
      },
    ],
    [async () => (await import('./commands/help.ts')).helpCommand, { 'help [command...]': 'show help for a command' }],
  ],
};
/** Commands that one module adds. */
export interface CommandModule {
  readonly group: string;
  readonly load: Load;
  readonly lines: readonly CommandLine[];
}

interface CommandLine {
  readonly name: string;
  readonly alias?: string;
  /** Options and arguments as the help shows them. */
  readonly usage: string;
  /** Empty for a command that the help does not list. */
  readonly description: string;
}

export const commandModules: readonly CommandModule[] = Object.entries(groups).flatMap(([group, rows]) =>
  rows.map(([load, lines]) => ({ group, load, lines: Object.entries(lines).map(lineOf) })),
);

/** Reads a line of the help: `notifications|notices [options]`. */
function lineOf([term, description]: readonly [string, string]): CommandLine {
  const [names = '', ...usage] = term.split(' ');
  const [name = '', alias] = names.split('|');
  return { name, ...(alias !== undefined && { alias }), usage: usage.join(' '), description };
}
