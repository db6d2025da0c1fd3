import { CommanderError } from 'commander';
import { ConfigError } from '../config/load.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { buildProgram } from './program.ts';
import { createTerminal } from './terminal.ts';

/** Entry of the command `millrace`: runs one command and turns whatever happens into an exit code. */
const terminal = createTerminal();

// A reader that has seen enough (`| head`) closes the pipe; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  await buildProgram(terminal).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
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
