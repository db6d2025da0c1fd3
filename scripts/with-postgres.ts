/**
 * Runs a command with a PostgreSQL server of its own: `node scripts/with-postgres.ts [--install] -- command …`.
 *
 * The server listens on a free loopback port, keeps its data in a temp directory and is gone afterwards; the command
 * finds it through DATABASE_URL. Exits with the command's code, or 2 when there is no PostgreSQL.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, parseCommand, runCommand } from './with-server.ts';

const usage = 'usage: node scripts/with-postgres.ts [--install] -- command [argument …]';

/** The system user that a server runs as; PostgreSQL refuses to run as root. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, ['--install']);
  if (command === undefined) return fail(usage);
  const binaries = findPostgres() ?? (command.options.has('--install') ? installPostgres() : undefined);
  if (binaries === undefined) {
    return fail(
      'expected PostgreSQL under /usr/lib/postgresql/*/bin or on the PATH, got none: install it (Debian: apt-get ' +
        'install postgresql), give --install, or set DATABASE_URL and run the command without this script',
    );
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

/** The newest version's directory of programs. */
function findPostgres(): string | undefined {
  const versionOf = (path: string): number => Number(/postgresql\/(\d+)/.exec(path)?.[1] ?? 0);
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted((a, b) => versionOf(b) - versionOf(a));
  const onPath = (process.env.PATH ?? '').split(':').map((path) => join(path, 'initdb'));
  const initdb = [...installed, ...onPath].find((path) => existsSync(path));
  return initdb === undefined ? undefined : dirname(initdb);
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
  const account = accountForServer();
  if (account !== undefined) await chown(directory, account.uid, account.gid);
  await chmod(directory, 0o700);
  const data = join(directory, 'data');
  const log = join(directory, 'log');
  const call = (name: string, args: readonly string[]): void => {
    // Standard output belongs to the command.
    execFileSync(join(binaries, name), args, { ...account, cwd: directory, stdio: ['ignore', 'ignore', 2] });
  };
  // A locale that does not sort by bytes, as on most people's servers.
  const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  call('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...locale]);
  const port = await freePort();
  try {
    call('pg_ctl', ['start', '-w', '-D', data, '-l', log, '-o', serverOptions(port, directory)]);
  } catch (error) {
    console.error(existsSync(log) ? await readFile(log, 'utf8') : 'the server wrote no log');
    throw error;
  }
  try {
    return await work(`postgres://postgres@127.0.0.1:${port}/postgres`);
  } finally {
    call('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data]);
  }
}

/** Durability costs time and proves nothing here: the data is thrown away. */
function serverOptions(port: number, directory: string): string {
  return `-c listen_addresses=127.0.0.1 -p ${port} -k ${directory} -c fsync=off -c full_page_writes=off`;
}

/** Undefined: run as who we are. */
function accountForServer(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
