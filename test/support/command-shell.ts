import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { ageFiles } from './age-files.ts';
import { runCommand, type Finished, type RunOptions } from './command.ts';

const client = fileURLToPath(new URL('./command-client.mjs', import.meta.url));

/**
 * A shell in which `npx millrace` is the command line in this process, without its start. An import into a target that
 * cannot be read, as in most tests, is not a failure.
 */
export interface CommandShell extends AsyncDisposable {
  /** What the script writes to stdout; rejects when it fails. */
  run(script: string, cwd: string): Promise<string>;
  /** For a shell of one's own: defines `npx millrace`, with its true exit codes. */
  readonly words: string;
}

export interface ShellOptions {
  /** Whether the command line finds what the script exports, as a process does. */
  readonly exports?: boolean;
  /** Default: in this process, from the sources. */
  readonly run?: RunsCommand;
}

type RunsCommand = (args: readonly string[], options: Pick<RunOptions, 'env'>) => Promise<Finished>;

export async function openCommandShell({
  exports = false,
  run = runCommand,
}: ShellOptions = {}): Promise<CommandShell> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-shell-'));
  const socket = join(folder, 'socket');
  // A process has one working directory: one command after the other.
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    last = last.then(() => answer(connection, exports, run));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const command = `shift; "${process.execPath}" "${client}" "${socket}" "$@"`;
  return {
    words: `npx() { ${command}; }\n`,
    async run(script, cwd) {
      const words = `npx() { ${command} || [ $? -eq ${exitCodes.unverified.code} ]; }\n${script}`;
      const env = { PATH: '/usr/bin:/bin', NO_COLOR: '1' };
      return (await promisify(execFile)('/bin/sh', ['-euc', words], { cwd, env })).stdout;
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What the client hands over. */
interface Request {
  readonly args: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

async function answer(connection: Socket, exports: boolean, run: RunsCommand): Promise<void> {
  const { args, cwd, env } = JSON.parse(await text(connection)) as Request;
  // As for a person, who reads on before the next command.
  await ageFiles(cwd);
  const home = process.cwd();
  process.chdir(cwd);
  try {
    connection.end(JSON.stringify(await run(args, exports ? { env } : {})));
  } finally {
    process.chdir(home);
  }
}
