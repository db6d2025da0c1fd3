/**
 * Makes the data directory that the test of the upgrade begins with, by the program of an earlier commit: `node
 * tools/make-earlier-data.ts [commit]`. The commit is taken out of Git and runs with the packages of this checkout. Its
 * service is killed while events wait in its log: the process of its event store is stopped before they are sent.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  earlierDataFile,
  earlierDeadLetters,
  earlierHistory,
  earlierImported,
  earlierImportProject,
  earlierLive,
  earlierPlugin,
  earlierSalt,
  earlierSchedule,
  earlierSecret,
  earlierUser,
  earlierWaiting,
  earlierWaitingHistory,
} from '../test/support/earlier-data.ts';
import { runningStorePid } from '../test/support/processes.ts';
import { personalKey, projectKey } from '../test/support/server-keys.ts';
import { delay, startService, type Service } from './compat/service.ts';

/** The last one with the migrations that came before the baseline of the metadata schema. */
const defaultCommit = '2612ee5';
const project = '/api/projects/@current';
const settings = {
  MILLRACE_BOOTSTRAP_PROJECT_API_KEY: projectKey,
  MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: personalKey,
  // However slow the machine is, no event passes the plugin by.
  MILLRACE_SANDBOX_CPU_MS: '10000',
  MILLRACE_SANDBOX_WAIT_MS: '120000',
};

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = await mkdtemp(join(tmpdir(), 'millrace-earlier-'));
try {
  await using service = await startService(directory, settings, await takeOut(process.argv[2] ?? defaultCommit));
  await addConfigs(service);
  await send(service, [...earlierLive.map((event) => JSON.stringify(event)), ...earlierDeadLetters]);
  await send(
    service,
    earlierHistory.map((event) => JSON.stringify(event)),
    true,
  );
  await untilStored(service);
  await checkCounts(service);
  await service.api('POST', '/api/users/', earlierUser);
  await importFile(service);
  await killWithWaitingEvents(service);
  const file = fileURLToPath(earlierDataFile);
  await mkdir(dirname(file), { recursive: true });
  execFileSync('tar', ['-czf', file, '--sort=name', '--owner=0', '--group=0', 'data'], { cwd: directory });
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Returns the path of the built program of a commit. */
async function takeOut(commit: string): Promise<string> {
  const checkout = join(directory, 'checkout');
  await mkdir(checkout);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1024 ** 3 });
  execFileSync('tar', ['-x'], { cwd: checkout, input: archive });
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  execFileSync(process.execPath, ['tools/build-server.js'], { cwd: checkout, stdio: 'inherit' });
  return join(checkout, 'bin/millrace.js');
}

async function addConfigs(service: Service): Promise<void> {
  const transformations = `${project}/pipeline_transformation_configs/`;
  const files = { 'plugin.json': JSON.stringify({ name: 'Counter' }), 'index.js': earlierPlugin };
  const counter = (await service.api<{ id: number }>('POST', `${project}/plugins/`, { files })).body.id;
  await addConfig(service, transformations, counter, {}, true);
  const hashing = { propertiesToHash: 'email', salt: earlierSalt };
  await addConfig(service, transformations, await builtIn(service, 'Hash properties'), hashing, true);
  const access = { service_account: 'import.mp-service-account', service_secret: earlierSecret, project_id: '1' };
  const imports = `${project}/pipeline_import_apps_configs/`;
  const mixpanel = await addConfig(service, imports, await builtIn(service, 'Mixpanel'), access, false);
  await service.api('PUT', `${imports}${mixpanel}/schedule/`, earlierSchedule);
  // Configs reach the pipeline within two seconds; the plugin has to start, too.
  await delay(20_000);
}

/** @returns its id */
async function addConfig(
  service: Service,
  family: string,
  plugin: number,
  values: object,
  on: boolean,
): Promise<number> {
  const { id } = (await service.api<{ id: number }>('POST', family, { plugin })).body;
  await service.api('PATCH', `${family}${id}/settings/`, values);
  if (on) await service.api('PATCH', `${family}${id}/`, { enabled: true });
  return id;
}

/** Runs an import to its end in a separate project. */
async function importFile(service: Service): Promise<void> {
  const { id: project } = (await service.api<{ id: number }>('POST', '/api/projects/', { name: earlierImportProject }))
    .body;
  const form = new FormData();
  form.set('file', new Blob([earlierImported.map((event) => `${JSON.stringify(event)}\n`).join('')]), 'bought.jsonl');
  await service.api('POST', `/api/projects/${project}/import_files/`, form);
  const configs = `/api/projects/${project}/pipeline_import_apps_configs/`;
  const settings = { paths: 'upload:bought.jsonl', format: 'posthog' };
  const config = await addConfig(service, configs, await builtIn(service, 'Files'), settings, false);
  const runs = `${configs}${config}/runs/`;
  const { id } = (await service.api<{ id: string }>('POST', runs, {})).body;
  for (let tries = 0; tries < 600; tries += 1) {
    const { state } = (await service.api<{ state: string }>('GET', `${runs}${id}/`)).body;
    if (state === 'completed') return;
    if (!['queued', 'running'].includes(state)) throw new Error(`expected a completed run, got: ${state}`);
    await delay(200);
  }
  throw new Error('expected the run to end within two minutes');
}

async function builtIn(service: Service, name: string): Promise<number> {
  const path = `${project}/plugins/?limit=1000`;
  const { results } = (await service.api<{ results: readonly { id: number; name: string }[] }>('GET', path)).body;
  const found = results.find((each) => each.name === name);
  if (found === undefined)
    throw new Error(`expected a plugin ${name}, got: ${results.map((each) => each.name).join(', ')}`);
  return found.id;
}

/** @param events as JSON */
async function send(service: Service, events: readonly string[], historical = false): Promise<void> {
  const body = `{"api_key":"${projectKey}","historical_migration":${historical},"batch":[${events.join(',')}]}`;
  const answer = await fetch(`${service.url}/batch/`, { method: 'POST', body });
  if (answer.status !== 200) throw new Error(`expected 200 from /batch/, got: ${answer.status} ${await answer.text()}`);
}

async function untilStored(service: Service): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const counts = `${project}/events/counts/`;
    const { total } = (await service.api<{ total: Record<string, number> }>('GET', counts)).body;
    if (total['standard'] === earlierLive.length && total['historical'] === earlierHistory.length) return;
    await delay(200);
  }
  throw new Error('expected all events to be stored within a minute');
}

/** An earlier version lets events pass a plugin that is not there yet. */
async function checkCounts(service: Service): Promise<void> {
  const path = `${project}/events/?limit=1000`;
  const page = await service.api<{ results: readonly { properties: { count?: number } }[] }>('GET', path);
  const counts = new Set(page.body.results.map(({ properties }) => properties.count));
  if (counts.has(undefined)) throw new Error('expected the plugin to see every event; run this again');
}

async function killWithWaitingEvents(service: Service): Promise<void> {
  const store = runningStorePid(service);
  process.kill(store, 'SIGSTOP');
  await send(
    service,
    earlierWaiting.map((event) => JSON.stringify(event)),
  );
  await send(
    service,
    earlierWaitingHistory.map((event) => JSON.stringify(event)),
    true,
  );
  const ended = once(service.child, 'exit');
  service.child.kill('SIGKILL');
  await ended;
  process.kill(store, 'SIGKILL');
  // Until no process has the files open.
  await delay(1000);
}
