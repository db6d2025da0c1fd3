/**
 * Real: the whole program as separate processes, SQLite, chDB, HTTP. Doubled: nothing.
 * Observed: only answers to requests and what the API reads back. The ledger (test/support/ledger.ts) is the oracle.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Ledger, compareWithLedger, readAllEvents } from '../support/ledger.ts';
import { apiGet, startServer, tempDataDir, untilStored, type TestServer } from '../support/server.ts';
import { randomFrom } from '../../scripts/bench/events.ts';

const seed = 20_261_120;

interface Usage {
  readonly total: { readonly standard: number; readonly historical: number };
}
interface PersonPage {
  readonly results: readonly { distinct_ids: string[] }[];
}

async function expectExact(server: TestServer, ledger: Ledger): Promise<void> {
  await ledger.settle(server);
  const events = [...ledger.sent.values()].filter(({ uuid }) => ledger.acknowledged.has(uuid));
  const historical = events.filter((event) => event.historical).length;
  const standard = events.length - historical;
  await untilStored(server, { standard, historical });
  expect(compareWithLedger(ledger, await readAllEvents(server))).toEqual([]);
  const usage = await apiGet<Usage>(server, '/api/projects/@current/usage/');
  expect(usage.total).toEqual({ standard, historical });
  for (const distinctId of new Set(events.map((event) => event.distinct_id))) {
    const page = await apiGet<PersonPage>(server, `/api/projects/@current/persons/?distinct_id=${distinctId}`);
    expect(page.results.map((person) => person.distinct_ids)).toEqual([[distinctId]]);
  }
}

it('after kill -9 at 30 random moments every acknowledged event is stored once, with its person and usage', async () => {
  await using dataDir = await tempDataDir();
  const random = randomFrom(seed);
  const ledger = new Ledger();
  for (let round = 0; round < 30; round++) {
    const server = await startServer(dataDir.path, {}, { waitForReady: round % 3 === 0 });
    const stop = new AbortController();
    const sending = ledger.sendUntilDown(server, 4, stop.signal);
    await delay(50 + random() * 700);
    await server.kill();
    stop.abort();
    await sending;
  }
  const server = await startServer(dataDir.path);
  await expectExact(server, ledger);
  await server.terminate();
  expect(ledger.acknowledged.size).toBeGreaterThan(1000);
});

it.each(['before_insert', 'after_insert:2', 'after_metadata_commit:2', 'after_log_commit'])(
  'a process that dies at %s stores every acknowledged event once',
  async (failAt) => {
    await using dataDir = await tempDataDir();
    const ledger = new Ledger();
    const dying = await startServer(dataDir.path, { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' });
    const stop = new AbortController();
    const exited = new Promise((resolve) => dying.child.once('exit', resolve));
    await Promise.all([ledger.sendUntilDown(dying, 4, stop.signal), exited.then(() => stop.abort())]);
    expect(dying.child.signalCode).toBe('SIGKILL');
    const server = await startServer(dataDir.path);
    await expectExact(server, ledger);
    await server.terminate();
  },
);

it('SIGTERM under load ends within 10 s and keeps every acknowledged event', async () => {
  await using dataDir = await tempDataDir();
  const ledger = new Ledger();
  for (let round = 0; round < 3; round++) {
    const server = await startServer(dataDir.path);
    const stop = new AbortController();
    const sending = ledger.sendUntilDown(server, 8, stop.signal);
    await delay(700);
    const ended = await server.terminate();
    stop.abort();
    await sending;
    expect(ended.code).toBe(0);
    expect(ended.ms).toBeLessThan(10_000);
  }
  const server = await startServer(dataDir.path);
  await expectExact(server, ledger);
  await server.terminate();
});
