import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { arch, platform } from 'node:process';

/** Returns the program of ClickHouse: the one at CLICKHOUSE_BINARY, or the first on the PATH. */
export function findBinary(): string | undefined {
  const named = process.env['CLICKHOUSE_BINARY'];
  const onPath = (process.env['PATH'] ?? '').split(':').map((path) => join(path, 'clickhouse'));
  return [...(named === undefined ? [] : [named]), ...onPath].find((path) => existsSync(path));
}

/** Returns chDB's library, which tools/serve-chdb.py runs as a server, if python3 can load it. */
export function findLibrary(): string | undefined {
  const python = spawnSync('python3', ['-c', 'import ctypes'], { stdio: 'ignore' });
  if (python.status !== 0) return undefined;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`@chdb/lib-${platform}-${arch}-gnu`)), 'libchdb.so');
  } catch {
    return undefined;
  }
}
