/** Real program, real chDB child process; only the child is killed or frozen. The ledger is the oracle. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { spawnCommand } from '../support/command.ts';
import { Ledger, compareWithLedger, readAllEvents } from '../support/ledger.ts';
import { hasProc, runningStorePid, storePid } from '../support/processes.ts';
import { apiGet, freePort, startServer, tempDataDir, untilSettled, type TestServer } from '../support/server.ts';

it.skipIf(!hasProc).each([
  ['SIGKILL', 5],
  ['SIGSTOP', 1],
] as const)(
  'capture continues while the event store process is hit by %s, and every event is stored once',
  async (signal, hits) => {
    await using dataDir = await tempDataDir();
    const ledger = new Ledger();
    const server = await startServer(dataDir.path);
    const stop = new AbortController();
    const sending = ledger.sendUntilDown(server, 4, stop.signal, 50);
    for (let hit = 0; hit < hits; hit++) {
      await untilReady(server);
      const before = ledger.acknowledged.size;
      process.kill(runningStorePid(server), signal);
      await delay(600);
      expect(ledger.acknowledged.size).toBeGreaterThan(before);
      if (signal === 'SIGSTOP') await untilAnotherStore(server);
      else await delay(600);
    }
    stop.abort();
    await sending;
    await ledger.settle(server);
    const events = [...ledger.acknowledged.values()];
    const historical = events.filter((event) => event.historical).length;
    await untilSettled(server, { standard: events.length - historical, historical }, 60_000);
    expect(compareWithLedger(ledger, await readAllEvents(server))).toEqual([]);
    const usage = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
    expect(usage.total).toEqual({ standard: events.length - historical, historical });
    await server.terminate();
  },
);

it.skipIf(!hasProc)('a service whose event store is killed while it starts, starts', async () => {
  await using dataDir = await tempDataDir();
  const port = await freePort();
  const env = { MILLRACE_PORT: String(port), MILLRACE_DATA_DIR: dataDir.path };
  let serving: ChildProcess | undefined;
  const ended = spawnCommand(['serve'], { env, onStart: (child) => (serving = child) });
  if (serving === undefined) throw new Error('expected a process');
  const killed = new Set<number>();
  for (const end = Date.now() + 30_000; killed.size < 2 && Date.now() < end; await delay(5)) {
    const pid = storePid({ child: serving });
    if (pid === undefined || killed.has(pid)) continue;
    process.kill(pid, 'SIGKILL');
    killed.add(pid);
  }
  await untilReady({ url: `http://127.0.0.1:${port}`, output: () => '' });
  expect(killed.size).toBe(2);
  serving.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});

async function untilReady(server: Pick<TestServer, 'url' | 'output'>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while ((await fetch(`${server.url}/readyz`).catch(() => undefined))?.status !== 200) {
    if (Date.now() > deadline) throw new Error(`expected the store to be ready again; ${server.output()}`);
    await delay(50);
  }
}

/** A frozen child must be noticed and replaced. */
async function untilAnotherStore(server: TestServer): Promise<void> {
  const frozen = runningStorePid(server);
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    await delay(250);
    const pid = storePid(server);
    if (pid !== undefined && pid !== frozen) return;
  }
  throw new Error('expected the frozen event store process to be replaced within 60 s');
}
