/** Who may do what, against the real program: two kinds of keys, two projects, nothing across. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
/** Events that went into the first project. */
let accepted = 0;
/** Keys that no answer but the first, and no log line, may show. */
const secrets = [personalKey];

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path, { MILLRACE_LOG_LEVEL: 'debug' });
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}
interface ErrorBody {
  readonly code: string;
  readonly detail: string;
}

async function call<Body = ErrorBody>(
  key: string | undefined,
  method: string,
  path: string,
  payload?: object,
): Promise<Answer<Body>> {
  const headers: Record<string, string> = {};
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
  if (payload !== undefined) headers['content-type'] = 'application/json';
  const body = payload === undefined ? null : JSON.stringify(payload);
  const answer = await fetch(server.url + path, { method, headers, body });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
}

const capture = (key: string, event: object = {}): Promise<Answer<ErrorBody>> =>
  call(undefined, 'POST', '/batch/', {
    api_key: key,
    batch: [{ event: 'seen', distinct_id: 'p', uuid: randomUUID(), ...event }],
  });

interface Project {
  readonly id: number;
  readonly api_token: string;
}

async function newProject(name: string): Promise<Project> {
  const { status, body } = await call<Project>(personalKey, 'POST', '/api/projects/', { name });
  expect(status).toBe(201);
  return body;
}

async function newKey(scopes: readonly string[], projectIds: readonly number[]): Promise<string> {
  const payload = { label: 'narrow', scopes, scoped_teams: projectIds };
  const { status, body } = await call<{ value: string }>(personalKey, 'POST', '/api/personal_api_keys/', payload);
  expect(status).toBe(201);
  secrets.push(body.value);
  return body.value;
}

async function untilCounted(key: string, project: number, expected: number): Promise<void> {
  const path = `/api/projects/${project}/events/counts/`;
  const deadline = Date.now() + 120_000;
  for (;;) {
    const { body } = await call<{ total: { standard: number } }>(key, 'GET', path);
    if (body.total.standard === expected) return;
    if (Date.now() > deadline) throw new Error(`expected ${expected} events in ${project}: ${JSON.stringify(body)}`);
    await delay(50);
  }
}

describe('keys permit only their purpose', () => {
  it.each([
    ['GET', '/api/projects/'],
    ['GET', '/api/projects/@current/events/'],
    ['GET', '/api/projects/@current/persons/'],
    ['GET', '/api/projects/@current/pipeline_transformation_configs/'],
    ['POST', '/api/personal_api_keys/'],
    ['DELETE', '/api/projects/1/'],
  ])('a project key cannot call %s %s, in whatever place it is sent', async (method, path) => {
    const inHeader = await call(projectKey, method, path);
    expect([inHeader.status, inHeader.body.code]).toEqual([401, 'authentication_failed']);
    const inQuery = await call(undefined, method, `${path}?personal_api_key=${projectKey}`);
    expect([inQuery.status, inQuery.body.code]).toEqual([401, 'authentication_failed']);
    const without = await call(undefined, method, path);
    expect([without.status, without.body.code]).toEqual([401, 'not_authenticated']);
  });

  it('a personal key cannot send events, and is not repeated in the response', async () => {
    const { status, body } = await capture(personalKey);
    expect([status, body.code]).toEqual([401, 'authentication_failed']);
    expect(body.detail).toContain('personal_api_key');
    expect(JSON.stringify(body)).not.toContain(personalKey);
    const asBearer = await call(personalKey, 'POST', '/batch/', { batch: [{ event: 'a', distinct_id: 'b' }] });
    expect([asBearer.status, asBearer.body.code]).toEqual([401, 'not_authenticated']);
  });

  it('the project key accepts events, right after all of these refusals', async () => {
    expect((await capture(projectKey)).status).toBe(200);
    accepted += 1;
    await untilStored(server, { standard: accepted });
  });
});

describe('two projects of one organisation', () => {
  it('the same event sent to both is one event in each, and a narrow key sees its own only', async () => {
    const first = await apiGet<Project>(server, '/api/projects/@current/');
    const second = await newProject('Second');
    expect(second.api_token).toMatch(/^phc_\w{40,}$/);
    const key = await newKey(['query:read', 'person:read'], [second.id]);
    const event = { uuid: randomUUID(), timestamp: '2024-01-02T03:04:05Z' };
    expect((await capture(projectKey, event)).status).toBe(200);
    accepted += 1;
    expect((await capture(second.api_token, event)).status).toBe(200);
    await untilCounted(key, second.id, 1);
    await untilCounted(personalKey, first.id, accepted);

    for (const path of ['events/', 'events/counts/', 'persons/', `events/${event.uuid}/`]) {
      const foreign = await call(key, 'GET', `/api/projects/${first.id}/${path}`);
      expect([path, foreign.status, foreign.body.code]).toEqual([path, 404, 'not_found']);
      expect((await call(key, 'GET', `/api/projects/${second.id}/${path}`)).status).toBe(200);
    }
    const unscoped = await call(key, 'GET', `/api/projects/${second.id}/dead_letters/`);
    expect([unscoped.status, unscoped.body.code]).toEqual([403, 'permission_denied']);
    expect(unscoped.body.detail).toContain("'ingestion_warning:read'");
    const listed = await call(key, 'GET', '/api/projects/');
    expect([listed.status, listed.body.code]).toEqual([403, 'permission_denied']);
  });

  it('a reset key and a deleted project accept no more events', async () => {
    const third = await newProject('Third');
    expect((await capture(third.api_token)).status).toBe(200);
    await untilCounted(personalKey, third.id, 1);
    const reset = await call<Project>(personalKey, 'POST', `/api/projects/${third.id}/reset_token/`, {});
    expect(reset.status).toBe(200);
    expect(reset.body.api_token).not.toBe(third.api_token);
    await expect.poll(async () => (await capture(third.api_token)).status).toBe(401);
    await expect.poll(async () => (await capture(reset.body.api_token)).status).toBe(200);
    expect((await call(personalKey, 'DELETE', `/api/projects/${third.id}/`)).status).toBe(204);
    await expect.poll(async () => (await capture(reset.body.api_token)).status).toBe(401);
    expect((await call(personalKey, 'GET', `/api/projects/${third.id}/events/`)).status).toBe(404);
  });
});

it('no personal key appears in the log', () => {
  expect(server.output()).toContain('/api/projects');
  for (const secret of secrets) expect(server.output()).not.toContain(secret);
});
