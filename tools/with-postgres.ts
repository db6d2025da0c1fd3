/**
 * Runs a command with its own PostgreSQL server: `node tools/with-postgres.ts [--install] [--optional] -- command …`.
 *
 * The server listens on a free loopback port, keeps its data in a temp directory and is gone afterwards; the command
 * finds it through DATABASE_URL. Exits with the command's code, or 2 when there is no PostgreSQL; with --optional the
 * command then runs without DATABASE_URL.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres, startPostgres } from '../test/support/postgres-server.ts';
import { parseCommand, runCommand } from './with-server.ts';

const usage = 'usage: node tools/with-postgres.ts [--install] [--optional] -- command [argument …]';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, ['--install', '--optional']);
  if (command === undefined) return fail(usage);
  const binaries = findPostgres() ?? (command.options.has('--install') ? installPostgres() : undefined);
  if (binaries === undefined) {
    const code = fail(
      'expected PostgreSQL under /usr/lib/postgresql/*/bin or on the PATH, got none: install it (Debian: apt-get ' +
        'install postgresql), give --install, or set DATABASE_URL and run the command without this script',
    );
    return command.options.has('--optional') ? await runCommand(command.program, command.args, {}) : code;
  }
  const directory = await mkdtemp(join(tmpdir(), 'millrace-postgres-'));
  try {
    return await withServer(binaries, directory, (url) =>
      runCommand(command.program, command.args, { DATABASE_URL: url }),
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function fail(message: string): number {
  console.error(message);
  return 2;
}

function installPostgres(): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['install', '-y', 'postgresql'], { stdio: ['ignore', 2, 2], env });
  return findPostgres();
}

async function withServer(
  binaries: string,
  directory: string,
  work: (url: string) => Promise<number>,
): Promise<number> {
  const server = await startPostgres(binaries, directory);
  try {
    return await work(server.url);
  } finally {
    server.stop();
  }
}
