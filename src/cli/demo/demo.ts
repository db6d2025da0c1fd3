import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { PluginRecord } from '../../wire/contract/plugins.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { listAll, projectApi, type ProjectApi, type ServiceOptions } from '../api-options.ts';
import { collectionOf, type FamilyName } from '../configs/find-config.ts';
import { CommandError } from '../exit-codes.ts';
import { isFinal, type RunView } from '../import/run-view.ts';
import { serverRuns } from '../import/server-runs.ts';
import { exportLines, shopEvents } from './shop.ts';

const projectName = 'Demo shop';
const fileName = 'demo-shop.jsonl.gz';

/** Created first: a project of this name without it belongs to a user. */
const history = {
  family: 'import-apps',
  plugin: 'files',
  name: 'Shop history',
  description: 'A year of the demo shop.',
  settings: { paths: `upload:${fileName}`, format: 'posthog', rejected_max: 1 },
} as const;
const nightly = {
  family: 'import-apps',
  plugin: 'mixpanel',
  name: 'Nightly from Mixpanel',
  description: 'An example of a schedule. It is paused and its credentials are placeholders.',
  settings: { service_account: 'demo', service_secret: 'placeholder', project_id: '1' },
} as const;
const currency = {
  family: 'transformations',
  plugin: 'currency',
  name: 'Amounts in euros',
  description: 'Adds the amount of each order in euros.',
  settings: { rates: '{"EUR": 1, "USD": 1.08, "GBP": 0.85}', normalizedCurrency: 'EUR' },
} as const;

type ConfigPlan = typeof history | typeof nightly | typeof currency;

/** Changes to configs reach the pipeline within two seconds. */
const takesEffectMs = 2_500;

export type DemoService = Omit<ServiceOptions, 'project'>;

/** The project of the demo in a service. */
export interface Demo {
  readonly project: ProjectRecord;
  readonly api: ProjectApi;
  readonly runs: ReturnType<typeof serverRuns>;
}

/** Shows the steps of a run until it pauses or ends, and returns the last one. */
export type Follow = (first: RunView, steps: AsyncIterable<RunView>) => Promise<RunView>;

/** What `--json` prints. */
export interface DemoRecord {
  readonly project: Pick<ProjectRecord, 'id' | 'name' | 'api_token'>;
  readonly import: Pick<RunView, 'id' | 'state' | 'totals'> | null;
  readonly transformations: readonly string[];
  readonly import_apps: readonly string[];
  readonly console_url: string;
}

/** Returns the demo that an earlier command created, also an interrupted one. */
export async function findDemo(service: DemoService): Promise<Demo | undefined> {
  const projects = await listAll<ProjectRecord>(projectApi({ ...service, project: '@current' }), '/api/projects/');
  for (const project of projects.filter(({ name }) => name === projectName)) {
    const api = projectApi({ ...service, project: String(project.id) });
    const config = (await configsOf(api, 'import-apps')).find(({ name }) => name === history.name);
    if (config !== undefined) return { project, api, runs: serverRuns(api, config.id) };
  }
  return undefined;
}

export async function describeDemo({ project: { id, name, api_token }, api, runs }: Demo): Promise<DemoRecord> {
  const [run] = await runs.list();
  const namesOf = async (family: FamilyName): Promise<string[]> =>
    (await configsOf(api, family)).map((config) => config.name);
  return {
    project: { id, name, api_token },
    import: run === undefined ? null : { id: run.id, state: run.state, totals: run.totals },
    transformations: await namesOf('transformations'),
    import_apps: await namesOf('import-apps'),
    console_url: `${api.url}/console/projects/${id}/home`,
  };
}

interface CreateOptions {
  readonly persons: number;
  /** Ms since the epoch: the end of the year. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly follow: Follow;
}

/** Errors: CommandError. What was created by then stays, so that `removeDemo` removes it. */
export async function createDemo(service: DemoService, { persons, now, signal, follow }: CreateOptions): Promise<Demo> {
  const current = projectApi({ ...service, project: '@current' });
  const project = await current.send<ProjectRecord>('POST', '/api/projects/', { name: projectName, timezone: 'UTC' });
  const api = projectApi({ ...service, project: String(project.id) });
  const { id } = await createConfig(api, history);
  const transformation = await createConfig(api, currency);
  const scheduled = await createConfig(api, nightly);
  const schedule = { daily_at: '03:30', paused: true };
  await api.send('PUT', `${collectionOf(api, 'import-apps')}${scheduled.id}/schedule/`, schedule);

  const shop = shopEvents(now, persons);
  const form = new FormData();
  form.set('file', new Blob([gzipSync(exportLines(shop.history))]), fileName);
  await api.send('POST', `${api.root}/import_files/?name=${fileName}`, form);
  const runs = serverRuns(api, id);
  const first = await runs.create({ transform: transformation.id });
  const { state, reason } = await follow(first, runs.steps(first.id, signal));
  if (state !== 'completed') throw new CommandError('failed', `the import of the demo is ${state}: ${reason}`);

  // Enabled only now: the import has transformed its events.
  await api.send('PATCH', `${collectionOf(api, 'transformations')}${transformation.id}/`, { enabled: true });
  await sleep(takesEffectMs, undefined, { signal });
  await api.send('POST', '/batch/', { api_key: project.api_token, batch: shop.live });
  return { project, api, runs };
}

/** Undoes the import, deletes its file and then the project. Errors: CommandError; the command may be repeated. */
export async function removeDemo(demo: Demo, follow: Follow, signal: AbortSignal): Promise<void> {
  const { api, runs, project } = demo;
  for (const run of await runs.list()) {
    if (run.state === 'undone') continue;
    if (!isFinal(run) || run.state === 'paused') {
      const cancelled = await runs.act(run.id, 'cancel');
      if (!isFinal(cancelled)) await follow(cancelled, runs.steps(run.id, signal));
    }
    const undo = await runs.undo(run.id);
    const { state, reason } = isFinal(undo) ? undo : await follow(undo, runs.steps(run.id, signal));
    if (state !== 'undone')
      throw new CommandError('failed', `the import could not be undone, it is ${state}: ${reason}`);
  }
  await api.send('DELETE', `${api.root}/import_files/${fileName}/`).catch((error: unknown) => {
    if (!(error instanceof CommandError) || error.reason !== 'notFound') throw error;
  });
  await api.send('DELETE', `/api/projects/${project.id}/`);
}

function configsOf(api: ProjectApi, family: FamilyName): Promise<PluginConfigRecord[]> {
  return listAll<PluginConfigRecord>(api, collectionOf(api, family));
}

async function createConfig(api: ProjectApi, plan: ConfigPlan): Promise<PluginConfigRecord> {
  const { family, plugin: slug, name, description, settings } = plan;
  const plugin = (await listAll<PluginRecord>(api, `${api.root}/plugins/`)).find((each) => each.slug === slug);
  if (plugin === undefined) throw new CommandError('notFound', `expected the plugin ${slug} in the service, got none`);
  const body = { plugin: plugin.id, name, description };
  const config = await api.send<PluginConfigRecord>('POST', collectionOf(api, family), body);
  await api.send('PATCH', `${collectionOf(api, family)}${config.id}/settings/`, settings);
  return config;
}
