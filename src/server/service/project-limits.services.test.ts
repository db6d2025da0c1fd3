/** Limits of projects in a cluster: real processes and PostgreSQL, which has the metadata and the event log. */
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

/** Sends without a pause until the signal, and returns the accepted events. */
async function flood(server: TestServer, signal: AbortSignal): Promise<number> {
  let accepted = 0;
  while (!signal.aborted) if ((await send(server)) === 200) accepted += eventsPerBatch;
  return accepted;
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

  const floodFor = async (ms: number, servers: readonly TestServer[]) => {
    const startedAt = performance.now();
    const accepted = await Promise.all(servers.map((server) => flood(server, AbortSignal.timeout(ms))));
    return { accepted, seconds: (performance.now() - startedAt) / 1000 };
  };

  it('two capture processes share the limit of a project, whichever of them it sends to', async () => {
    // What may be sent at once, while the processes discover what the other is offered.
    await floodFor(6000, [one, two]);
    const both = await floodFor(6000, [one, two]);
    const [first = 0, second = 0] = both.accepted;
    expect((first + second) / (limit * both.seconds)).toBeGreaterThan(0.6);
    expect((first + second) / (limit * both.seconds)).toBeLessThan(1.3);
    expect(Math.min(first, second)).toBeGreaterThan(0);
    await floodFor(4000, [one]);
    const alone = await floodFor(5000, [one]);
    const [only = 0] = alone.accepted;
    expect(only / (limit * alone.seconds)).toBeGreaterThan(0.6);
    expect(only / (limit * alone.seconds)).toBeLessThan(1.3);
  });

  it('a limit that is raised applies in all processes within seconds, without a restart', async () => {
    const change = async (events_per_second: number | null): Promise<void> => {
      const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ events_per_second });
      const answer = await fetch(`${api.url}/api/projects/@current/limits/`, { method: 'PATCH', headers, body });
      expect(answer.status).toBe(200);
    };
    await change(0);
    for (const server of [one, two]) await expect.poll(() => send(server, 40 * limit), patient).toBe(200);
    for (const server of [one, two]) expect(await send(server, 40 * limit)).toBe(200);
    await change(1);
    for (const server of [one, two]) await expect.poll(() => send(server), patient).toBe(429);
  });
});
