/** One run: events go in, with mishaps or without, and what came of them is taken down. */
import { gzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectClickhouse } from '../../src/eventstore/clickhouse/connect-clickhouse.ts';
import type { EventStore } from '../../src/eventstore/eventstore.ts';
import type { Metadata } from '../../src/metadata/database.ts';
import { openPostgres } from '../../src/metadata/postgres.ts';
import { createDraw } from '../../test/support/draw.ts';
import { parseBroker } from '../../src/kafka/access.ts';
import { openKafkaLogWriter } from '../../src/eventlog/kafka/writer.ts';
import { readCursors } from '../../src/pipeline/cursors.ts';
import { projectState, type ProjectState } from '../../test/support/project-state.ts';
import { startChaos } from './storm-chaos.ts';
import {
  openStormCluster,
  stormKeys,
  untilReady,
  type StormClusterOptions,
  type StormCluster,
  type StormProcess,
} from './storm-cluster.ts';
import { stormBatches, type StormBatch, type StormPlan } from './storm-events.ts';

export interface StormRunOptions extends StormClusterOptions, StormPlan {
  /** Undefined: nothing happens to anybody, and one process does everything. */
  readonly chaosSeed?: number;
  /** Time for the rest to be stored once all is taken, s. */
  readonly settleSeconds: number;
  readonly say: (text: string) => void;
}

export interface StormResult {
  readonly projects: readonly ProjectState[];
  /** `slot of the log:lane:from`, each with every end that was inserted. */
  readonly rangesWithTwoEnds: readonly string[];
  /** What plugins kept, by project. */
  readonly storage: readonly string[];
  readonly deadLetters: readonly string[];
  /** Events that are missing when time is up. */
  readonly missing: number;
  readonly said: readonly string[];
}

const counting = `
  export async function processEvent(event, { storage }) {
    // A batch that was taken without its sender being told comes twice, so what is kept must not depend on how often.
    await storage.set(event.uuid, event.properties.n);
    const names = (await storage.get('names', [])).concat(event.event);
    await storage.set('names', [...new Set(names)].sort());
    event.properties.marked = true;
    return event;
  }`;
const readyMs = 120_000;
const sendersPerProject = 2;

export async function runStorm(options: StormRunOptions): Promise<StormResult> {
  const { say } = options;
  await using cluster = await openStormCluster(options);
  const isCalm = options.chaosSeed === undefined;
  const roles = isCalm
    ? ['capture,pipeline,api,jobs']
    : ['capture', 'capture', 'pipeline', 'pipeline', 'pipeline', 'api', 'jobs'];
  const processes: StormProcess[] = [];
  for (const [index, role] of roles.entries())
    processes.push(await cluster.start(`${index}-${isCalm ? 'all' : role}`, role));
  await Promise.all(processes.map((each) => untilReady(each, readyMs)));
  const withRole = (role: string): StormProcess[] => processes.filter((_, index) => roles[index]?.includes(role));
  const [api] = withRole('api');
  if (api === undefined) throw new Error('expected a process with the role api');
  const keys = await makeProjects(api, options.projects);
  say(`${processes.length} processes are ready`);
  const chaos = isCalm ? undefined : startChaos(cluster, processes, createDraw(options.chaosSeed ?? 0));
  const batches = stormBatches(options);
  await sendAll(withRole('capture'), keys, batches);
  await chaos?.stop();
  say(`all is taken${chaos === undefined ? '' : `; ${JSON.stringify(chaos.counts)}`}`);
  const db = openPostgres(cluster.databaseUrl, { onConnectionLost: () => undefined });
  const store = await connectClickhouse(cluster.clickhouseUrl, { queryTimeoutMs: 60_000, migrates: false });
  try {
    const missing = await untilStored(cluster, { db, store }, options);
    const projects = await Promise.all(keys.map(({ id }) => projectState({ store, db }, id, { named: false })));
    return {
      projects,
      rangesWithTwoEnds: twoEnds(cluster.clickhouse.statements),
      storage: await storageOf(db),
      deadLetters: await deadLettersOf(db),
      missing,
      said: processes.flatMap(({ name, said }) => said.slice(-5).map((text) => `${name}: ${text.trim()}`)),
    };
  } finally {
    await store.close();
    await db.destroy();
  }
}

interface ProjectKey {
  readonly id: number;
  readonly key: string;
}

