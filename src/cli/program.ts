import { Command, type OutputConfiguration } from 'commander';
import { programVersion } from '../base/program-version.ts';
import type { CommandProcess } from './command-process.ts';
import { askForIds } from './completion/completion-script.ts';
import { activityCommand } from './commands/activity.ts';
import { agreementsCommand } from './commands/agreements.ts';
import { backupCommand } from './commands/backup.ts';
import { deadLettersCommand } from './commands/dead-letters.ts';
import { groupsCommand } from './commands/groups.ts';
import { noticesCommand } from './commands/notices.ts';
import { personsCommand } from './commands/persons.ts';
import { runsCommand } from './commands/runs.ts';
import { schedulesCommand } from './commands/schedules.ts';
import { statusCommand } from './commands/status.ts';
import { topCommand } from './commands/top.ts';
import { usageCommand } from './commands/usage.ts';
import { warningsCommand } from './commands/warnings.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { configurationFileCommands } from './commands/configuration-files.ts';
import { configsCommand } from './commands/configs.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommand } from './commands/events.ts';
import { healthcheckCommand } from './commands/healthcheck.ts';
import { helpCommand } from './commands/help.ts';
import { importCommand } from './commands/import.ts';
import { keysCommand } from './commands/keys.ts';
import { loginCommand } from './commands/login.ts';
import { moveCommand } from './commands/move.ts';
import { openapiCommand } from './commands/openapi.ts';
import { pluginsCommand } from './commands/plugins.ts';
import { profilesCommand } from './commands/profiles.ts';
import { projectsCommand } from './commands/projects.ts';
import { restoreCommand } from './commands/restore.ts';
import { sendCommand } from './commands/send.ts';
import { serveCommand } from './commands/serve.ts';
import { transformationCommand } from './commands/transformation.ts';
import { usersCommand } from './commands/users.ts';
import { examplesOf } from './examples.ts';
import { settleOptions } from './settle-options.ts';
import type { Terminal } from './terminal.ts';

const defaultHelpWidth = 80;

/** Every command, in the order of a first day with the program. */
const commands = [
  serveCommand,
  sendCommand,
  importCommand,
  runsCommand,
  schedulesCommand,
  eventsCommand,
  personsCommand,
  groupsCommand,
  deadLettersCommand,
  warningsCommand,
  usageCommand,
  statusCommand,
  topCommand,
  configsCommand,
  pluginsCommand,
  transformationCommand,
  configurationFileCommands,
  agreementsCommand,
  noticesCommand,
  activityCommand,
  profilesCommand,
  loginCommand,
  usersCommand,
  keysCommand,
  projectsCommand,
  configCommand,
  doctorCommand,
  backupCommand,
  restoreCommand,
  moveCommand,
  healthcheckCommand,
  openapiCommand,
  completionCommand,
  helpCommand,
];

/** The whole command line. Throws CommanderError instead of ending the process. */
export function buildProgram(terminal: Terminal): Command {
  const program = new Command('millrace');
  const { env } = terminal.process;
  program
    .description('Self-hosted event pipeline: capture, transformations and historical imports, stored exactly once')
    .version(programVersion(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    // Of its own, which knows commands of commands, too.
    .helpCommand(false)
    .addHelpText('after', '\nExit codes and all options: docs/reference/cli.md')
    .hook('preAction', (_, command) => {
      // Of what asks for ids the options come with the words, later.
      if (command.name() !== askForIds) settleOptions(command, terminal);
    })
    .configureOutput(outputOf(terminal.process));
  for (const add of commands) add(program, terminal);
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
