import { Command, type OutputConfiguration } from 'commander';
import { programVersion } from '../base/program-version.ts';
import type { CommandProcess } from './command-process.ts';
import { askForIds } from './completion/completion-script.ts';
import { examplesOf } from './examples.ts';
import { CommandError } from './exit-codes.ts';
import { nearest } from '../base/nearest.ts';
import { settleOptions } from './settle-options.ts';
import type { Terminal } from './terminal.ts';

const defaultHelpWidth = 80;
const versionFlags = ['-v', '--version'];

type AddCommands = (program: Command, terminal: Terminal) => void;

/**
 * Every command, in the order of a first day with the program: its words, and what adds it. Loading all of them takes longer than most
 * commands run, so only that of the asked one is loaded.
 */
const commands: readonly (readonly [words: string, load: () => Promise<AddCommands>])[] = [
  ['serve', async () => (await import('./commands/serve.ts')).serveCommand],
  ['send', async () => (await import('./commands/send.ts')).sendCommand],
  ['import', async () => (await import('./commands/import.ts')).importCommand],
  ['runs', async () => (await import('./commands/runs.ts')).runsCommand],
  ['schedules', async () => (await import('./commands/schedules.ts')).schedulesCommand],
  ['events', async () => (await import('./commands/events.ts')).eventsCommand],
  ['persons', async () => (await import('./commands/persons.ts')).personsCommand],
  ['groups', async () => (await import('./commands/groups.ts')).groupsCommand],
  ['dead-letters', async () => (await import('./commands/dead-letters.ts')).deadLettersCommand],
  ['warnings', async () => (await import('./commands/warnings.ts')).warningsCommand],
  ['usage', async () => (await import('./commands/usage.ts')).usageCommand],
  ['status', async () => (await import('./commands/status.ts')).statusCommand],
  ['top', async () => (await import('./commands/top.ts')).topCommand],
  ['configs', async () => (await import('./commands/configs.ts')).configsCommand],
  ['plugins', async () => (await import('./commands/plugins.ts')).pluginsCommand],
  ['transformation', async () => (await import('./commands/transformation.ts')).transformationCommand],
  [
    'export diff apply validate',
    async () => (await import('./commands/configuration-files.ts')).configurationFileCommands,
  ],
  ['agreements', async () => (await import('./commands/agreements.ts')).agreementsCommand],
  ['notices', async () => (await import('./commands/notices.ts')).noticesCommand],
  ['activity', async () => (await import('./commands/activity.ts')).activityCommand],
  ['profiles', async () => (await import('./commands/profiles.ts')).profilesCommand],
  ['login', async () => (await import('./commands/login.ts')).loginCommand],
  ['users', async () => (await import('./commands/users.ts')).usersCommand],
  ['keys', async () => (await import('./commands/keys.ts')).keysCommand],
  ['projects', async () => (await import('./commands/projects.ts')).projectsCommand],
  ['config', async () => (await import('./commands/config.ts')).configCommand],
  ['doctor', async () => (await import('./commands/doctor.ts')).doctorCommand],
  ['backup', async () => (await import('./commands/backup.ts')).backupCommand],
  ['restore', async () => (await import('./commands/restore.ts')).restoreCommand],
  ['move', async () => (await import('./commands/move.ts')).moveCommand],
  ['healthcheck', async () => (await import('./commands/healthcheck.ts')).healthcheckCommand],
  ['openapi', async () => (await import('./commands/openapi.ts')).openapiCommand],
  [`completion ${askForIds}`, async () => (await import('./commands/completion.ts')).completionCommand],
  ['help', async () => (await import('./commands/help.ts')).helpCommand],
];

/** They tell of all others. */
const needAll: ReadonlySet<string> = new Set(['completion', 'help']);

/**
 * The command line, to be parsed with throwing CommanderError instead of ending the process. `word`: the first one of what is asked;
 * when it is no command's, or absent, every command is there.
 */
export async function buildProgram(terminal: Terminal, word?: string): Promise<Command> {
  const program = new Command('millrace');
  refuseUnknown(word);
  const { env } = terminal.process;
  program
    .description('Self-hosted event pipeline: capture, transformations and historical imports, stored exactly once')
    .version(programVersion(), versionFlags.join(', '), 'print the version')
    .helpOption('-h, --help', 'show help')
    // Of its own, which knows commands of commands, too.
    .helpCommand(false)
    .addHelpText('after', '\nExit codes and all options: docs/reference/cli.md')
    .hook('preAction', (_, command) => {
      // Of what asks for ids the options come with the words, later.
      if (command.name() !== askForIds) settleOptions(command, terminal);
    })
    .configureOutput(outputOf(terminal.process));
  for (const add of await Promise.all(loadersOf(word).map((load) => load()))) add(program, terminal);
  // Settings are inherited when a command is made; these two reach every command, whenever it was made.
  forEachCommand(program, (command) => {
    command.exitOverride().showHelpAfterError('(--help shows what there is)');
    takeEnvironment(command, env);
  });
  forEachCommand(program, (command) => {
    const shown = examplesOf(wordsOf(command));
    if (shown.length > 0)
      command.addHelpText('after', ['', 'Examples:', ...shown.map((each) => `  ${each}`)].join('\n'));
  });
  return program;
}

/** Also with `--help`, which would show everything there is. */
function refuseUnknown(word: string | undefined): void {
  const known = commands.flatMap(([words]) => words.split(' '));
  if (word === undefined || word.startsWith('-') || known.includes(word)) return;
  const meant = nearest(
    word,
    known.filter((each) => each !== askForIds),
  );
  const hint = meant === undefined ? '"millrace help" lists them' : `did you mean ${meant}?`;
  throw new CommandError('usage', `expected a command, got: ${word}; ${hint}`);
}

function loadersOf(word: string | undefined): (() => Promise<AddCommands>)[] {
  if (word !== undefined && versionFlags.includes(word)) return [];
  const own = commands.find(([words]) => word !== undefined && words.split(' ').includes(word) && !needAll.has(word));
  return (own === undefined ? commands : [own]).map(([, load]) => load);
}

function outputOf({ stdout, stderr }: CommandProcess): OutputConfiguration {
  return {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    getOutHelpWidth: () => stdout.columns ?? defaultHelpWidth,
    getErrHelpWidth: () => stderr.columns ?? defaultHelpWidth,
  };
}

/** Of the command, not of this process, which is where commander would look. */
function takeEnvironment(command: Command, env: CommandProcess['env']): void {
  for (const option of command.options) {
    if (option.envVar === undefined) continue;
    const value = env[option.envVar];
    if (value !== undefined) command.setOptionValueWithSource(option.attributeName(), value, 'env');
    option.description += ` (${option.envVar})`;
    delete option.envVar;
  }
}

/** Without the name of the program. */
function wordsOf(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${wordsOf(parent)} ${command.name()}`.trim();
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const each of command.commands) forEachCommand(each, visit);
}