/** Each with a transformation that counts in its storage. */
async function makeProjects(api: StormProcess, count: number): Promise<ProjectKey[]> {
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(api.url + path, {
      method,
      headers: { authorization: `Bearer ${stormKeys.personal}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok)
      throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const { id: first } = await call<{ id: number }>('GET', '/api/projects/@current/');
  const keys: ProjectKey[] = [{ id: first, key: stormKeys.project }];
  while (keys.length < count) {
    const made = await call<{ id: number; api_token: string }>('POST', '/api/projects/', {
      name: `storm ${keys.length}`,
    });
    keys.push({ id: made.id, key: made.api_token });
  }
  for (const { id } of keys) {
    const files = { 'plugin.json': JSON.stringify({ name: `counts ${id}` }), 'index.js': counting };
    const plugin = await call<{ id: number }>('POST', `/api/projects/${id}/plugins/`, { files });
    const family = `/api/projects/${id}/pipeline_transformation_configs/`;
    const config = await call<{ id: number }>('POST', family, { plugin: plugin.id });
    await call('PATCH', `${family}${config.id}/`, { enabled: true });
  }
  // Until every process has seen them.
  await sleep(6000);
  return keys;
}

/** Every batch until some capture process has answered 200; a few senders for each project. */
async function sendAll(captures: readonly StormProcess[], keys: readonly ProjectKey[], batches: readonly StormBatch[]) {
  const queues = [...Map.groupBy(batches, ({ project }) => project).values()].flatMap((own) =>
    Array.from({ length: sendersPerProject }, (_, sender) =>
      own.filter((_each, at) => at % sendersPerProject === sender),
    ),
  );
  let turn = 0;
  const send = async ({ project, historical, events }: StormBatch): Promise<void> => {
    const api_key = keys[project]?.key;
    const body = gzipSync(
      JSON.stringify({ api_key, batch: events, ...(historical && { historical_migration: true }) }),
    );
    for (;;) {
      const { url } = captures[(turn += 1) % captures.length] ?? { url: '' };
      const answer = await fetch(`${url}/batch/`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        signal: AbortSignal.timeout(30_000),
      }).catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      if (answer?.status === 200) return;
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) {
        throw new Error(`expected a batch to be taken, got: ${answer.status}`);
      }
      await sleep(200);
    }
  };
  await Promise.all(
    queues.map(async (own) => {
      for (const batch of own) await send(batch);
    }),
  );
}

/** How many are missing when the pipelines are done, or the time is over. */
async function untilStored(
  { broker, topicPrefix }: StormCluster,
  { db, store }: { readonly db: Metadata; readonly store: EventStore },
  { events, settleSeconds, slots }: StormRunOptions,
): Promise<number> {
  const place = parseBroker(broker.plain);
  if (place === undefined) throw new Error(`expected host:port, got: ${broker.plain}`);
  const access = { tls: undefined, sasl: undefined };
  const form = { slots, replication: 1, minInsync: 1, bodyBytesMax: 20_971_520, lookEveryMs: 100 };
  const log = await openKafkaLogWriter(
    { brokers: [place], access, topicPrefix, ...form },
    { cursors: () => readCursors(db) },
  );
  const waiting = (): number => log.backlog('live').records + log.backlog('historical').records;
  for (const end = Date.now() + settleSeconds * 1000; waiting() > 0 && Date.now() < end;) await sleep(200);
  await log.close();
  const [row] = await store.query<{ stored: string }>('SELECT count() AS stored FROM events FINAL', {});
  return events - Number(row?.stored);
}

/** Names of inserts say which range of the log they hold: one that began at the same place must have ended at the same. */
function twoEnds(statements: readonly string[]): string[] {
  const ends = new Map<string, Set<string>>();
  for (const statement of statements) {
    const [, log, lane, from, to = ''] = /'([A-Za-z0-9-]{8,36}):(live|historical):(\d+)-(\d+)/.exec(statement) ?? [];
    if (from === undefined) continue;
    const name = `${log}:${lane}:${from}`;
    ends.set(name, (ends.get(name) ?? new Set()).add(to));
  }
  if (ends.size === 0) throw new Error('expected the inserts to be named after ranges of the log, found none');
  return [...ends].filter(([, found]) => found.size > 1).map(([name, found]) => `${name}-${[...found].join(' and ')}`);
}

async function storageOf(db: Metadata): Promise<string[]> {
  const rows = await db.selectFrom('plugin_storage').select(['project_id', 'key', 'value']).execute();
  return rows.map(({ project_id, key, value }) => `${project_id} ${key} ${value}`).sort();
}

async function deadLettersOf(db: Metadata): Promise<string[]> {
  const rows = await db.selectFrom('dead_letters').select(['project_id', 'reason']).execute();
  return rows.map(({ project_id, reason }) => `${project_id} ${reason}`).sort();
}
