import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { create } from 'tar';
import type { JobRecord } from '../../src/wire/contract/jobs.ts';
import type { PluginConfigRecord } from '../../src/wire/contract/plugin-configs.ts';
import type { PluginErrorListRecord, PluginMetricsRecord } from '../../src/wire/contract/plugin-view.ts';
import { familyPaths, type Capabilities, type PluginRecord } from '../../src/wire/contract/plugins.ts';
import type { CountsAnswer } from '../../test/support/server.ts';
import { countChanged, plainTexts } from './changed-events.ts';
import { sampleEvents, type SampleEvent } from './events.ts';
import type { TrialSettings } from './plugin-settings.ts';
import { delay, type Service } from './service.ts';

/** The result for a published plugin. */
export interface Trial {
  /** Folder, or `npm:NAME`. */
  readonly source: string;
  readonly name: string;
  readonly runs: boolean;
  /** Why it does not run, or what to know about it. */
  readonly note: string;
  readonly kind: string;
  readonly capabilities: Capabilities;
  /** `stored`: with those that the plugin captured. `changed`: of those sent, not as they would be without the plugin. */
  readonly events: { readonly sent: number; readonly stored?: number; readonly changed?: number } & Partial<
    PluginMetricsRecord['totals']
  >;
  /** Such as `runEveryMinute succeeded`. */
  readonly jobs: readonly string[];
  readonly error: string;
  readonly failures: readonly string[];
  readonly logs: readonly string[];
}

interface Installed {
  readonly service: Service;
  readonly plugin: PluginRecord;
  readonly projectKey: string;
  /** Of the family that the config belongs to. */
  readonly configs: string;
  readonly jobs: string;
  readonly counts: string;
  readonly projectId: number;
  /** The sample events as they are stored without a plugin. */
  readonly plain: readonly string[];
}

const untried = {
  runs: false,
  kind: '',
  capabilities: { methods: [], scheduled_tasks: [], jobs: [] },
  events: { sent: 0 },
  jobs: [],
  error: '',
  failures: [],
  logs: [],
} satisfies Partial<Trial>;
/** Longer than a change of a config takes to reach the pipeline. */
const takesEffectMs = 2500;
const waitMsMax = 40_000;
/** Longer than log lines and captured events take to be there. */
const logsShowMs = 2500;

export interface TrialOptions {
  readonly settingsOf: (name: string) => TrialSettings;
  /** Of `storePlain`. */
  readonly plain: readonly string[];
}

interface NewProject {
  readonly id: number;
  readonly api_token: string;
}

/** The sample events as they are stored in a project without plugins. */
export async function storePlain(service: Service): Promise<readonly string[]> {
  const { id, api_token } = (await service.api<NewProject>('POST', '/api/projects/', { name: 'Without plugins' })).body;
  return plainTexts(service, id, await send(service, api_token));
}

/**
 * Installs a plugin as a user does, in a separate project: sets it up, enables it, sends events, and runs its jobs and
 * scheduled tasks once.
 */
export async function tryPlugin(service: Service, source: string, { settingsOf, plain }: TrialOptions): Promise<Trial> {
  const failed = (name: string, note: string, more: Partial<Trial> = {}): Trial => ({
    ...untried,
    source,
    name,
    note,
    ...more,
  });
  let plugin: PluginRecord;
  try {
    plugin = await install(service, source);
  } catch (error) {
    return failed(await nameOf(source), `not installed: ${messageOf(error)}`);
  }
  const { name, kind, capabilities } = plugin;
  const [family] = plugin.families.toReversed();
  if (family === undefined) return failed(name, 'nothing that a config could run', { kind, capabilities });
  const project = (await service.api<NewProject>('POST', '/api/projects/', { name })).body;
  const base = `/api/projects/${project.id}`;
  const configs = `${base}/${familyPaths[family]}/`;
  const installed = {
    service,
    plugin,
    projectKey: project.api_token,
    configs,
    jobs: `${base}/jobs/`,
    counts: `${base}/events/counts/`,
    projectId: project.id,
    plain,
  };
  try {
    const settings = settingsOf(await nameOf(source, name));
    const id = await enable(installed, settings);
    return { ...(await observe(installed, id, settings)), source, name, kind, capabilities };
  } catch (error) {
    return failed(name, `not set up: ${messageOf(error)}`, { kind, capabilities });
  }
}

