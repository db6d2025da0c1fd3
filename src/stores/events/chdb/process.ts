/**
 * Entry of the process that hosts the embedded engine, which must not share a process with anything else: exiting during a query can
 * abort or hang. Only supervisor.ts starts and stops it (SIGKILL, which is safe).
 */
import { rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import type { FromProcess, ProcessOptions, StartFailure } from './messages.ts';
import { openEngine, type OpenEngine } from './open-engine.ts';
import { serveEngine } from './serve-engine.ts';
import { StoreSchemaTooNewError } from '../migrate-store.ts';

function send(message: FromProcess): void {
  if (process.connected) process.send?.(message);
}

function startFailure(error: unknown): StartFailure {
  return error instanceof StoreSchemaTooNewError ? 'schema' : 'engine';
}

async function main(options: ProcessOptions): Promise<void> {
  // The parent has ended, so nothing would stop this process or clean up after it.
  process.on('disconnect', () => {
    rmSync(dirname(options.socketPath), { recursive: true, force: true });
    process.kill(process.pid, 'SIGKILL');
  });
  // Ctrl-C and service managers signal the whole group; the parent decides when this process ends.
  process.on('SIGTERM', () => undefined);
  process.on('SIGINT', () => undefined);
  const chdb = await import('chdb').catch((error: unknown) => {
    send({ kind: 'failed', reason: 'platform', message: error instanceof Error ? error.message : String(error) });
    return undefined;
  });
  if (!chdb) return;
  let engine: OpenEngine;
  try {
    engine = await openEngine((dir, connectionArgs) => new chdb.Session(dir, { connectionArgs }), options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    send({ kind: 'failed', reason: startFailure(error), message });
    return;
  }
  process.on('message', () => send({ kind: 'pong', insertMs: engine.insertMs(), queryMs: engine.queryMs() }));
  serveEngine(engine).listen(options.socketPath, () => send({ kind: 'ready' }));
}

flushCompileCache();
await main(JSON.parse(process.argv[2] ?? '{}') as ProcessOptions);
