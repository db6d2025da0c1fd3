import { Command, type OutputConfiguration } from 'commander';
import { programVersion } from '../base/program-version.ts';
import type { CommandProcess, Terminal } from './terminal.ts';
import { completeIdsName } from './completion-script.ts';
import { examplesOf } from './examples.ts';
import { CommandError } from './exit-codes.ts';
import { nearest } from '../base/nearest.ts';
import { resolveOptions } from './resolve-options.ts';

const defaultHelpWidth = 80;
const versionFlags = ['-v', '--version'];

type AddCommands = (program: Command, terminal: Terminal) => void;

type Load = () => Promise<AddCommands>;

/**
 * All commands by group of the help: the words of each, and what adds it. Loading all of them takes longer than most commands run, so
 * only the one that is called is loaded.
 */
const groups: Readonly<Record<string, readonly (readonly [words: string, load: Load])[]>> = {
  'Send and import:': [
    ['send', async () => (await import('./commands/send.ts')).sendCommand],
    ['import', async () => (await import('./commands/import.ts')).importCommand],
    ['runs', async () => (await import('./commands/runs.ts')).runsCommand],
    ['schedules', async () => (await import('./commands/schedules.ts')).schedulesCommand],
    ['demo', async () => (await import('./commands/demo.ts')).demoCommand],
    ['agreements', async () => (await import('./commands/agreements.ts')).agreementsCommand],
  ],
  'Read data:': [
    ['events', async () => (await import('./commands/events.ts')).eventsCommand],
    ['persons', async () => (await import('./commands/persons.ts')).personsCommand],
    ['groups', async () => (await import('./commands/groups.ts')).groupsCommand],
    ['dead-letters', async () => (await import('./commands/dead-letters.ts')).deadLettersCommand],
    ['warnings', async () => (await import('./commands/warnings.ts')).warningsCommand],
    ['usage', async () => (await import('./commands/usage.ts')).usageCommand],
    ['status', async () => (await import('./commands/status.ts')).statusCommand],
    ['top', async () => (await import('./commands/top.ts')).topCommand],
  ],
  'Configure the pipeline:': [
    ['configs', async () => (await import('./commands/configs.ts')).configsCommand],
    ['plugins', async () => (await import('./commands/plugins.ts')).pluginsCommand],
    ['transformation', async () => (await import('./commands/transformation.ts')).transformationCommand],
    [
      'export diff apply validate',
      async () => (await import('./commands/configuration-files.ts')).configurationFileCommands,
    ],
    ['notifications notices', async () => (await import('./commands/notices.ts')).noticesCommand],
    ['activity', async () => (await import('./commands/activity.ts')).activityCommand],
  ],
  'Manage access:': [
    ['profiles', async () => (await import('./commands/profiles.ts')).profilesCommand],
    ['login', async () => (await import('./commands/login.ts')).loginCommand],
    ['users', async () => (await import('./commands/users.ts')).usersCommand],
    ['keys', async () => (await import('./commands/keys.ts')).keysCommand],
    ['projects', async () => (await import('./commands/projects.ts')).projectsCommand],
  ],
  'Run the service:': [
    ['serve', async () => (await import('./commands/serve.ts')).serveCommand],
    ['config', async () => (await import('./commands/config.ts')).configCommand],
    ['doctor', async () => (await import('./commands/doctor.ts')).doctorCommand],
    ['healthcheck', async () => (await import('./commands/healthcheck.ts')).healthcheckCommand],
    ['backup', async () => (await import('./commands/backup.ts')).backupCommand],
    ['restore', async () => (await import('./commands/restore.ts')).restoreCommand],
    ['move', async () => (await import('./commands/move.ts')).moveCommand],
  ],
  'Other:': [
    ['openapi', async () => (await import('./commands/openapi.ts')).openapiCommand],
    [`completion ${completeIdsName}`, async () => (await import('./commands/completion.ts')).completionCommand],
    ['help', async () => (await import('./commands/help.ts')).helpCommand],
  ],
};
const commands = Object.entries(groups).flatMap(([group, rows]) =>
  rows.map(([words, load]) => ({ group, words: words.split(' '), load })),
);

/** Commands that need the definitions of all others. */
const needAll: ReadonlySet<string> = new Set(['completion', 'help']);

/**
 * Builds the command line, whose parser throws CommanderError instead of ending the process. Errors: usage, for an unknown command.
 *
 * @param word first word of the call: only its command is loaded; all are without one
 */
export async function buildProgram(terminal: Terminal, word?: string): Promise<Command> {
  const program = new Command('millrace');
  refuseUnknown(word);
  const { env } = terminal.process;
  program
    .description('Self-hosted event pipeline: capture, transformations and historical imports, stored exactly once')
    .version(programVersion(), versionFlags.join(', '), 'print the version')
    .helpOption('-h, --help', 'show help')
    // Ours also finds subcommands.
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nmillrace help <command> shows a command. All options and exit codes: docs/reference/cli.md',
    )
    .hook('preAction', (_, command) => {
      // The completion of ids takes options from its words later.
      if (command.name() !== completeIdsName) resolveOptions(command, terminal);
    })
    .configureOutput(outputOf(terminal.process));
  const needed = commandsFor(word);
  const adders = await Promise.all(needed.map(({ load }) => load()));
  for (const [at, { group }] of needed.entries()) {
    program.commandsGroup(group);
    adders[at]?.(program, terminal);
  }
  // Subcommands inherit settings only when they are created; these reach all of them.
  forEachCommand(program, (command) => {
    command.exitOverride().showHelpAfterError('(add --help for usage)');
    takeEnvironment(command, env);
  });
  forEachCommand(program, (command) => {
    const shown = examplesOf(wordsOf(command));
    if (shown.length > 0)
      command.addHelpText('after', ['', 'Examples:', ...shown.map((each) => `  ${each}`)].join('\n'));
  });
  return program;
}

/** Refuses unknown commands also with `--help`, which would otherwise show the help of the program. */
function refuseUnknown(word: string | undefined): void {
  const known = commands.flatMap(({ words }) => words);
  if (word === undefined || word.startsWith('-') || known.includes(word)) return;
  const meant = nearest(
    word,
    known.filter((each) => each !== completeIdsName),
  );
  const hint = meant === undefined ? '"millrace help" lists them' : `did you mean ${meant}?`;
  throw new CommandError('usage', `expected a command, got: ${word}; ${hint}`);
}

function commandsFor(word: string | undefined): typeof commands {
  if (word !== undefined && versionFlags.includes(word)) return [];
  const own = commands.find(({ words }) => word !== undefined && words.includes(word) && !needAll.has(word));
  return own === undefined ? commands : [own];
}

function outputOf({ stdout, stderr }: CommandProcess): OutputConfiguration {
  return {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    getOutHelpWidth: () => stdout.columns ?? defaultHelpWidth,
    getErrHelpWidth: () => stderr.columns ?? defaultHelpWidth,
  };
}

/** Reads the environment of the command; commander would read that of the Node process. */
function takeEnvironment(command: Command, env: CommandProcess['env']): void {
  for (const option of command.options) {
    if (option.envVar === undefined) continue;
    const value = env[option.envVar];
    if (value !== undefined) command.setOptionValueWithSource(option.attributeName(), value, 'env');
    option.description += ` (${option.envVar})`;
    delete option.envVar;
  }
}

/** Returns the words of a command without the name of the program. */
function wordsOf(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${wordsOf(parent)} ${command.name()}`.trim();
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const each of command.commands) forEachCommand(each, visit);
}
