/**
 * Two services with the same history, one of which never saw the run that the other takes back: live events, three imports that
 * overlap, live events. For tests of quick size and for tools/prove/import-kills.ts.
 */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import type { WireEvent } from '../../src/wire/contract/wire-event.ts';
import { ageFile } from './age-files.ts';
import { faultyRecords } from './planted-faults.ts';

/** A service that runs, and how to ask it. */
export interface UndoServer {
  readonly url: string;
  readonly dataDir: string;
}

export interface UndoKeys {
  readonly project: string;
  readonly personal: string;
}

export interface UndoRun {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly reason: string;
}

/** Of the records: where the three exports begin and end, as shares of all. */
const exportShares = [
  [0, 0.45],
  [0.3, 0.75],
  [0.6, 1],
] as const;
/** Every n-th event of the imports is also sent live before them, and its person sends another one afterwards. */
const liveEvery = 23;
const groupEvery = 29;
/** Seconds since 1970. */
const firstGroupTime = 1_704_067_200;
const eventsPerBatch = 500;

export interface UndoHistory {
  readonly files: readonly string[];
  readonly before: readonly WireEvent[];
  readonly after: readonly WireEvent[];
  /** Ids for which the imports bring an event that came live before. */
  readonly repeated: ReadonlySet<string>;
}

/** `perRun`: records of each import. `faults`: seed of faults between them, as those of real exports; undefined: none. */
export async function writeUndoHistory(dir: string, perRun: number, faults?: number): Promise<UndoHistory> {
  const all = Math.round(perRun / 0.45);
  const records = [...mixpanelRecords(20_261_122, all)].flatMap(withGroup);
  await mkdir(dir, { recursive: true });
  const files: string[] = [];
  for (const [index, [from, to]] of exportShares.entries()) {
    const file = join(dir, `export-${index}.ndjson`);
    const own = records.slice(Math.round(from * records.length), Math.round(to * records.length));
    // Newest first: merges must follow the order of time, not that of the source.
    const lines = faultyRecords('mixpanel', own.toReversed(), (faults ?? 0) + index, faults === undefined ? 0 : 0.01);
    await writeFile(file, lines.chunks);
    files.push(file);
  }
  const live = liveEvents(records);
  return { files, ...live, repeated: new Set(live.before.map((event) => String(event.distinct_id))) };
}

/** Every so many-th record is followed by one that says something of a group; no two of a group are alike. */
function withGroup(record: object, index: number): object[] {
  if (index % groupEvery !== 0) return [record];
  const properties = {
    time: firstGroupTime + index * 60,
    distinct_id: `member-${index % 50}`,
    $insert_id: `group-${index}`,
    $group_type: 'company',
    $group_key: `company-${index % 40}`,
    $group_set: { [`k${index % 5}`]: index },
  };
  return [record, { event: '$groupidentify', properties }];
}

function liveEvents(records: readonly object[]): Pick<UndoHistory, 'before' | 'after'> {
  const format = findFormat('mixpanel');
  if (format === undefined) throw new Error('expected the format mixpanel');
  const read = format.createReader({}, format.names);
  const before: WireEvent[] = [];
  const after: WireEvent[] = [];
  for (const [index, record] of records.entries()) {
    const result = read(record);
    const [event] = result.kind === 'events' ? result.events : [];
    if (index % liveEvery !== 0 || event === undefined || event.event.startsWith('$')) continue;
    // As the import brings it: of an event that two bring with different content the store keeps one.
    before.push(event);
    after.push({
      ...event,
      event: 'came back',
      uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      properties: { $set: { again: index }, $set_once: { first_again: index } },
    });
  }
  return { before, after };
}

export interface UndoClient {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: object): Promise<T>;
  patch(path: string, body: object): Promise<void>;
}

export function undoClient(server: Pick<UndoServer, 'url'>, { personal }: UndoKeys): UndoClient {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${personal}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  return {
    get: async <T>(path: string) => (await call('GET', path)) as T,
    post: async <T>(path: string, body: object = {}) => (await call('POST', path, body)) as T,
    patch: async (path, body) => void (await call('PATCH', path, body)),
  };
}

export async function sendLive(server: UndoServer, keys: UndoKeys, events: readonly WireEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += eventsPerBatch) {
    const batch = events.slice(from, from + eventsPerBatch);
    const answer = await fetch(`${server.url}/batch/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: keys.project, batch }),
    });
    if (!answer.ok) throw new Error(`expected live events to be taken, got: ${answer.status} ${await answer.text()}`);
  }
}

/** A config of the import app Files for each export; the files are copied to where the service may read them. */
export async function createUndoConfigs(
  server: UndoServer,
  client: UndoClient,
  files: readonly string[],
  project: number | '@current' = '@current',
): Promise<string[]> {
  const configs = `/api/projects/${project}/pipeline_import_apps_configs/`;
  const { results } = await client.get<{ results: { id: number; name: string }[] }>(
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = results.find(({ name }) => name === 'Files')?.id;
  const paths: string[] = [];
  for (const [index, file] of files.entries()) {
    const copy = join(server.dataDir, 'import-files', `export-${index}.ndjson`);
    await mkdir(join(server.dataDir, 'import-files'), { recursive: true });
    await writeFile(copy, createReadStream(file));
    await ageFile(copy);
    const { id } = await client.post<{ id: number }>(configs, { plugin });
    await client.patch(`${configs}${id}/settings/`, { paths: copy, format: 'mixpanel' });
    paths.push(`${configs}${id}/`);
  }
  return paths;
}

/** Path and id of a run that is completed. */
export async function importAll(
  client: UndoClient,
  config: string,
  payload: object = {},
): Promise<{ readonly path: string; readonly id: string }> {
  const { id } = await client.post<UndoRun>(`${config}runs/`, payload);
  const path = `${config}runs/${id}/`;
  await untilState(client, path, 'completed');
  return { path, id };
}

/** Throws when the run fails. */
export async function untilState(client: UndoClient, path: string, state: string, minutesMax = 60): Promise<UndoRun> {
  for (const deadline = Date.now() + minutesMax * 60_000; Date.now() < deadline; await delay(200)) {
    const run = await client.get<UndoRun>(path);
    if (run.state === state) return run;
    if (run.state === 'failed') throw new Error(`run ${run.id} failed in ${run.stage}: ${run.reason}`);
  }
  throw new Error(`expected ${path} to be ${state} within ${minutesMax} minutes`);
}

/** Where the undo and the pipeline behind it die; each has to be survived. */
export const undoFailpoints = [
  'undo_recorded',
  'undo_deleted',
  'undo_others_requested',
  'rebuild_computed:1',
  'rebuild_committed:1',
  'undo_rebuilt',
  'undo_reported',
];
