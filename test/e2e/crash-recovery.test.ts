/**
 * Real: the whole program as separate processes, SQLite, chDB, HTTP. Doubled: nothing.
 * Observed: only answers to requests and what the API reads back. The ledger (test/support/ledger.ts) is the oracle.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Ledger, compareWithLedger, readAllEvents } from '../support/ledger.ts';
import { apiGet, startServer, tempDataDir, untilSettled, type TestServer } from '../support/server.ts';
import { randomFrom } from '../../tools/bench/events.ts';

const seed = 20_261_120;
/** Of each connection after an answer: some requests are always in flight, and the machine does not only make events. */
const restMs = 10;

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
  await untilSettled(server, { standard, historical });
  expect(compareWithLedger(ledger, await readAllEvents(server))).toEqual([]);
  const usage = await apiGet<Usage>(server, '/api/projects/@current/usage/');
  expect(usage.total).toEqual({ standard, historical });
  for (const distinctId of new Set(events.map((event) => event.distinct_id))) {
    const page = await apiGet<PersonPage>(server, `/api/projects/@current/persons/?distinct_id=${distinctId}`);
    expect(page.results.map((person) => person.distinct_ids)).toEqual([[distinctId]]);
  }
}

/** Of the first test; `npm run prove -- storm` makes as many as one likes. */
const kills = 6;

it(
  'after kill -9 at random moments every acknowledged event is stored once, with its person and usage',
  async () => {
    await using dataDir = await tempDataDir();
    const random = randomFrom(seed);
    const ledger = new Ledger();
    for (let round = 0; round < kills; round += 1) {
      const server = await startServer(dataDir.path, {}, { waitForReady: round % 3 === 0 });
      const stop = new AbortController();
      const sending = ledger.sendUntilDown(server, 4, stop.signal, restMs);
      // However few there are, they are spread over the whole time.
      await delay(50 + ((round + random()) / kills) * 700);
      await server.kill();
      stop.abort();
      await sending;
    }
    const server = await startServer(dataDir.path);
    await expectExact(server, ledger);
    await server.terminate();
    expect(ledger.acknowledged.size).toBeGreaterThan(40 * kills);
  },
  60_000 + kills * 60_000,
);

const places = ['before_insert', 'after_insert:2', 'after_metadata_commit:2', 'after_log_commit'];

it('a process that dies before and after an insert, a commit and a log response stores every acknowledged event once', async () => {
  await using dataDir = await tempDataDir();
  const ledger = new Ledger();
  const never = new AbortController().signal;
  for (const failAt of places) {
    const env = { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' };
    // It stores what the one before it left, and may die of that.
    const dying = await startServer(dataDir.path, env, { waitForReady: false });
    while (dying.child.signalCode === null && dying.child.exitCode === null) {
      await ledger.sendUntilDown(dying, 4, never, restMs);
      // Until it is ready it refuses.
      await delay(100);
    }
    expect([failAt, dying.child.signalCode]).toEqual([failAt, 'SIGKILL']);
  }
  const server = await startServer(dataDir.path);
  await expectExact(server, ledger);
  await server.terminate();
}, 600_000);

it('SIGTERM under load ends within 10 s and keeps every acknowledged event', async () => {
  await using dataDir = await tempDataDir();
  const ledger = new Ledger();
  for (let round = 0; round < 2; round += 1) {
    const server = await startServer(dataDir.path);
    const stop = new AbortController();
    const sending = ledger.sendUntilDown(server, 8, stop.signal, restMs);
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
