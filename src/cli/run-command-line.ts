import { CommanderError } from 'commander';
import { ConfigError } from '../config/load.ts';
import type { CommandProcess } from './command-process.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { buildProgram } from './program.ts';
import { createTerminal, type Terminal } from './terminal.ts';

/** Runs one command and turns whatever happens into an exit code. `args`: without node and program. */
export async function runCommandLine(args: readonly string[], process: CommandProcess): Promise<number> {
  const terminal = createTerminal(process);
  try {
    await buildProgram(terminal).parseAsync(args, { from: 'user' });
    return exitCodes.ok.code;
  } catch (error) {
    return exitCodeOf(error, terminal);
  }
}

function exitCodeOf(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) {
    // Commander has said already what is wrong, or shown the help that was asked for.
    return error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code;
  }
  if (error instanceof CommandError) {
    if (error.reason !== 'interrupted' && error.reason !== 'terminated') terminal.problem(error.message);
    return exitCodes[error.reason].code;
  }
  // By name: loading the metadata store only to compare classes would slow every command down.
  if (error instanceof ConfigError || (error instanceof Error && error.name === 'SchemaTooNewError')) {
    terminal.problem(error.message);
    return exitCodes.invalidConfig.code;
  }
  terminal.problem(error instanceof Error ? error.message : String(error));
  return exitCodes.failed.code;
}
