/** One project storms while another one works: the real program, with limits of projects. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const limit = 200;
const eventsPerBatch = 20;

interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly ms: number;
}

/** Ids and values that are easily damaged. */
function batchOf(events: number): object[] {
  return Array.from({ length: events }, (_, n) => ({
    event: `Käufe "鞋" ${n % 3}`,
    distinct_id: `'; DROP -- 9007199254740993${n}`,
    uuid: randomUUID(),
    properties: { order: '1234567890123456789' },
  }));
}

async function send(server: TestServer, key: string, events = eventsPerBatch): Promise<Answered> {
  const startedAt = performance.now();
  const body = JSON.stringify({ api_key: key, batch: batchOf(events) });
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
  await answer.arrayBuffer();
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ms: performance.now() - startedAt };
}

async function api<T>(server: TestServer, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${server.url}/api/projects/${path}`, {
    method,
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok)
    throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

async function storedOf(server: TestServer, projectId: number): Promise<number> {
  const { total } = await api<{ total: { standard: number } }>(server, 'GET', `${projectId}/events/counts/`);
  return total.standard;
}

/** Time of a request that ingests nothing: how slow the machine is at this moment, ms. */
async function timeProbe(server: TestServer): Promise<number> {
  const startedAt = performance.now();
  await (await fetch(`${server.url}/_health`)).arrayBuffer();
  return performance.now() - startedAt;
}

function p95(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
}

function acceptedOf(answers: readonly Answered[]): number {
  return answers.filter(({ status }) => status === 200).length * eventsPerBatch;
}

describe('limits of projects', () => {
  let data: Awaited<ReturnType<typeof tempDataDir>>;
  let server: TestServer;
  const env = { MILLRACE_PROJECT_EVENTS_PER_SECOND: String(limit) };
  beforeAll(async () => {
    data = await tempDataDir();
    server = await startServer(data.path, env);
  });
  afterAll(async () => {
    await server.kill();
    await data[Symbol.asyncDispose]();
  });

  it('while one project storms, every request of another is acknowledged quickly, and all that was acknowledged is stored', async () => {
    const other = await api<{ id: number; api_token: string }>(server, 'POST', '', { name: 'Other "項目"' });
    const startedAt = performance.now();
    const storm: Answered[] = [];
    const steady: Answered[] = [];
    const probes: number[] = [];
    const ended = AbortSignal.timeout(6000);
    // Offers thirty times the limit.
    const attack = async (): Promise<void> => {
      while (!ended.aborted) {
        storm.push(await send(server, projectKey));
        await delay(50);
      }
    };
    const work = async (): Promise<void> => {
      while (!ended.aborted) {
        probes.push(await timeProbe(server));
        steady.push(await send(server, other.api_token));
        await delay(150);
      }
    };
    await Promise.all([...Array.from({ length: 16 }, attack), work()]);
    const seconds = (performance.now() - startedAt) / 1000;

    expect(new Set(storm.map(({ status }) => status))).toEqual(new Set([200, 429]));
    const refused = storm.filter(({ status }) => status === 429);
    expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) >= 1))).toEqual([]);
    // Ten seconds of the limit at once, then the limit.
    expect(acceptedOf(storm)).toBeLessThanOrEqual(limit * (10 + seconds) + eventsPerBatch);
    expect(acceptedOf(storm)).toBeGreaterThanOrEqual(limit * 10);
    expect(new Set(steady.map(({ status }) => status))).toEqual(new Set([200]));
    // A commit to disk, and the hops of a request on a machine that may be busy.
    expect(p95(steady.map(({ ms }) => ms))).toBeLessThan(1000 + 10 * p95(probes));

    const expected = [acceptedOf(storm), acceptedOf(steady)];
    const both = async () => [await storedOf(server, 1), await storedOf(server, other.id)];
    await expect.poll(both, { timeout: 60_000, interval: 300 }).toEqual(expected);

    const attention = async (): Promise<string[]> =>
      (await api<{ attention: { code: string }[] }>(server, 'GET', '1/status/')).attention.map(({ code }) => code);
    await expect.poll(attention, { timeout: 30_000, interval: 300 }).toContain('project_limited');
    const warnings = await api<{ results: { type: string; count: number }[] }>(server, 'GET', '1/ingestion_warnings/');
    const refusedEvents = refused.length * eventsPerBatch;
    const counted = warnings.results.find(({ type }) => type === 'project_limit_exceeded')?.count;
    expect(counted).toBeGreaterThan(0);
    expect(counted).toBeLessThanOrEqual(refusedEvents);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain(`millrace_limited_events_total{lane="live",limit="events_per_second"} ${refusedEvents}`);
  });

  it('a limit set at runtime applies without a restart, and still after kill -9', async () => {
    await api(server, 'PATCH', '1/limits/', { events_per_second: 0 });
    await expect.poll(async () => (await send(server, projectKey, 50 * limit)).status, { timeout: 30_000 }).toBe(200);
    expect((await send(server, projectKey, 50 * limit)).status).toBe(200);
    await api(server, 'PATCH', '1/limits/', { events_per_second: 1 });
    await expect.poll(async () => (await send(server, projectKey)).status, { timeout: 30_000 }).toBe(429);
    await server.kill();
    server = await startServer(data.path, env);
    // A restart forgets what was sent before, not the limit.
    expect((await send(server, projectKey, 10)).status).toBe(200);
    expect((await send(server, projectKey, 10)).status).toBe(429);
  });
});
