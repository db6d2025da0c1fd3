/** The program split by role: real processes, Kafka and PostgreSQL; ClickHouse and the bucket are test doubles over HTTP. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCluster, type TestCluster } from '../../../test/support/cluster.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { openStream } from '../../../test/support/event-stream.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { apiGet, personalKey, projectKey, untilStored, type TestServer } from '../../../test/support/server.ts';
import { sessionCookie } from '../../../test/support/session-cookie.ts';

const patient = { timeout: 30_000, interval: 100 };
const project = '/api/projects/@current';

async function api<T>(server: TestServer, method: string, path: string, body?: object, key = personalKey): Promise<T> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

async function send(server: TestServer, event: object): Promise<number> {
  const batch = [{ distinct_id: 'p', uuid: randomUUID(), ...event }];
  const body = JSON.stringify({ api_key: projectKey, batch });
  return (await fetch(`${server.url}/batch/`, { method: 'POST', body })).status;
}

interface Stored {
  readonly event: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

async function eventsOf(server: TestServer, event: string): Promise<readonly Stored[]> {
  return (await apiGet<{ results: readonly Stored[] }>(server, `${project}/events/?event=${event}`)).results;
}

async function ready(
  server: TestServer,
): Promise<{ status: number; checks: Record<string, { ok: boolean; detail?: string }> }> {
  const answer = await fetch(`${server.url}/readyz?verbose`);
  const { checks } = (await answer.json()) as { checks: Record<string, { ok: boolean }> };
  return { status: answer.status, checks };
}

describe.skipIf(kafkaBrokers === '')(
  `roles${kafkaBrokers === '' ? ' (skipped: KAFKA_BROKERS is not set)' : ''}`,
  () => {
    describeOnPostgres('split over processes', (database) => {
      let cluster: TestCluster;
      let capture: TestServer;
      let pipeline: TestServer;
      let one: TestServer;
      let two: TestServer;
      let jobs: TestServer;

      beforeAll(async () => {
        cluster = await openCluster(database.url);
        // All at once, on stores without a table.
        [capture, pipeline, one, two, jobs] = await Promise.all([
          cluster.start('capture'),
          cluster.start('pipeline'),
          cluster.start('api'),
          cluster.start('api'),
          cluster.start('jobs'),
        ]);
      });
      afterAll(() => cluster[Symbol.asyncDispose]());

      it('of processes that start concurrently on empty stores one migrates, and the others wait and report it', async () => {
        const all = [capture, pipeline, one, two, jobs];
        const waited = all.filter((server) =>
          server.output().includes('waiting for another process to migrate the stores'),
        );
        expect(waited.length).toBeGreaterThan(0);
        expect(waited.length).toBeLessThan(all.length);
        const versions = await database.db.selectFrom('config_revisions').select('id').execute();
        expect(versions).toHaveLength(1);
      });

      it('each reports the components that its role needs, and no others', async () => {
        const parts = async (server: TestServer) =>
          Object.keys((await ready(server)).checks)
            .toSorted()
            .join(' ');
        expect(await parts(capture)).toBe('disk event_log metadata process');
        expect(await parts(pipeline)).toBe('disk event_log event_store metadata pipeline process');
        expect(await parts(one)).toBe('event_store metadata plugins process');
        expect(await parts(jobs)).toBe('disk event_log event_store imports metadata plugins process');
        for (const server of [capture, pipeline, one, jobs]) {
          const metrics = await (await fetch(`${server.url}/metrics`)).text();
          expect(metrics).toContain('millrace_http_requests_total');
        }
        expect((await fetch(`${capture.url}/api/projects/`)).status).toBe(404);
        expect((await fetch(`${pipeline.url}/console/`)).status).toBe(404);
        expect(await send(one, { event: 'nowhere' })).toBe(404);
      });

      it('an event accepted by capture can be read through every api process', async () => {
        expect(await send(capture, { event: 'seen', properties: { $set: { plan: 'free' } } })).toBe(200);
        for (const server of [one, two]) await untilStored(server, { standard: 1 });
        const persons = await apiGet<{ results: readonly object[] }>(two, `${project}/persons/?distinct_id=p`);
        expect(persons.results).toMatchObject([{ properties: { plan: 'free' } }]);
      });

      it('a transformation created over the API runs in the pipeline process within 5 s, and can call the API from there', async () => {
        const index = `export async function processEvent(event) {
        const answer = await posthog.api.get('/api/projects/@current/');
        event.properties.answered = answer.status;
        return event;
      }`;
        const files = { 'plugin.json': JSON.stringify({ name: 'asks' }), 'index.js': index };
        const { id: plugin } = await api<{ id: number }>(one, 'POST', `${project}/plugins/`, { files });
        const family = `${project}/pipeline_transformation_configs/`;
        const { id } = await api<{ id: number }>(one, 'POST', family, { plugin });
        await api(one, 'PATCH', `${family}${id}/`, { enabled: true });
        // Every event after this must pass through it.
        await sleep(5000);
        await send(capture, { event: 'changed' });
        await expect.poll(async () => (await eventsOf(two, 'changed')).length, patient).toBe(1);
        const [found] = await eventsOf(two, 'changed');
        expect(found?.properties['answered']).toBe(200);
        await api(two, 'PATCH', `${family}${id}/`, { enabled: false });
      });

      it('a key that is revoked in one api process is refused by both within 5 s', async () => {
        const made = await api<{ id: string; value: string }>(one, 'POST', '/api/personal_api_keys/', {
          label: 'short',
          scopes: ['project:read'],
        });
        const status = async (server: TestServer): Promise<number> => {
          const headers = { authorization: `Bearer ${made.value}` };
          return (await fetch(`${server.url}${project}/`, { headers })).status;
        };
        expect([await status(one), await status(two)]).toEqual([200, 200]);
        await api(one, 'DELETE', `/api/personal_api_keys/${made.id}/`);
        const revokedAt = performance.now();
        let lastAcceptedAt = revokedAt;
        expect(await status(one)).toBe(401);
        await expect
          .poll(async () => {
            const askedAt = performance.now();
            const answer = await status(two);
            if (answer === 200) lastAcceptedAt = askedAt;
            return answer;
          }, patient)
          .toBe(401);
        expect(lastAcceptedAt - revokedAt).toBeLessThan(5000);
      });

      it('api processes share sessions: signing in or out at one applies to the other', async () => {
        const { name, value } = await sessionCookie(one, personalKey);
        const headers = { cookie: `${name}=${value}` };
        const status = async (server: TestServer): Promise<number> =>
          (await fetch(`${server.url}/api/users/@me/`, { headers })).status;
        expect([await status(one), await status(two)]).toEqual([200, 200]);
        await fetch(`${one.url}/logout`, {
          method: 'POST',
          headers: { ...headers, origin: one.url },
          redirect: 'manual',
        });
        expect(await status(one)).toBe(401);
        await expect.poll(() => status(two), patient).toBe(401);
      });

      it('a reader of the live stream in an api process sees what capture and the pipeline see', async () => {
        const authorization = `Bearer ${personalKey}`;
        const stream = await openStream(`${two.url}${project}/live_events/?event=watched`, { authorization });
        await stream.until(': open');
        await expect
          .poll(async () => {
            await send(capture, { event: 'watched' });
            return [...stream.text().matchAll(/"stage":"(\w+)"/g)].map(([, stage]) => stage);
          }, patient)
          .toEqual(expect.arrayContaining(['received', 'stored']));
        stream.close();
      });

      it('the status of any api process contains all processes, their event rates, and one that has gone silent', async () => {
        type Status = {
          processes: { roles: string[] }[];
          lanes: { live: { received_per_second: number; stored_per_second: number } };
        };
        const status = (): Promise<Status> => apiGet<Status>(one, '/api/status/');
        const rolesOf = async (): Promise<string[]> =>
          (await status()).processes.flatMap(({ roles }) => roles).toSorted();
        await expect.poll(rolesOf, patient).toEqual(['api', 'api', 'capture', 'jobs', 'pipeline']);
        await expect.poll(async () => (await status()).lanes.live.received_per_second, patient).toBeGreaterThan(0);
        await expect.poll(async () => (await status()).lanes.live.stored_per_second, patient).toBeGreaterThan(0);
        const own = await apiGet<{ received_per_second: { live: number } }>(two, `${project}/status/`);
        expect(own.received_per_second.live).toBeGreaterThan(0);
      });

      it('a service without Kafka cannot use the database of a cluster', async () => {
        const alone = { KAFKA_BROKERS: '', CLICKHOUSE_URL: '' };
        await expect(cluster.start('capture,pipeline,api,jobs', alone)).rejects.toThrow(
          'another running Millrace uses',
        );
      });

      it('SIGTERM ends each process: slots are released, requests in progress finish, the exit code is 0', async () => {
        for (const server of [jobs, pipeline])
          expect([await server.terminate(), server.output()]).toMatchObject([{ code: 0 }, expect.any(String)]);
        const slots = await database.db.selectFrom('slots').select(['slot', 'owner']).execute();
        expect(slots.filter(({ owner }) => owner !== null)).toEqual([]);
        // Capture continues without them.
        expect(await send(capture, { event: 'waits' })).toBe(200);
        const other = await cluster.start('pipeline');
        await expect.poll(async () => (await eventsOf(one, 'waits')).length, patient).toBe(1);
        const slow = await openStream(`${two.url}${project}/live_events/`, { authorization: `Bearer ${personalKey}` });
        await slow.until(': open');
        expect(await two.terminate()).toMatchObject({ code: 0 });
        expect(slow.text()).toContain('event: end');
        expect(await other.terminate()).toMatchObject({ code: 0 });
      });

      it('without ClickHouse the api reports what is missing, and capture keeps accepting events', async () => {
        await cluster.clickhouse.close();
        await expect.poll(async () => (await ready(one)).status, patient).toBe(503);
        expect((await ready(one)).checks['event_store']).toMatchObject({ ok: false });
        expect((await ready(capture)).status).toBe(200);
        expect(await send(capture, { event: 'kept' })).toBe(200);
        expect([await capture.terminate(), await one.terminate()]).toMatchObject([{ code: 0 }, { code: 0 }]);
      });
    });
  },
);
