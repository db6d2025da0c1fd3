import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './server.ts';

const run = promisify(execFile);
const readyMs = 60_000;
const keys = { project: 'phc_packageProjectKey0123456789', personal: 'phx_packagePersonalKey0123456789' };

export interface InstalledPackage {
  /** The Node that starts it. */
  readonly node: string;
  /** Where `node_modules/millrace` lies. */
  readonly directory: string;
}

/** Installs the package and uses it for the first time as a user does; returns figures as `what: figure`. Throws on any deviation. */
export async function usePackage({ node, directory }: InstalledPackage): Promise<string[]> {
  const program = join(directory, 'node_modules/millrace/bin/millrace.js');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env['PATH'],
    NO_COLOR: '1',
    MILLRACE_URL: url,
    MILLRACE_PORT: String(port),
    MILLRACE_DATA_DIR: join(directory, 'data'),
    MILLRACE_LOG_LEVEL: 'warn',
    // A busy machine may take longer than the default to answer.
    MILLRACE_IMPORT_PREFLIGHT_MS: '60000',
    MILLRACE_API_KEY: keys.personal,
    MILLRACE_PROJECT_API_KEY: keys.project,
    MILLRACE_BOOTSTRAP_PROJECT_API_KEY: keys.project,
    MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: keys.personal,
  };
  const call = async (...args: string[]): Promise<string> =>
    (await run(node, [program, ...args], { cwd: directory, env })).stdout;
  const seen = [`version: ${(await call('--version')).trim()}`];
  seen.push(`transformation: ${await tryTransformation(directory, call)}`);
  const service = spawn(node, [program, 'serve'], { cwd: directory, env, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    await untilReady(url);
    seen.push(`console: ${(await fetch(`${url}/console/`)).status}`);
    seen.push(`capture: ${await sendOne(url)}`);
    await writeFile(join(directory, 'history.ndjson'), history().join('\n'));
    await call('import', 'run', 'mixpanel', 'history.ndjson', '--to', url, '--personal-api-key', keys.personal);
    seen.push(`import: ${(await storedEvents(call)).length} events stored`);
    service.kill('SIGTERM');
    const [code] = (await once(service, 'exit')) as [number | null];
    seen.push(`stopped: ${code}`);
  } finally {
    service.kill('SIGKILL');
  }
  return seen;
}

type Call = (...args: string[]) => Promise<string>;

async function tryTransformation(directory: string, call: Call): Promise<string> {
  const [plugin, event] = ['loud.js', 'event.json'].map((name) => join(directory, name));
  await writeFile(
    `${plugin}`,
    'export function processEvent(event) { event.event = event.event.toUpperCase(); return event; }',
  );
  await writeFile(`${event}`, JSON.stringify({ event: 'signed up', distinct_id: 'ada', properties: {} }));
  const shown = await call('transformation', 'test', `${plugin}`, '--event', `${event}`);
  if (!shown.includes('SIGNED UP')) throw new Error(`expected the event with a loud name, got: ${shown}`);
  return 'changes the event';
}

async function untilReady(url: string): Promise<void> {
  for (const end = performance.now() + readyMs; performance.now() < end; await delay(100)) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error(`expected the service to be ready within ${readyMs / 1000} s`);
}

async function sendOne(url: string): Promise<string> {
  const body = { api_key: keys.project, batch: [{ event: 'signed up', distinct_id: 'ada', properties: {} }] };
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/batch/`, { method: 'POST', headers, body: JSON.stringify(body) });
  return `${answer.status} ${await answer.text()}`;
}

function history(): string[] {
  const time = Date.parse('2023-05-01T00:00:00Z') / 1000;
  return Array.from({ length: 20 }, (_, index) => {
    const properties = { time: time + index, distinct_id: `p${index % 5}`, $insert_id: `id-${index}`, plan: 'pro' };
    return JSON.stringify({ event: 'opened', properties });
  });
}

async function storedEvents(call: Call): Promise<unknown[]> {
  const shown = await call('events', 'list', '--event', 'opened', '--json');
  return shown.split('\n').filter((line) => line !== '');
}