/** A plugin with the same name and version as another one gets a different name. */
async function install(service: Service, source: string): Promise<PluginRecord> {
  try {
    return await installAs(service, source, {});
  } catch (error) {
    if (!messageOf(error).startsWith('409 ')) throw error;
    return installAs(service, source, { name: `${await nameOf(source)} of ${basename(source)}` });
  }
}

async function installAs(service: Service, source: string, own: { readonly name?: string }): Promise<PluginRecord> {
  const path = '/api/projects/@current/plugins/';
  if (source.startsWith('npm:'))
    return (await service.api<PluginRecord>('POST', path, { npm: source.slice(4), ...own })).body;
  const archive = create({ gzip: true, cwd: dirname(source), filter: isPublished }, [basename(source)]);
  const parts: Buffer[] = [];
  for await (const part of archive) parts.push(part as Buffer);
  const form = new FormData();
  if (own.name !== undefined) form.append('name', own.name);
  form.append('archive', new Blob([Buffer.concat(parts)]), `${basename(source)}.tgz`);
  return (await service.api<PluginRecord>('POST', path, form)).body;
}

/** What a checkout gathers beside what the repository holds. */
function isPublished(path: string): boolean {
  return !/(^|\/)(\.git|node_modules)(\/|$)/.test(path);
}

/** As published. */
async function nameOf(source: string, standard = basename(source)): Promise<string> {
  const text = await readFile(`${source}/plugin.json`, 'utf8').catch(() => '{}');
  return (JSON.parse(text) as { readonly name?: string }).name ?? standard;
}

async function enable({ service, plugin, configs }: Installed, trial: TrialSettings): Promise<number> {
  const { id } = (await service.api<PluginConfigRecord>('POST', configs, { plugin: plugin.id })).body;
  const form = new FormData();
  for (const [key, value] of Object.entries(trial.settings ?? {})) form.append(key, value);
  for (const [key, text] of Object.entries(trial.attachments ?? {})) form.append(key, new Blob([text]), `${key}.json`);
  await service.api('PATCH', `${configs}${id}/settings/`, form);
  await service.api('PATCH', `${configs}${id}/`, { enabled: true });
  await delay(takesEffectMs);
  return id;
}

type Observed = Omit<Trial, 'source' | 'name' | 'kind' | 'capabilities'>;

async function observe(installed: Installed, id: number, trial: TrialSettings): Promise<Observed> {
  const { service, configs, plugin } = installed;
  const { methods, scheduled_tasks: tasks } = plugin.capabilities;
  const batch = await send(service, installed.projectKey);
  const sent = batch.length;
  const metrics = `${configs}${id}/metrics/`;
  const rounds = (methods.some(isTransforming) ? 1 : 0) + methods.filter(isDelivering).length;
  let { totals } = (await service.api<PluginMetricsRecord>('GET', metrics)).body;
  const sawAll = await until(async () => {
    totals = (await service.api<PluginMetricsRecord>('GET', metrics)).body.totals;
    // What is dropped is not delivered.
    return counted(totals) >= sent * rounds - totals.dropped * (rounds - 1);
  }, waitMsMax / 2);
  for (const type of [...tasks, ...Object.keys(plugin.public_jobs)]) await runJob(installed, id, type);
  const jobs = await settledJobs(installed, id);
  totals = (await service.api<PluginMetricsRecord>('GET', metrics)).body.totals;
  await delay(logsShowMs);
  const { error } = (await service.api<PluginConfigRecord>('GET', `${configs}${id}/`)).body;
  const failures = (await service.api<PluginErrorListRecord>('GET', `${configs}${id}/errors/`)).body.results;
  const logs = (await service.api<{ results: { message: string }[] }>('GET', `${configs}${id}/logs/`)).body.results;
  await service.api('PATCH', `${configs}${id}/`, { enabled: false });
  const stored = (await service.api<CountsAnswer>('GET', installed.counts)).body.total;
  const changed = await countChanged(service, installed.projectId, batch, installed.plain);
  const found = {
    events: { sent, stored: stored.standard, changed, ...totals },
    jobs: [...new Set(jobs.map(({ type, state, error: why }) => `${type} ${state}${why === '' ? '' : `: ${why}`}`))],
    error,
    failures: failures.map(({ message }) => message),
    logs: logs.map(({ message }) => message.slice(0, 300)),
  };
  return { ...found, ...judge(found, sawAll, trial) };
}

