/** Servers that tools/with-clickhouse.ts has started: each has a directory with its configuration, data, log and process id. */
import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinary } from './find-clickhouse.ts';

/** A replica of a cluster of tests. */
export interface TestReplica {
  readonly home: string;
  /** Host and port of HTTP. */
  readonly host: string;
}

/** Returns the replicas by shard. Empty if nothing is replicated, or if the servers must not be stopped. */
export function testReplicas(): readonly (readonly TestReplica[])[] {
  const { CLICKHOUSE_REPLICA_HOMES: homes = '', MILLRACE_CLICKHOUSE_REPLICAS: hosts = '' } = process.env;
  if (homes === '') return [];
  const hostsOf = hosts.split(';').map((shard) => shard.split(','));
  return homes
    .split(';')
    .map((shard, at) => shard.split(',').map((home, replica) => ({ home, host: hostsOf[at]?.[replica] ?? '' })));
}

/** Starts a server, which may need minutes until it answers. It outlives this process. */
export function startClickhouse(home: string): void {
  const binary = findBinary();
  if (binary === undefined) throw new Error('expected `clickhouse` on the PATH or at CLICKHOUSE_BINARY, found none');
  const log = openSync(join(home, 'out.log'), 'a');
  const args = ['server', `--config-file=${join(home, 'config.xml')}`];
  const server = spawn(binary, args, { cwd: home, stdio: ['ignore', log, log], detached: true });
  server.unref();
  if (server.pid === undefined) throw new Error(`expected to start ${binary}, got no process`);
  writeFileSync(pidFile(home), String(server.pid));
}

/** Sends the signal to the server, which must run. */
export function signalClickhouse(home: string, signal: NodeJS.Signals): void {
  process.kill(Number(readFileSync(pidFile(home), 'utf8')), signal);
}

/** Kills the server if it runs. Resolves once it has ended. */
export async function killClickhouse(home: string): Promise<void> {
  if (!existsSync(pidFile(home))) return;
  const pid = Number(readFileSync(pidFile(home), 'utf8'));
  while (killIfRunning(pid)) await sleep(50);
  rmSync(pidFile(home));
}

/** Returns whether the process still runs. One that has ended, and that its parent has not waited for, does not. */
function killIfRunning(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    const status = `/proc/${pid}/status`;
    return !existsSync(status) || !/^State:\s+Z/m.test(readFileSync(status, 'utf8'));
  } catch {
    return false;
  }
}

function pidFile(home: string): string {
  return join(home, 'pid');
}
