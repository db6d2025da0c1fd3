import { CommanderError } from 'commander';
import { ConfigError } from '../server/config/load.ts';
import { type CommandProcess, createTerminal, type Terminal } from './terminal.ts';
import { CommandError, exitCodes, type ExitReason } from './exit-codes.ts';
import { buildProgram } from './program.ts';
import { refuseUnknownSubcommand } from './subcommand-of.ts';

/**
 * Runs a command and returns its exit code.
 *
 * @param args without node and program
 */
export async function runCommandLine(args: readonly string[], process: CommandProcess): Promise<number> {
  const terminal = createTerminal(process);
  try {
    const program = await buildProgram(terminal, args.find((each) => !each.startsWith('-')) ?? '--help');
    refuseUnknownSubcommand(program, args);
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.ok.code;
  } catch (error) {
    return exitCodeOf(error, terminal, args);
  }
}

/** Outcomes that are not errors: requested ones, and `exactById`, after which every event is stored. */
const notes: ReadonlySet<ExitReason> = new Set(['paused', 'differences', 'exactById']);

function report({ reason, message }: CommandError, terminal: Terminal): void {
  if (notes.has(reason)) terminal.note(message);
  else if (reason !== 'interrupted' && reason !== 'terminated') terminal.problem(message);
}

function exitCodeOf(error: unknown, terminal: Terminal, [command]: readonly string[]): number {
  if (error instanceof CommanderError) {
    // Commander has already printed the error, or the requested help.
    if (error.exitCode === 0) return exitCodes.ok.code;
    // As in other programs named diff, its exit code 2 means differences.
    return command === 'diff' ? exitCodes.failed.code : exitCodes.usage.code;
  }
  if (error instanceof CommandError) {
    report(error, terminal);
    return exitCodes[error.reason].code;
  }
  // Compared by name: loading the metadata store for its class would slow every command down.
  if (error instanceof ConfigError || (error instanceof Error && error.name === 'SchemaVersionError')) {
    terminal.problem(error.message);
    return exitCodes.invalidConfig.code;
  }
  terminal.problem(error instanceof Error ? error.message : String(error));
  return exitCodes.failed.code;
}
