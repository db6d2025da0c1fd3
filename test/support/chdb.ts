import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/server/telemetry/log.ts';
import { startChdb, type ChdbOptions, type ChdbSupervisor } from '../../src/stores/events/chdb/supervisor.ts';
import { connectChdb } from '../../src/stores/events/chdb/connect-chdb.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';

export interface TempChdb {
  readonly supervisor: ChdbSupervisor;
  readonly store: RunStore;
  readonly root: string;
  readonly dir: string;
  readonly spoolDir: string;
  /** Why the engine was started again, so far. */
  readonly restarts: readonly string[];
  close(): Promise<void>;
}

/** For tests: the embedded engine in a temporary directory, or in `root` to open an earlier one again. */
export async function tempChdb(more: Partial<ChdbOptions> = {}, root?: string): Promise<TempChdb> {
  const place = root ?? (await mkdtemp(join(tmpdir(), 'eventstore-test-')));
  const dir = join(place, 'events');
  const spoolDir = join(place, 'spool');
  const restarts: string[] = [];
  const supervisor = await startChdb({
    dir,
    spoolDir,
    memoryBytesMax: 1 << 30,
    queryTimeoutMs: 10_000,
    log: createLog('silent'),
    onRestart: (reason) => restarts.push(reason),
    ...more,
  });
  const store = connectChdb(supervisor.socketPath, spoolDir);
  return {
    supervisor,
    store,
    root: place,
    dir,
    spoolDir,
    restarts,
    async close() {
      await store.close();
      await supervisor.close();
      if (root === undefined) await rm(place, { recursive: true, force: true });
    },
  };
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function until(condition: () => boolean | Promise<boolean>, what: string, ms = 15_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`expected within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}
