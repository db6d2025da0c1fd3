import { apiSend, createFilesConfig, createImportConfig, startImport, untilRun, writeRecords } from './import-runs.ts';
import { addTransformation, capture, firstDeadLetter } from './console-project.ts';
import { apiGet, personalKey, type TestServer } from './server.ts';

export const markup = '<img src=x onerror=window.__hit=1>';
/** Turns the direction of what follows. */
export const turned = '\u202egnp.exe';
/** The same as it is shown. */
export const turnedShown = '⟨U+202E⟩gnp.exe';
export const name = `${markup} ${turned}`;
/** One word without an end, 10 kB. */
export const endless = `${name} ${'W'.repeat(10_000)}`;
/** As long as a name may be. */
export const long = (charsMax: number): string => endless.slice(0, charsMax);

export interface HostileProject {
  readonly transformation: number;
  readonly importConfig: number;
  readonly run: string;
  /** Config of an import that a schedule runs. */
  readonly scheduled: number;
  readonly deadLetter: string;
  readonly entry: string;
}

const project = '/api/projects/1';

/** Every user-chosen name, key and value of a project is hostile. */
export async function fillHostile(server: TestServer): Promise<HostileProject> {
  await sendEvents(server);
  await apiSend(server, 'PATCH', `${project}/`, { name: long(200) });
  await apiSend(server, 'POST', '/api/users/', {
    email: `${'w'.repeat(200)}@example.com`,
    role: 'viewer',
    first_name: long(150),
  });
  await apiSend(server, 'POST', '/api/personal_api_keys/', { label: name.slice(0, 40), scopes: ['query:read'] });
  await apiSend(server, 'POST', `${project}/sample_events/`, {
    name: long(200),
    event: { event: name, distinct_id: name },
  });
  const agreement = { source: long(400), method: name, total_events: 1000, events_per_second: 10, note: long(1000) };
  await apiSend(server, 'POST', `${project}/historical_migrations/`, agreement);
  const transformation = await addHostilePlugin(server);
  const { importConfig, run } = await importHostile(server);
  const scheduled = await scheduleHostile(server);
  const schema = { properties: { [long(200)]: { type: 'number', description: long(2000) } }, required: [long(200)] };
  const events = [{ name: long(200), description: long(2000), schema }];
  await apiSend(server, 'PUT', `${project}/tracking_plan/`, { unplanned_events: 'warn', events });
  await capture(server, [{ event: 'through the plugin', distinct_id: name, properties: { [name]: endless } }]);
  const deadLetter = await firstDeadLetter(server);
  const log = await apiGet<{ results: { id: string; scope: string }[] }>(server, `${project}/activity_log/`);
  const entry = log.results.find(({ scope }) => scope === 'Project')?.id ?? '';
  return { transformation, importConfig, run, scheduled, deadLetter, entry };
}

async function sendEvents(server: TestServer): Promise<void> {
  const properties = { [name]: endless, nul: 'a\u0000b', [`nul\u0000key`]: name, list: [name, { [name]: name }] };
  await capture(server, [
    { event: long(200), distinct_id: long(200), properties: { ...properties, $set: { email: name, [name]: endless } } },
    { event: name, distinct_id: name, properties: { ...properties, $set: { name } } },
    {
      event: '$groupidentify',
      distinct_id: name,
      properties: { $group_type: long(200), $group_key: long(400), $group_set: { [name]: endless } },
    },
    { event: endless, distinct_id: name },
    { event: name, distinct_id: '', properties },
    { event: name, distinct_id: name, timestamp: endless },
    { event: name, distinct_id: endless },
  ]);
}

/** A plugin whose every text is hostile, and which fails at every event with such a message. */
async function addHostilePlugin(server: TestServer): Promise<number> {
  const fields = [
    { key: 'word', name: long(200), type: 'string', default: name, hint: long(600) },
    { key: 'choice', name, type: 'choice', choices: [name, 'other'], default: 'other', hint: name },
  ];
  const code = `export function processEvent(event) { console.log(${JSON.stringify(name)}); throw new Error(${JSON.stringify(name)}); }`;
  const files = {
    'plugin.json': JSON.stringify({ name: long(200), description: long(1000), config: fields }),
    'index.js': code,
  };
  const { id } = await apiSend<{ id: number }>(server, 'POST', `${project}/plugins/`, { files });
  return addTransformation(server, { plugin: id, name: long(400), description: long(1000), enabled: true });
}

async function importHostile(server: TestServer): Promise<{ importConfig: number; run: string }> {
  const file = `${name}.ndjson.gz`;
  const records = [
    { event: name, distinct_id: name, timestamp: '2024-01-01T00:00:00Z', properties: { [name]: name } },
    { event: name, distinct_id: '', timestamp: '2024-01-01T00:00:00Z', properties: { [name]: endless } },
  ];
  await writeRecords(server.dataDir, file, records);
  const config = await createFilesConfig(server, { paths: file, format: 'posthog', rejected_max: '100' });
  await apiSend(server, 'PATCH', config, { name: long(400), description: long(1000) });
  const run = await startImport(server, config, { last: 'report' });
  await untilRun(server, run, ({ state }) => state === 'completed');
  await upload(server, `${markup} uploaded.ndjson`);
  return { importConfig: Number(lastPart(config)), run: lastPart(run) };
}

async function scheduleHostile(server: TestServer): Promise<number> {
  const settings = { host: 'http://127.0.0.1:9', project_id: '1', personal_api_key: personalKey };
  const config = await createImportConfig(server, 'PostHog or Millrace', settings);
  await apiSend(server, 'PATCH', config, { name: long(400) });
  await apiSend(server, 'PUT', `${config}schedule/`, { daily_at: '03:30', paused: true });
  const slack = { name: long(400), kind: 'slack', url: `https://example.com/${encodeURIComponent(name)}` };
  await apiSend(server, 'POST', `${project}/notice_destinations/`, slack);
  return Number(lastPart(config));
}

async function upload(server: TestServer, file: string): Promise<void> {
  const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/octet-stream' };
  const url = `${server.url}${project}/import_files/?name=${encodeURIComponent(file)}&offset=0`;
  const answer = await fetch(url, { method: 'POST', headers, body: '{}\n' });
  if (!answer.ok) throw new Error(`expected the upload to be taken, got: ${answer.status} ${await answer.text()}`);
}

function lastPart(path: string): string {
  return path.replace(/\/$/, '').split('/').at(-1) ?? '';
}
