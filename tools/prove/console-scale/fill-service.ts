import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { mixpanelRecords } from '../../../src/imports/formats/mixpanel/records.fixture.ts';
import type { Service } from '../../compat/service.ts';
import { faultyEvents, shopBatches } from './made-events.ts';

/** Amount of data in the service that the console shows. */
export interface FillSizes {
  readonly events: number;
  readonly people: number;
  /** Transformations and import apps together. */
  readonly configs: number;
  /** Of import apps, each with a separate config. */
  readonly runs: number;
  readonly warnings: number;
}

interface FillDeps {
  readonly service: Service;
  readonly dataDir: string;
  readonly say: (text: string) => void;
}

const packed = promisify(gzip);
const eventsPerBatch = 1_000;
const senders = 3;
const recordsPerRun = 100;
const project = '/api/projects/@current/';
/** Built-in transformations that work without settings; the others of the chain are disabled. */
const switchedOn = ['Bot filter', 'Property flattener', 'Referrer'];

/** Fills an empty service: a year of events, faults, configs and runs, all through its public interfaces. */
export async function fillService(deps: FillDeps, sizes: FillSizes): Promise<void> {
  const { service, say } = deps;
  const apiKey = await projectKeyOf(service);
  await sendHistory(deps, apiKey, sizes);
  say(`${sizes.events} events are stored`);
  const now = Date.now();
  for (let from = 0; from < sizes.warnings; from += eventsPerBatch) {
    const batch = faultyEvents(sizes.warnings, now).slice(from, from + eventsPerBatch);
    await sendBatch(service, { api_key: apiKey, batch });
  }
  say(`${sizes.warnings} events with faults are sent`);
  await addTransformations(service, sizes.configs - sizes.runs);
  say(`${sizes.configs - sizes.runs} transformations are there`);
  await importFiles(deps, sizes.runs);
  say(`${sizes.runs} runs are completed`);
}

/** Key that the first project's events are sent with. */
export async function projectKeyOf(service: Service): Promise<string> {
  const { body } = await service.api<{ results: { api_token: string }[] }>('GET', '/api/projects/');
  const [first] = body.results;
  if (first === undefined) throw new Error('expected the service to have a project');
  return first.api_token;
}

async function sendHistory({ service, say }: FillDeps, apiKey: string, { events, people }: FillSizes): Promise<void> {
  const batches = shopBatches({ events, people, eventsPerBatch, now: Date.now() });
  let sent = 0;
  const sendOn = async (): Promise<void> => {
    for (;;) {
      const { value: batch } = batches.next();
      if (batch === undefined) return;
      // Live and historical stand beside each other, as after a move from another service.
      const historical_migration = Math.floor(sent / eventsPerBatch) % 5 !== 0;
      sent += batch.length;
      if (sent % 100_000 === 0) say(`${sent} events sent`);
      await sendBatch(service, { api_key: apiKey, historical_migration, batch });
    }
  };
  await Promise.all(Array.from({ length: senders }, sendOn));
  await untilStored(service, events);
}

/** Waits as long as the service says while it is behind. */
export async function sendBatch(service: Pick<Service, 'url'>, body: object): Promise<void> {
  const bytes = await packed(JSON.stringify(body));
  for (const deadline = Date.now() + 600_000; Date.now() < deadline;) {
    const answer = await fetch(`${service.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: bytes,
    });
    const text = await answer.text();
    if (answer.ok) return;
    if (answer.status !== 429 && answer.status !== 503) throw new Error(`expected 200, got ${answer.status}: ${text}`);
    await delay(1_000 * Number(answer.headers.get('retry-after') ?? 1));
  }
  throw new Error('expected a batch to be taken within ten minutes');
}

async function untilStored(service: Service, events: number): Promise<void> {
  for (const deadline = Date.now() + 1_800_000; Date.now() < deadline; await delay(1_000)) {
    const { body } = await service.api<{ total: { standard: number; historical: number } }>('GET', `${project}usage/`);
    if (body.total.standard + body.total.historical >= events) return;
  }
  throw new Error(`expected ${events} events to be stored within half an hour`);
}

interface ListedPlugin {
  readonly id: number;
  readonly name: string;
}

async function pluginsOf(service: Service, kind: string): Promise<readonly ListedPlugin[]> {
  const path = `${project}plugins/?limit=100&kind=${kind}`;
  return (await service.api<{ results: readonly ListedPlugin[] }>('GET', path)).body.results;
}

async function addTransformations(service: Service, count: number): Promise<void> {
  const plugins = await pluginsOf(service, 'transformation');
  for (let index = 0; index < count; index += 1) {
    const wanted = switchedOn[index];
    const plugin = wanted === undefined ? plugins[index % plugins.length] : plugins.find(({ name }) => name === wanted);
    if (plugin === undefined) throw new Error(`expected a transformation called ${wanted}`);
    await service.api('POST', `${project}pipeline_transformation_configs/`, {
      plugin: plugin.id,
      enabled: wanted !== undefined,
      name: `${plugin.name} ${index + 1}`,
    });
  }
}

async function importFiles({ service, dataDir }: FillDeps, count: number): Promise<void> {
  const plugin = (await pluginsOf(service, 'import-app')).find(({ name }) => name === 'Files');
  if (plugin === undefined) throw new Error('expected an import app called Files');
  await mkdir(join(dataDir, 'import-files'), { recursive: true });
  const runs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const file = join(dataDir, 'import-files', `export-${index}.ndjson`);
    const lines = [...mixpanelRecords(index + 1, recordsPerRun)].map((record) => `${JSON.stringify(record)}\n`);
    await writeFile(file, lines.join(''));
    const configs = `${project}pipeline_import_apps_configs/`;
    const named = { plugin: plugin.id, name: `Export ${index + 1}` };
    const { body: config } = await service.api<{ id: number }>('POST', configs, named);
    await service.api('PATCH', `${configs}${config.id}/settings/`, { paths: file, format: 'mixpanel' });
    const { body: run } = await service.api<{ id: string }>('POST', `${configs}${config.id}/runs/`, {});
    runs.push(`${configs}${config.id}/runs/${run.id}/`);
  }
  for (const path of runs) await untilCompleted(service, path);
}

async function untilCompleted(service: Service, path: string): Promise<void> {
  for (const deadline = Date.now() + 1_800_000; Date.now() < deadline; await delay(300)) {
    const { body } = await service.api<{ state: string; reason: string }>('GET', path);
    if (body.state === 'completed') return;
    if (body.state === 'failed') throw new Error(`expected ${path} to be completed, it failed: ${body.reason}`);
  }
  throw new Error(`expected ${path} to be completed within half an hour`);
}
