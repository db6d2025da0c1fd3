import { setTimeout as sleep } from 'node:timers/promises';
import { keptKey } from './witness.ts';
import { stormKeys, type StormProcess } from './cluster.ts';
import { spreadProject, type StormPlan } from './events.ts';

export interface StormProject {
  readonly id: number;
  readonly key: string;
  /** Its transformation's config. */
  readonly config: number;
  /** How its transformation signs events. */
  readonly label: string;
  /** Whether its transformation keeps what it counts. */
  readonly isCounted: boolean;
}

/** Ids of what is installed. */
export interface StormPlugins {
  readonly counting: number;
  /** For a project that is spread, whose transformations may keep nothing. */
  readonly marking: number;
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
const marking = `
  export function processEvent(event) {
    event.properties.marked = true;
    return event;
  }`;
const codes = { counting, marking } as const;
/** Until every process has seen what is new. */
const seenMs = 6000;

export async function installPlugins(api: StormProcess): Promise<StormPlugins> {
  const install = async (name: keyof typeof codes): Promise<number> => {
    const files = { 'plugin.json': JSON.stringify({ name }), 'index.js': codes[name] };
    return (await call<{ id: number }>(api, 'POST', '/api/projects/@current/plugins/', { files })).id;
  };
  return { counting: await install('counting'), marking: await install('marking') };
}

/** New ones, each with a transformation that counts, but the one that is spread. */
export async function makeProjects(
  api: StormProcess,
  plugins: StormPlugins,
  { projects, spread }: Pick<StormPlan, 'projects' | 'spread'>,
): Promise<StormProject[]> {
  const made: StormProject[] = [];
  while (made.length < projects) {
    const isSpread = made.length === spreadProject && spread > 1;
    const project = await call<{ id: number; api_token: string }>(api, 'POST', '/api/projects/', { name: 'storm' });
    if (isSpread) await call(api, 'PATCH', `/api/projects/${project.id}/`, { spread });
    const kind = isSpread ? 'marking' : 'counting';
    const { id: config } = await call<{ id: number }>(api, 'POST', configs(project.id), { plugin: plugins[kind] });
    await call(api, 'PATCH', `${configs(project.id)}${config}/`, { enabled: true });
    const label = `${kind} (${config})`;
    made.push({ id: project.id, key: project.api_token, config, label, isCounted: !isSpread });
  }
  await sleep(seenMs);
  return made;
}

/** Disables their transformations in all processes. */
export async function retireProjects(api: StormProcess, projects: readonly StormProject[]): Promise<void> {
  for (const { id, config } of projects) await call(api, 'PATCH', `${configs(id)}${config}/`, { enabled: false });
}

function configs(projectId: number): string {
  return `/api/projects/${projectId}/pipeline_transformation_configs/`;
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
