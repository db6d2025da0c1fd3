import type { ImportRunRecord } from '../wire/contract/import-runs.ts';
import type { PluginConfigRecord } from '../wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../wire/contract/plugins.ts';
import type { ProjectRecord } from '../wire/contract/projects.ts';
import { exportLines, shopEvents, type ShopEvent } from './shop.ts';

const projectName = 'Demo shop';
const fileName = 'demo-shop.jsonl.gz';

/** Created first: a project of this name without it belongs to a user. */
const history = {
  family: 'pipeline_import_apps_configs',
  plugin: 'files',
  name: 'Shop history',
  description: 'A year of the demo shop.',
  settings: { paths: `upload:${fileName}`, format: 'posthog', rejected_max: 1 },
} as const;
const nightly = {
  family: 'pipeline_import_apps_configs',
  plugin: 'mixpanel',
  name: 'Nightly from Mixpanel',
  description: 'An example of a schedule. It is paused and its credentials are placeholders.',
  settings: { service_account: 'demo', service_secret: 'placeholder', project_id: '1' },
} as const;
const currency = {
  family: 'pipeline_transformation_configs',
  plugin: 'currency',
  name: 'Amounts in euros',
  description: 'Adds the amount of each order in euros.',
  settings: { rates: '{"EUR": 1, "USD": 1.08, "GBP": 0.85}', normalizedCurrency: 'EUR' },
} as const;

type ConfigPlan = typeof history | typeof nightly | typeof currency;

/** About 40 events each. */
export const demoPersons = 500;
/** Changes to configs reach the pipeline within two seconds. */
const takesEffectMs = 2_500;
const pollMs = 500;
const pageSizeMax = 1000;

/** The API of a service for a user who may create projects. Rejects for every response but 2xx. */
export interface DemoClient {
  /** A form is sent as multipart, anything else as JSON. */
  send<Result>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Result>;
}

export interface Demo {
  readonly project: ProjectRecord;
  /** Id of the import app config of the history. */
  readonly config: number;
}

export type DemoStep = 'project' | 'upload' | 'import' | 'live';

interface CreateOptions {
  readonly persons: number;
  /** Ms since the epoch: the end of the year. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly onStep?: (step: DemoStep) => void;
  /** Waits for the import; rejects if it does not complete. By default it is polled. */
  readonly follow?: (demo: Demo) => Promise<unknown>;
}

/** Returns the demo of a service, including one whose creation was interrupted. */
export async function findDemo(client: DemoClient): Promise<Demo | undefined> {
  const projects = await listAll<ProjectRecord>(client, '/api/projects/');
  for (const project of projects) {
    const config = await demoConfig(client, project);
    if (config !== undefined) return { project, config };
  }
  return undefined;
}

/** Returns the id of the import app config of the history, or `undefined` for a project that is not the demo. */
export async function demoConfig(client: DemoClient, { id, name }: ProjectRecord): Promise<number | undefined> {
  if (name !== projectName) return undefined;
  const configs = await listAll<PluginConfigRecord>(client, `/api/projects/${id}/${history.family}/`);
  return configs.find((config) => config.name === history.name)?.id;
}

/**
 * Creates the demo, or completes one whose creation was interrupted.
 * @returns the demo, with `created` false if nothing was missing
 */
export async function createDemo(client: DemoClient, options: CreateOptions): Promise<Demo & { created: boolean }> {
  const { persons, now, signal, onStep = () => undefined } = options;
  const { follow = (started) => waitForImport(client, started, signal) } = options;
  onStep('project');
  const demo = (await findDemo(client)) ?? (await createProject(client));
  const transformation = await ensureConfig(client, rootOf(demo), currency);
  const shop = shopEvents(now, persons);
  const isStarted = (await demoRuns(client, demo)).length > 0;
  if (isStarted && (await hasLiveEvents(client, demo))) return { ...demo, created: false };
  if (!isStarted) await startImport(client, demo, { transformation, history: shop.history, signal, onStep });

  // The import has converted the amounts. Enabled earlier, the transformation would change events while verify compares them.
  await follow(demo);
  onStep('live');
  await client.send('PATCH', `${rootOf(demo)}/${currency.family}/${transformation.id}/`, { enabled: true });
  await sleep(takesEffectMs, signal);
  await client.send('POST', '/batch/', { api_key: demo.project.api_token, batch: shop.live });
  return { ...demo, created: true };
}

interface ImportPlan extends Required<Pick<CreateOptions, 'signal' | 'onStep'>> {
  readonly transformation: PluginConfigRecord;
  readonly history: readonly ShopEvent[];
}

