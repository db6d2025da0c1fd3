import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { FormatOptions } from '../../src/imports/formats/format.ts';
import { findFormat } from '../../src/imports/formats/registry.ts';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { readAllEvents } from './ledger.ts';
import { ageFile } from './age-files.ts';
import { apiGet, personalKey, type TestServer } from './server.ts';

/** An import run as the API shows it. */
export interface RunAnswer {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly reason: string;
  readonly waiting: { readonly reason: string } | null;
  readonly totals: Readonly<Record<string, unknown>>;
  readonly stages: readonly { readonly stage: string; readonly done: number }[];
}

/** For `untilRun`: events are being loaded. */
export function loadsEvents({ stages }: RunAnswer): boolean {
  return stages.some(({ stage, done }) => stage === 'load' && done > 0);
}

export interface ImportedEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601, milliseconds. */
  readonly timestamp: string;
}

const family = '/api/projects/@current/pipeline_import_apps_configs/';

type Served = Pick<TestServer, 'url'>;

/** A call of the management API with a body; throws on anything but success. */
export async function apiSend<T>(
  server: Served,
  method: string,
  path: string,
  body: object = {},
  key = personalKey,
): Promise<T> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Records into a file that an import may read. Returns its path. */
export async function writeRecords(dataDir: string, name: string, records: readonly object[]): Promise<string> {
  const path = join(dataDir, 'import-files', name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join('')));
  await ageFile(path);
  return path;
}

/** What an import has to make of records that are read in this order: what the format's own reader does. */
export function eventsOfRecords(slug: string, records: Iterable<object>, options: FormatOptions = {}): ImportedEvent[] {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected the format ${slug}`);
  const read = format.createReader(options, format.names);
  return [...records].flatMap((record) => {
    const result = read(record);
    if (result.kind !== 'events') return [];
    return result.events.map(({ uuid, event, distinct_id: distinctId, timestamp }) => ({
      uuid: String(uuid).toLowerCase(),
      event,
      distinctId,
      timestamp: new Date(String(timestamp)).toISOString(),
    }));
  });
}

/** Makes a config of the import app Files. Returns its path in the API. */
export function createFilesConfig(server: Served, settings: Readonly<Record<string, string>>): Promise<string> {
  return createImportConfig(server, 'Files', settings);
}

/** The same of the import app with this name. */
export async function createImportConfig(server: Served, app: string, settings: object): Promise<string> {
  const { results } = await apiGet<{ results: { id: number; name: string }[] }>(
    server,
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = results.find(({ name }) => name === app)?.id;
  const { id } = await apiSend<{ id: number }>(server, 'POST', family, { plugin });
  await apiSend(server, 'PATCH', `${family}${id}/settings/`, settings);
  return `${family}${id}/`;
}

/** Returns the path of the run in the API. With the preflight, unless the payload says otherwise. */
export async function startImport(server: Served, config: string, payload: object = {}): Promise<string> {
  const { id } = await apiSend<RunAnswer>(server, 'POST', `${config}runs/`, payload);
  return `${config}runs/${id}/`;
}

/** Waits until the run is so; throws with how it is after a minute and a half. A server that is away is asked again. */
export async function untilRun(server: Served, run: string, is: (run: RunAnswer) => boolean): Promise<RunAnswer> {
  let last: RunAnswer | undefined;
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await delay(100)) {
    last = await apiGet<RunAnswer>(server, run);
    if (is(last)) return last;
    if (last.state === 'failed') break;
  }
  throw new Error(`expected the import run to come further, got: ${JSON.stringify(last)}`);
}

export interface ImportResults {
  readonly run: RunAnswer;
  readonly verify: VerifyResult;
  readonly report: ReportResult;
}

/** Waits for the end of a run that has to be exact, with a report of which every sum agrees; one more for each run replaced. */
export async function expectExactRun(server: Served, path: string, sums = 7): Promise<ImportResults> {
  const run = await untilRun(server, path, ({ state }) => state === 'completed');
  const verify = await apiGet<VerifyResult>(server, `${path}verify/`);
  const report = await apiGet<ReportResult>(server, `${path}report/`);
  expect({ ...verify, detail: '' }).toMatchObject({ verdict: 'exact', cells: [], found: verify.expected });
  expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
  expect(report.balance).toHaveLength(sums);
  expect(report).toMatchObject({ verdict: 'exact', totals: { events: { verified: verify.found } } });
  expect(run).toMatchObject({ stage: 'report', reason: '', totals: { rejected: 0, verified: verify.found } });
  return { run, verify, report };
}

/** What makes two events the same: day, name, distinct_id, uuid. */
export function identityOf({ uuid, event, distinctId, timestamp }: ImportedEvent): string {
  return [timestamp.slice(0, 10), event, distinctId, uuid].join(' ');
}

/**
 * Everything that a project stores is what these imports make, each event once, with a time that one of them has for it. Of an
 * `$identify` that several imports add on different days, one is stored. Returns what is stored.
 */
export async function expectStored(
  server: Served,
  imports: readonly (readonly ImportedEvent[])[],
  project: string | number = '@current',
): Promise<readonly ImportedEvent[]> {
  const times = new Map<string, Set<string>>();
  for (const event of imports.flat()) {
    const identity = identityOf(event);
    times.set(identity, (times.get(identity) ?? new Set()).add(event.timestamp));
  }
  const stored = (await readAllEvents(server, project)).map(
    ({ id: uuid, event, distinct_id: distinctId, timestamp }): ImportedEvent => ({
      uuid,
      event,
      distinctId,
      timestamp: new Date(timestamp).toISOString(),
    }),
  );
  const identities = new Set(stored.map(identityOf));
  const identifies = stored.filter(({ event }) => event === '$identify');
  const links = new Set(identifies.map(({ uuid }) => uuid));
  expect(identifies).toHaveLength(links.size);
  expect(stored).toHaveLength(identities.size);
  const missing = imports.flat().filter((event) => !identities.has(identityOf(event)));
  expect(missing.filter(({ event, uuid }) => event !== '$identify' || !links.has(uuid))).toEqual([]);
  expect(stored.filter((event) => times.get(identityOf(event))?.has(event.timestamp) !== true)).toEqual([]);
  return stored;
}
