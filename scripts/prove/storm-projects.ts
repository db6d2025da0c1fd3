import { setTimeout as sleep } from 'node:timers/promises';
import { keptKey } from './storm-witness.ts';
import { stormKeys, type StormProcess } from './storm-cluster.ts';

export interface StormProject {
  readonly id: number;
  readonly key: string;
  /** How its transformation signs events. */
  readonly label: string;
}

/** Counts the events that it sees in its storage and adds up their numbers: whatever is applied twice or not at all shows there. */
const counting = `
  export async function processEventBatch(events, { storage }) {
    const { times, sum } = await storage.get('${keptKey}', { times: 0, sum: 0 });
    const more = events.reduce((all, { properties }) => all + properties.n, 0);
    await storage.set('${keptKey}', { times: times + events.length, sum: sum + more });
    for (const event of events) event.properties.marked = true;
    return events;
  }`;
const pluginName = 'counts';
/** Until every process has seen what is new. */
const seenMs = 6000;

/** The plugin that counts; gives its id. */
export async function installCounting(api: StormProcess): Promise<number> {
  const files = { 'plugin.json': JSON.stringify({ name: pluginName }), 'index.js': counting };
  return (await call<{ id: number }>(api, 'POST', '/api/projects/@current/plugins/', { files })).id;
}

/** New ones, each with a transformation that counts. */
export async function makeProjects(api: StormProcess, plugin: number, count: number): Promise<StormProject[]> {
  const made: StormProject[] = [];
  while (made.length < count) {
    const project = await call<{ id: number; api_token: string }>(api, 'POST', '/api/projects/', { name: 'storm' });
    const family = `/api/projects/${project.id}/pipeline_transformation_configs/`;
    const config = await call<{ id: number }>(api, 'POST', family, { plugin });
    await call(api, 'PATCH', `${family}${config.id}/`, { enabled: true });
    made.push({ id: project.id, key: project.api_token, label: `${pluginName} (${config.id})` });
  }
  await sleep(seenMs);
  return made;
}

async function call<T>(api: StormProcess, method: string, path: string, body: object): Promise<T> {
  const answer = await fetch(api.url + path, {
    method,
    headers: { authorization: `Bearer ${stormKeys.personal}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok)
    throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