async function startImport(client: DemoClient, demo: Demo, plan: ImportPlan): Promise<void> {
  const root = rootOf(demo);
  const scheduled = await ensureConfig(client, root, nightly);
  const schedule = { daily_at: '03:30', paused: true };
  await client.send('PUT', `${root}/${nightly.family}/${scheduled.id}/schedule/`, schedule);

  plan.onStep('upload');
  await deleteFile(client, demo);
  const form = new FormData();
  form.set('file', await gzipped(exportLines(plan.history)), fileName);
  await client.send('POST', `${root}/import_files/?name=${fileName}`, form);

  plan.onStep('import');
  plan.signal.throwIfAborted();
  await client.send('POST', runsPath(demo), { transform: plan.transformation.id });
}

/** The live events are sent last. */
async function hasLiveEvents(client: DemoClient, demo: Demo): Promise<boolean> {
  const path = `${rootOf(demo)}/events/?historical_migration=false&limit=1`;
  return (await client.send<{ results: readonly unknown[] }>('GET', path)).results.length > 0;
}

async function waitForImport(client: DemoClient, demo: Demo, signal: AbortSignal): Promise<void> {
  const [newest] = await demoRuns(client, demo);
  const run = newest && (await ended(client, `${runsPath(demo)}${newest.id}/`, signal));
  if (run?.state !== 'completed') throw new Error(`The import of the demo is ${run?.state}: ${run?.reason}`);
}

/** Lists the runs of the history, the newest first. */
export async function demoRuns(client: DemoClient, demo: Demo): Promise<readonly ImportRunRecord[]> {
  return listAll<ImportRunRecord>(client, runsPath(demo));
}

/**
 * Undoes the import, deletes its file and then the project. May be repeated after an error.
 * @returns the run that could not be undone; the project is kept then
 */
export async function removeDemo(
  client: DemoClient,
  demo: Demo,
  signal: AbortSignal,
): Promise<ImportRunRecord | undefined> {
  for (const { id, state } of await demoRuns(client, demo)) {
    const path = `${runsPath(demo)}${id}/`;
    if (state === 'undone') continue;
    if (isActive(state) || state === 'paused') {
      await client.send('POST', `${path}cancel/`, {});
      await ended(client, path, signal);
    }
    await client.send('POST', `${path}undo/`, {});
    const undone = await ended(client, path, signal);
    if (undone.state !== 'undone') return undone;
  }
  await deleteFile(client, demo);
  await client.send('DELETE', `/api/projects/${demo.project.id}/`);
  return undefined;
}

async function createProject(client: DemoClient): Promise<Demo> {
  const project = await client.send<ProjectRecord>('POST', '/api/projects/', { name: projectName, timezone: 'UTC' });
  const { id: config } = await ensureConfig(client, `/api/projects/${project.id}`, history);
  return { project, config };
}

async function ensureConfig(client: DemoClient, root: string, plan: ConfigPlan): Promise<PluginConfigRecord> {
  const { family, plugin: slug, name, description, settings } = plan;
  const plugin = (await listAll<PluginRecord>(client, `${root}/plugins/`)).find((each) => each.slug === slug);
  if (plugin === undefined) throw new Error(`expected the plugin ${slug} in the service, got none`);
  const existing = (await listAll<PluginConfigRecord>(client, `${root}/${family}/`)).find((each) => each.name === name);
  const body = { plugin: plugin.id, name, description };
  const config = existing ?? (await client.send<PluginConfigRecord>('POST', `${root}/${family}/`, body));
  await client.send('PATCH', `${root}/${family}/${config.id}/settings/`, settings);
  return config;
}

async function deleteFile(client: DemoClient, demo: Demo): Promise<void> {
  const files = await listAll<{ name: string }>(client, `${rootOf(demo)}/import_files/`);
  if (files.every(({ name }) => name !== fileName)) return;
  await client.send('DELETE', `${rootOf(demo)}/import_files/${fileName}/`);
}

/** Polls a run until it is paused or has ended. */
async function ended(client: DemoClient, path: string, signal: AbortSignal): Promise<ImportRunRecord> {
  for (;;) {
    const run = await client.send<ImportRunRecord>('GET', path);
    if (!isActive(run.state)) return run;
    await sleep(pollMs, signal);
  }
}

function isActive(state: ImportRunRecord['state']): boolean {
  return state === 'queued' || state === 'running';
}

function rootOf({ project }: Demo): string {
  return `/api/projects/${project.id}`;
}

function runsPath(demo: Demo): string {
  return `${rootOf(demo)}/${history.family}/${demo.config}/runs/`;
}

async function listAll<Item>(client: DemoClient, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const query = `?limit=${pageSizeMax}&offset=${items.length}`;
    const page = await client.send<{ next?: string | null; results: Item[] }>('GET', `${path}${query}`);
    items.push(...page.results);
    // Some lists have no pages.
    if (typeof page.next !== 'string' || page.results.length === 0) return items;
  }
}

/** With what Node.js and browsers share. */
function gzipped(text: string): Promise<Blob> {
  return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

/** Errors: the reason of the signal. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