const isTransforming = (method: string): boolean => method.startsWith('processEvent');
const isDelivering = (method: string): boolean => method === 'onEvent' || method === 'exportEvents';

function counted({ succeeded, failed, dropped, skipped }: PluginMetricsRecord['totals']): number {
  return succeeded + failed + dropped + skipped;
}

/** Whether all calls succeeded, or ended with failures of the plugin itself. */
function judge(
  { events, jobs, error, failures }: Pick<Observed, 'events' | 'jobs' | 'error' | 'failures'>,
  sawAll: boolean,
  { ownFault }: TrialSettings,
): { runs: boolean; note: string } {
  if ((events.skipped ?? 0) > 0) return { runs: false, note: `passed over: ${error}` };
  const unfinished = jobs.find((job) => /^\S+( \S+)* (failed|running)/.test(job));
  const troubles = [...failures, ...(error === '' ? [] : [error]), ...(unfinished === undefined ? [] : [unfinished])];
  const [first] = troubles;
  if (first === undefined)
    return sawAll ? { runs: true, note: '' } : { runs: false, note: 'not all events reached it' };
  if (ownFault !== undefined && troubles.every((text) => ownFault.failure.test(text))) {
    return { runs: true, note: ownFault.why };
  }
  return { runs: false, note: first };
}

async function send(service: Service, projectKey: string): Promise<readonly SampleEvent[]> {
  const batch = sampleEvents();
  const answer = await fetch(`${service.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  if (answer.status !== 200) throw new Error(`expected 200 from /batch/, got: ${answer.status}`);
  return batch;
}

async function runJob({ service, configs, jobs }: Installed, id: number, type: string): Promise<void> {
  const { headers } = await service.api('POST', `${configs}${id}/job/`, { job: { type, payload: {} } });
  const job = `${jobs}${headers.get('x-job-id')}/`;
  await until(async () => isOver((await service.api<JobRecord>('GET', job)).body), waitMsMax);
}

/** Jobs that are due soon are waited for. */
async function settledJobs({ service, jobs }: Installed, id: number): Promise<readonly JobRecord[]> {
  let all: readonly JobRecord[] = [];
  await until(async () => {
    const path = `${jobs}?plugin_config=${id}&limit=100`;
    all = (await service.api<{ results: JobRecord[] }>('GET', path)).body.results;
    return all.every((job) => isOver(job) || Date.parse(job.run_at) > Date.now() + 15_000);
  }, waitMsMax);
  return all;
}

function isOver({ state }: JobRecord): boolean {
  return state === 'succeeded' || state === 'failed';
}

/** Whether it came to be so in time. */
async function until(isDone: () => Promise<boolean>, patience: number): Promise<boolean> {
  const deadline = Date.now() + patience;
  while (!(await isDone())) {
    if (Date.now() > deadline) return false;
    await delay(300);
  }
  return true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
