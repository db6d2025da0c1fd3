/** A PostgreSQL server for tests: on loopback only, its data in a directory that is given. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chmod, chown, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freePort } from '../../tools/with-server.ts';

/** The system user that a server runs as; PostgreSQL refuses to run as root. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The newest version's directory of programs. */
export function findPostgres(): string | undefined {
  const versionOf = (path: string): number => Number(/postgresql\/(\d+)/.exec(path)?.[1] ?? 0);
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted((a, b) => versionOf(b) - versionOf(a));
  const onPath = (process.env.PATH ?? '').split(':').map((path) => join(path, 'initdb'));
  const initdb = [...installed, ...onPath].find((path) => existsSync(path));
  return initdb === undefined ? undefined : dirname(initdb);
}

export interface PostgresServer {
  readonly url: string;
  /** The process whose children serve the connections. */
  pid(): number;
  /** Ends it as a crash would, and starts it again: ready when it returns. */
  restart(): void;
  stop(): void;
}

/** One that follows another server until it is promoted. */
export interface StandbyServer extends PostgresServer {
  /** Resolves when it accepts writes. */
  promote(): void;
}

type Call = (name: string, args: readonly string[]) => void;

/**
 * `binaries`: see findPostgres. `directory` must be empty; the caller removes it after `stop`. Durability costs time and proves nothing
 * where the data is thrown away, so it is off unless asked for.
 */
export async function startPostgres(
  binaries: string,
  directory: string,
  { isDurable = false }: { readonly isDurable?: boolean } = {},
): Promise<PostgresServer> {
  // A locale that does not sort by bytes, as on most people's servers.
  const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  return await serve(binaries, directory, isDurable, (call, data) =>
    call('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...locale]),
  );
}

/** A copy of the primary that follows it, under this name for `synchronous_standby_names`. */
export async function startStandby(
  binaries: string,
  directory: string,
  primary: PostgresServer,
  name: string,
): Promise<StandbyServer> {
  const source = `${primary.url}?application_name=${name}`;
  return await serve(binaries, directory, true, (call, data) =>
    call('pg_basebackup', ['-D', data, '-d', source, '-X', 'stream', '-R', '-c', 'fast', '--no-sync']),
  );
}

async function serve(
  binaries: string,
  directory: string,
  isDurable: boolean,
  prepare: (call: Call, data: string) => void,
): Promise<StandbyServer> {
  const account = accountForServer();
  if (account !== undefined) await chown(directory, account.uid, account.gid);
  await chmod(directory, 0o700);
  const data = join(directory, 'data');
  const log = join(directory, 'log');
  const call: Call = (name, args) => {
    // Standard output belongs to the command.
    execFileSync(join(binaries, name), args, { ...account, cwd: directory, stdio: ['ignore', 'ignore', 2] });
  };
  prepare(call, data);
  const port = await freePort();
  const start = (): void =>
    call('pg_ctl', ['start', '-w', '-D', data, '-l', log, '-o', serverOptions(port, directory, isDurable)]);
  const stop = (): void => call('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data]);
  try {
    start();
  } catch (error) {
    console.error(existsSync(log) ? await readFile(log, 'utf8') : 'the server wrote no log');
    throw error;
  }
  const restart = (): void => {
    stop();
    start();
  };
  // Its first line.
  const pid = (): number => Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return { url, pid, restart, stop, promote: () => call('pg_ctl', ['promote', '-w', '-D', data]) };
}

function serverOptions(port: number, directory: string, isDurable: boolean): string {
  const durability = isDurable ? '' : ' -c fsync=off -c full_page_writes=off';
  return `-c listen_addresses=127.0.0.1 -p ${port} -k ${directory}${durability}`;
}

/** Undefined: run as who we are. */
function accountForServer(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
