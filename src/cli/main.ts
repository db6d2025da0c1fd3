import { limitEngineThreads } from './engine-flags.ts';
import { runCommandLine } from './run-command-line.ts';

/** Entry of the command `millrace`. */

// A reader that has seen enough (`| head`) closes the pipe; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// Words for people that cannot be written (a file on a full disk) are lost; the service goes on without them.
process.stderr.on('error', () => undefined);

limitEngineThreads();
process.exitCode = await runCommandLine(process.argv.slice(2), process);
