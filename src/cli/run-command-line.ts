import { CommanderError } from 'commander';
import { ConfigError } from '../server/config/load.ts';
import { type CommandProcess, createTerminal, type Terminal } from './terminal.ts';
import { CommandError, exitCodes, type ExitReason } from './exit-codes.ts';
import { buildProgram } from './program.ts';

/** Runs one command and turns whatever happens into an exit code. `args`: without node and program. */
export async function runCommandLine(args: readonly string[], process: CommandProcess): Promise<number> {
  const terminal = createTerminal(process);
  try {
    const program = await buildProgram(terminal, args[0]);
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.ok.code;
  } catch (error) {
    return exitCodeOf(error, terminal, args);
  }
}

/** A pause and differences are what was asked for, and after `exactById` every event is stored: no faults. */
const notes: ReadonlySet<ExitReason> = new Set(['paused', 'differences', 'exactById']);

function say({ reason, message }: CommandError, terminal: Terminal): void {
  if (notes.has(reason)) terminal.note(message);
  else if (reason !== 'interrupted' && reason !== 'terminated') terminal.problem(message);
}

function exitCodeOf(error: unknown, terminal: Terminal, [command]: readonly string[]): number {
  if (error instanceof CommanderError) {
    // Commander has said already what is wrong, or shown the help that was asked for.
    if (error.exitCode === 0) return exitCodes.ok.code;
    // Of `diff`, 2 says that there are differences, as of every other program of that name.
    return command === 'diff' ? exitCodes.failed.code : exitCodes.usage.code;
  }
  if (error instanceof CommandError) {
    say(error, terminal);
    return exitCodes[error.reason].code;
  }
  // By name: loading the metadata store only to compare classes would slow every command down.
  if (error instanceof ConfigError || (error instanceof Error && error.name === 'SchemaVersionError')) {
    terminal.problem(error.message);
    return exitCodes.invalidConfig.code;
  }
  terminal.problem(error instanceof Error ? error.message : String(error));
  return exitCodes.failed.code;
}
