/** A MariaDB server for tests: on loopback only, its data in a directory that is given. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection, type Connection } from 'mysql2/promise';
import { freePort } from '../../tools/with-server.ts';

/** Undefined: no server is installed, or no openssl for its certificate. */
export function findMariadb(): string | undefined {
  const directories = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  const find = (name: string): string | undefined =>
    directories.map((path) => join(path, name)).find((path) => existsSync(path));
  return find('openssl') === undefined ? undefined : find('mariadbd');
}

export interface MariadbServer extends AsyncDisposable {
  readonly port: number;
  /** Runs statements as the superuser. */
  exec(...statements: readonly string[]): Promise<void>;
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Ends it with kill -9 and starts it again: ready when it returns. */
  crash(): Promise<void>;
}

export const mariadbPassword = "very-secret'%";
/** Newer versions call them `mariadb_…`. */
const scripts = ['_system_tables.sql', '_system_tables_data.sql'];
const startTriesMax = 600;

/** The user `root` without a password is for the test, `reader` with one may read the database `shop`. TLS has a self-signed certificate. */
export async function startMariadb(program: string, directory: string): Promise<MariadbServer> {
  const data = join(directory, 'data');
  const port = await freePort();
  const own = process.getuid?.() === 0 ? ['--user=root'] : [];
  const common = ['--no-defaults', ...own, `--datadir=${data}`, '--innodb-flush-log-at-trx-commit=0'];
  const small = ['--innodb-log-file-size=8M', '--innodb-buffer-pool-size=32M', '--performance-schema=off'];
  bootstrap(program, [...common, ...small], data);
  makeCertificate(directory);
  const tls = [`--ssl-cert=${join(directory, 'cert.pem')}`, `--ssl-key=${join(directory, 'key.pem')}`];
  const place = ['--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(directory, 's')}`];
  // Zero dates are what the tests write.
  const args = [...common, ...small, ...tls, ...place, '--sql-mode=', `--log-error=${join(directory, 'log')}`];
  let child = spawn(program, args, { stdio: 'ignore' });
  let admin = await connected(port, child, join(directory, 'log'));
  await admin.query(`create database shop`);
  await admin.query(`create user reader identified by '${mariadbPassword.replaceAll("'", "''")}'`);
  await admin.query('grant select on shop.* to reader');
  await admin.query('use shop');
  const kill = async (): Promise<void> => {
    admin.destroy();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    exec: async (...statements) => {
      for (const statement of statements) await admin.query(statement);
    },
    rows: async (sql) => (await admin.query(sql))[0] as readonly Readonly<Record<string, unknown>>[],
    crash: async () => {
      await kill();
      child = spawn(program, args, { stdio: 'ignore' });
      admin = await connected(port, child, join(directory, 'log'));
      await admin.query('use shop');
    },
    [Symbol.asyncDispose]: kill,
  };
}

function bootstrap(program: string, args: readonly string[], data: string): void {
  const texts = scripts.map((name) => {
    const [path] = globSync(`/usr{,/local}/share/{mysql,mariadb}/{mysql,mariadb}${name}`);
    if (path === undefined) throw new Error(`expected MariaDB's script *${name} in /usr/share/mysql, found none`);
    return readFileSync(path, 'utf8');
  });
  mkdirSync(data);
  const variables = 'set @auth_root_socket=null;\nset @skip_auth_anonymous=1;';
  const input = `create database mysql;\nuse mysql;\n${variables}\n${texts.join('\n')}`;
  execFileSync(program, [...args, '--bootstrap'], { input, stdio: ['pipe', 'ignore', 'ignore'] });
}

function makeCertificate(directory: string): void {
  const key = join(directory, 'key.pem');
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2'];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key];
  execFileSync('openssl', [...args, '-out', join(directory, 'cert.pem'), ...names], { stdio: 'ignore' });
}

async function connected(port: number, child: ChildProcess, log: string): Promise<Connection> {
  for (let tries = 0; tries < startTriesMax; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the server ended: ${await readFile(log, 'utf8')}`);
    try {
      return await createConnection({
        host: '127.0.0.1',
        port,
        user: 'root',
        supportBigNumbers: true,
        bigNumberStrings: true,
      });
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`the server did not start: ${await readFile(log, 'utf8')}`);
}
