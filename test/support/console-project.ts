import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { apiSend, createFilesConfig, startImport, untilRun, writeRecords } from './import-runs.ts';
import { apiGet, projectKey, type TestServer } from './server.ts';

/** Ids of what the project of the console's tests holds. */
export interface FilledProject {
  readonly transformation: number;
  readonly importConfig: number;
  /** An import run that was checked. */
  readonly run: string;
  readonly deadLetter: string;
}

/** One of everything that a page of the console shows, in the first project. */
export async function fillProject(server: TestServer): Promise<FilledProject> {
  const identify = { $set: { email: 'ada@example.com' }, $groups: { company: 'acme' } };
  const group = { $group_type: 'company', $group_key: 'acme', $group_set: { name: 'Acme' } };
  await capture(server, [
    { event: 'visit', distinct_id: 'ada', properties: { plan: 'pro' } },
    { event: '$identify', distinct_id: 'ada', properties: identify },
    { event: '$groupidentify', distinct_id: 'ada', properties: group },
    { event: 'lost', distinct_id: '' },
    { event: 'late', distinct_id: 'ada', timestamp: 'never' },
  ]);
  const transformation = await addTransformation(server);
  const records = [{ event: 'signed up', distinct_id: 'ada', timestamp: '2024-01-01T00:00:00Z', properties: {} }];
  await writeRecords(server.dataDir, 'history.ndjson.gz', records);
  const config = await createFilesConfig(server, { paths: 'history.ndjson.gz', format: 'posthog' });
  const run = await startImport(server, config, { last: 'check' });
  await untilRun(server, run, ({ state }) => state === 'completed');
  return {
    transformation,
    importConfig: Number(idOf(config)),
    run: idOf(run),
    deadLetter: await firstDeadLetter(server),
  };
}

export async function capture(server: Pick<TestServer, 'url'>, batch: readonly object[]): Promise<void> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect(answer.status).toBe(200);
}

/** Returns the id of the config. */
export async function addTransformation(server: TestServer, fields: object = {}): Promise<number> {
  const plugins = await apiGet<Page<{ id: number; name: string }>>(server, '/api/projects/1/plugins/?limit=100');
  const plugin = plugins.results.find(({ name }) => name === 'Bot filter')?.id;
  const path = '/api/projects/1/pipeline_transformation_configs/';
  const { id } = await apiSend<{ id: number }>(server, 'POST', path, { plugin, enabled: true, ...fields });
  return id;
}

/** Waits until there is one. */
export async function firstDeadLetter(server: TestServer): Promise<string> {
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await delay(100)) {
    const letters = await apiGet<Page<{ id: string }>>(server, '/api/projects/1/dead_letters/');
    const id = letters.results[0]?.id;
    if (id !== undefined) return id;
  }
  throw new Error('expected a dead letter within 120 s');
}

interface Page<Row> {
  readonly results: readonly Row[];
}

/** The last part of a path. */
function idOf(path: string): string {
  return path.replace(/\/$/, '').split('/').at(-1) ?? '';
}
