/** Limits of projects in a cluster: real processes and PostgreSQL, which has the metadata and the event log. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCluster, type TestCluster } from '../../../test/support/cluster.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { personalKey, projectKey, type TestServer } from '../../../test/support/server.ts';

const limit = 300;
const eventsPerBatch = 15;
const patient = { timeout: 60_000, interval: 300 };

async function send(server: TestServer, events = eventsPerBatch): Promise<number> {
  const batch = Array.from({ length: events }, (_, n) => ({ event: 'a', distinct_id: `p${n}` }));
  const body = JSON.stringify({ api_key: projectKey, batch });
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
  await answer.arrayBuffer();
  return answer.status;
}

interface Flood {
  offered: number;
  accepted: number;
  refusals: number;
}

/** Sends many times the limit over four connections until the signal. */
async function flood(server: TestServer, signal: AbortSignal): Promise<Flood> {
  const counts: Flood = { offered: 0, accepted: 0, refusals: 0 };
  const sender = async (): Promise<void> => {
    while (!signal.aborted) {
      const status = await send(server);
      counts.offered += eventsPerBatch;
      if (status === 200) counts.accepted += eventsPerBatch;
      else counts.refusals += 1;
      await delay(20);
    }
  };
  await Promise.all(Array.from({ length: 4 }, sender));
  return counts;
}

describeOnPostgres('limits of projects in a cluster', (database) => {
  let cluster: TestCluster;
  let one: TestServer;
  let two: TestServer;
  let api: TestServer;

  beforeAll(async () => {
    cluster = await openCluster(database.url, { eventLog: 'postgres' });
    const env = { MILLRACE_PROJECT_EVENTS_PER_SECOND: String(limit) };
    [one, two, api] = await Promise.all([
      cluster.start('capture', env),
      cluster.start('capture', env),
      cluster.start('api', env),
    ]);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  /** Floods the servers, and returns what they accepted relative to what they should: the limit, or what they were offered. */
  const floodFor = async (ms: number, servers: readonly TestServer[]) => {
    const startedAt = performance.now();
    const counts = await Promise.all(servers.map((server) => flood(server, AbortSignal.timeout(ms))));
    const allowed = (limit * (performance.now() - startedAt)) / 1000;
    const sum = (of: keyof Flood): number => counts.reduce((all, each) => all + each[of], 0);
    const accepted = counts.map((each) => each.accepted);
    const isRefused = counts.every(({ refusals }) => refusals > 0);
    return {
      accepted,
      isRefused,
      part: sum('accepted') / Math.min(allowed, sum('offered')),
      of: sum('accepted') / allowed,
    };
  };
  /** Sends what may be sent at once, however long that takes. */
  const drain = async (servers: readonly TestServer[]): Promise<void> => {
    await expect.poll(async () => (await floodFor(4000, servers)).isRefused, patient).toBe(true);
  };

  it('two capture processes share the limit of a project, whichever of them it sends to', async () => {
    await drain([one, two]);
    const both = await floodFor(6000, [one, two]);
    expect(both.part).toBeGreaterThan(0.6);
    expect(both.of).toBeLessThan(1.3);
    expect(Math.min(...both.accepted)).toBeGreaterThan(0);
    await drain([one]);
    const alone = await floodFor(5000, [one]);
    expect(alone.part).toBeGreaterThan(0.6);
    expect(alone.of).toBeLessThan(1.3);
  });

  it('a limit that is raised applies in all processes within seconds, without a restart', async () => {
    const change = async (events_per_second: number | null): Promise<void> => {
      const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ events_per_second });
      const answer = await fetch(`${api.url}/api/projects/@current/limits/`, { method: 'PATCH', headers, body });
      expect(answer.status).toBe(200);
    };
    // A full bucket admits one batch of any size: only the second shows that the limit is gone.
    const sendTwice = async (server: TestServer) => [await send(server, 40 * limit), await send(server, 40 * limit)];
    await change(0);
    for (const server of [one, two]) await expect.poll(() => sendTwice(server), patient).toEqual([200, 200]);
    await change(1);
    for (const server of [one, two]) await expect.poll(() => send(server), patient).toBe(429);
  });
});
