import { Command, type OutputConfiguration } from 'commander';
import { programVersion } from '../base/program-version.ts';
import type { CommandProcess, Terminal } from './terminal.ts';
import { commandModules, type CommandModule } from './command-list.ts';
import { completeIdsName } from './completion-script.ts';
import { examplesOf } from './examples.ts';
import { CommandError } from './exit-codes.ts';
import { nearest } from '../base/nearest.ts';
import { resolveOptions } from './resolve-options.ts';

const defaultHelpWidth = 80;

/** Commands that need the definitions of all others. */
const needAll: ReadonlySet<string> = new Set(['completion', 'help']);

/**
 * Builds the command line, whose parser throws CommanderError instead of ending the process. Errors: usage, for an unknown command.
 *
 * @param word first word of the call: only its command is loaded; all are without one, and none for an option of the program
 */
export async function buildProgram(terminal: Terminal, word?: string): Promise<Command> {
  const program = new Command('millrace');
  refuseUnknown(word);
  const { env } = terminal.process;
  program
    .description('Self-hosted event pipeline: capture, transformations and historical imports, stored exactly once')
    .version(programVersion(), '-v, --version', 'print the version')
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
  if (word?.startsWith('-') === true) listCommands(program);
  else await addCommands(program, terminal, modulesFor(word));
  // Subcommands inherit settings only when they are created; these reach all of them.
  forEachCommand(program, (command) => {
    command.exitOverride().showHelpAfterError('(add --help for usage)');
    describeMissing(command);
    takeEnvironment(command, env);
  });
  forEachCommand(program, (command) => {
    const shown = examplesOf(wordsOf(command));
    if (shown.length > 0)
      command.addHelpText('after', ['', 'Examples:', ...shown.map((each) => `  ${each}`)].join('\n'));
  });
  return program;
}

/** Lists the commands for the help of the program, without loading them. */
function listCommands(program: Command): void {
  for (const { group, lines } of commandModules) {
    program.commandsGroup(group);
    for (const { name, alias, usage, description } of lines) {
      if (description === '') continue;
      const command = program.command(`${name} ${usage}`).description(description);
      if (alias !== undefined) command.alias(alias);
    }
  }
}

async function addCommands(program: Command, terminal: Terminal, modules: readonly CommandModule[]): Promise<void> {
  const adders = await Promise.all(modules.map(({ load }) => load()));
  for (const [at, { group, lines }] of modules.entries()) {
    program.commandsGroup(group);
    adders[at]?.(program, terminal);
    for (const { name, description } of lines) {
      if (description !== '') program.commands.find((each) => each.name() === name)?.description(description);
    }
  }
}

/** Refuses unknown commands also with `--help`, which would otherwise show the help of the program. */
function refuseUnknown(word: string | undefined): void {
  const known = commandModules.flatMap(wordsOfModule);
  if (word === undefined || word.startsWith('-') || known.includes(word)) return;
  const meant = nearest(
    word,
    known.filter((each) => each !== completeIdsName),
  );
  const hint = meant === undefined ? '"millrace help" lists them' : `did you mean ${meant}?`;
  throw new CommandError('usage', `expected a command, got: ${word}; ${hint}`);
}

function modulesFor(word: string | undefined): readonly CommandModule[] {
  if (word === undefined || needAll.has(word)) return commandModules;
  return commandModules.filter((each) => wordsOfModule(each).includes(word));
}

function wordsOfModule({ lines }: CommandModule): readonly string[] {
  return lines.flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias]));
}

function outputOf({ stdout, stderr }: CommandProcess): OutputConfiguration {
  return {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    getOutHelpWidth: () => stdout.columns ?? defaultHelpWidth,
    getErrHelpWidth: () => stderr.columns ?? defaultHelpWidth,
  };
}

/** Lets the error about a missing argument say what the argument is. The parser calls this method, which its types do not declare. */
function describeMissing(command: Command): void {
  Object.assign(command, {
    missingArgument(name: string): never {
      const missing = command.registeredArguments.find((each) => each.name() === name);
      return command.error(`error: expected <${name}>: ${missing?.description ?? 'a value'}`, {
        code: 'commander.missingArgument',
      });
    },
  });
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
