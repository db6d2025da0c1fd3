import { dayMs, hourMs } from '../../src/base/time.ts';
import { gzipSync } from 'node:zlib';
import { createReaderMemory } from '../../src/imports/formats/reader-memory.ts';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { amplitudeRecords } from '../../src/imports/formats/amplitude/records.fixture.ts';
import { createDraw, seededRandom } from '../support/draw.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { microsOf } from '../../src/imports/sources/posthog-pages.ts';
import { isoOfMicros } from '../../src/base/clock.ts';
import {
  startExportServer,
  type Answer,
  type ExportRequestOf,
  type ExportServer,
  type Trouble,
} from '../support/export-server.ts';
import { makeZip } from '../support/archives.ts';

const recordsCount = 480;
/** Of the five days that are asked for, the fourth has nothing. */
const filledDays = [0, 1, 2, 4];
const secret = 'stand-in-secret';

type Row = Record<string, unknown>;

/** A service that is moved away from: what it holds, what it sent of it, and what an import of that has to give. */
export interface Service extends AsyncDisposable {
  readonly plugin: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly range: { readonly from: string; readonly to: string };
  readonly server: ExportServer;
  /** From the second request on. */
  trouble(trouble: Partial<Trouble>): void;
  /** Records that arrive for days that may have been exported already. */
  addLate(): void;
  /** uuid, event, distinct_id and time of every event, by the format's reader, in the order of the last answers. */
  expected(): Set<string>;
}

export const serviceNames = ['Mixpanel', 'Amplitude', 'PostHog or Millrace'] as const;
export type ServiceName = (typeof serviceNames)[number];

const makers: Readonly<Record<ServiceName, (world: World) => Exports>> = {
  Mixpanel: mixpanelExports,
  Amplitude: amplitudeExports,
  'PostHog or Millrace': eventsApiExports,
};

/** Its persons and its fortnight are unique, so that its stored events are distinguished from those of other sources. */
interface World {
  readonly number: number;
  readonly start: number;
  readonly random: () => number;
}

interface Exports {
  readonly format: string;
  readonly settings: (url: string) => Readonly<Record<string, string>>;
  readonly answer: (request: ExportRequestOf) => Answer;
  readonly addLate: () => void;
  /** Records in the order in which the parts of a run have them. */
  readonly sent: () => readonly Row[];
  /** How many there are. */
  readonly held: () => number;
}

export function windowOf(number: number): { readonly from: string; readonly to: string } {
  const start = startOf(number);
  return { from: new Date(start - 5 * dayMs).toISOString(), to: new Date(start + 9 * dayMs).toISOString() };
}

function startOf(number: number): number {
  return Date.UTC(2021, 0, 11) + number * 14 * dayMs;
}

export async function startService(plugin: ServiceName, number: number): Promise<Service> {
  const start = startOf(number);
  const exports = makers[plugin]({ number, start, random: seededRandom(number + 1) });
  let coming: Partial<Trouble> | undefined;
  const server = await startExportServer((request) => {
    if (coming !== undefined && server.asked.length >= 2) {
      Object.assign(server.trouble, coming);
      coming = undefined;
    }
    return exports.answer(request);
  }, number + 1);
  return {
    plugin,
    server,
    settings: exports.settings(server.url),
    range: { from: new Date(start).toISOString(), to: new Date(start + 5 * dayMs).toISOString() },
    trouble: (trouble) => void (coming = trouble),
    addLate: exports.addLate,
    expected: () => expectedOf(exports),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function expectedOf({ format: slug, sent, held }: Exports): Set<string> {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected the format ${slug}`);
  // Each link as often as it is found: the one that stays is looked for below.
  const latest = new Set<string>();
  const isLatest = (uuid: string): boolean => latest.add(uuid).size > 0;
  const memory = { ...createReaderMemory(), links: { isNew: () => true, isLatest, has: () => false } };
  const read = format.createReader({}, format.names, memory);
  const records = sent();
  if (records.length !== held())
    throw new Error(`expected that all ${held()} records were sent, got ${records.length}`);
  const found = new Set<string>();
  const links = new Map<string, string>();
  for (const record of records) {
    const result = read(record);
    if (result.kind === 'unreadable') throw new Error(`expected records that can be read; ${result.reason}`);
    if (result.kind !== 'events') continue;
    for (const each of result.events) {
      const uuid = String(each.uuid);
      const text = identity(uuid, each.event, each.distinct_id, String(each.timestamp));
      // All that stands before the time is the same, and times sort as texts.
      if (latest.has(uuid)) {
        if (text > (links.get(uuid) ?? '')) links.set(uuid, text);
      } else if (each.event !== '$identify') found.add(text);
      // Of a link the earliest time counts.
      else if (text < (links.get(uuid) ?? '~')) links.set(uuid, text);
    }
  }
  return new Set([...found, ...links.values()]);
}

export function identity(uuid: string, event: string, distinctId: string, timestamp: string): string {
  const micros = microsOf(timestamp);
  if (micros === undefined) throw new Error(`expected a time, got ${timestamp}`);
  return [uuid.toLowerCase(), event, distinctId, isoOfMicros(micros)].join(' ');
}

/** The day on which a record lies at the service, and its own time: now and then it came days late. */
function placeOf(index: number, { start }: World, late = true): { readonly day: number; readonly ms: number } {
  const share = index / recordsCount;
  const day = filledDays[Math.floor(share * filledDays.length)] ?? 0;
  const ms = start + day * dayMs + ((index * 7919) % 86_400) * 1000;
  return { day: start + day * dayMs, ms: late && index % 40 === 0 ? ms - 2 * dayMs : ms };
}

/** Ids of people with the number of the service in them. */
function own(record: Row, { number }: World): Row {
  const text = JSON.stringify(record).replaceAll(/\b(user|device|anon|old|company)-(?=\d)/g, `$1-${number}x`);
  // Sound: the JSON of an object.
  return JSON.parse(text) as Row;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Records that lie at a place, and how they were sent the last time. */
function createShelves(random: () => number) {
  const shelves = new Map<string, Row[]>();
  const sent = new Map<string, readonly Row[]>();
  return {
    put: (key: string, record: Row) => void shelves.set(key, [...(shelves.get(key) ?? []), record]),
    /** Those between both keys, in another order at every call. */
    take(from: string, to: string): readonly Row[] {
      const found = [...shelves].filter(([key]) => key >= from && key <= to).flatMap(([, records]) => records);
      const mixed = shuffled(found, random);
      sent.set(from, mixed);
      return mixed;
    },
    sent: () => [...sent].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, records]) => records),
    held: () => [...shelves.values()].reduce((sum, records) => sum + records.length, 0),
  };
}

function mixpanelExports(world: World): Exports {
  const shelves = createShelves(world.random);
  const profiles: Row[] = [];
  const put = (records: Iterable<Row>, every: number): void => {
    let index = 0;
    for (const made of records) {
      const { day, ms } = placeOf(index++ * every, world);
      const record = own(made, world);
      const properties = { ...(record['properties'] as Row), time: Math.floor(ms / 1000) };
      const $properties = { ...(record['$properties'] as Row), $last_seen: new Date(ms).toISOString().slice(0, 19) };
      if (record['$distinct_id'] === undefined) shelves.put(dayOf(day), { ...record, properties });
      else profiles.push({ ...record, $properties });
    }
  };
  put(mixpanelRecords(1000 + world.number, recordsCount), 1);
  return {
    format: 'mixpanel',
    settings: (url) => ({
      base_url: url,
      service_account: 'import.mp-service-account',
      service_secret: secret,
      project_id: '7',
    }),
    answer: ({ path, method, query, form }) => {
      if (path === '/api/2.0/export' && method === 'GET') {
        return lines(shelves.take(query.get('from_date') ?? '', query.get('to_date') ?? ''));
      }
      if (path !== '/api/2.0/engage' || method !== 'POST') return { status: 404, body: 'nothing here' };
      const page = Number(form.get('page') ?? 0);
      if (page > 0 && form.get('session_id') !== 'session')
        return { status: 400, body: '{"error": "unknown session"}' };
      const results = profiles.slice(page * 10, page * 10 + 10);
      return { json: { page, page_size: 10, session_id: 'session', total: profiles.length, results } };
    },
    addLate: () => put(mixpanelRecords(5000 + world.number, recordsCount / 10), 10),
    sent: () => [...profiles, ...shelves.sent()],
    held: () => profiles.length + shelves.held(),
  };
}

function lines(records: readonly Row[]): Answer {
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  return { bytes: Buffer.from(text), contentType: 'application/x-ndjson' };
}

function amplitudeExports(world: World): Exports {
  const shelves = createShelves(world.random);
  const put = (records: Iterable<Row>, every: number): void => {
    let index = 0;
    for (const made of records) {
      const { day, ms } = placeOf(index++ * every, world);
      const hour = new Date(day + (index % 24) * hourMs).toISOString().slice(0, 13).replaceAll('-', '');
      const record = own(made, world);
      const written = `${new Date(ms).toISOString().replace('T', ' ').slice(0, 23)}${100 + (index % 900)}`;
      const times = ['event_time', 'client_event_time', 'server_received_time'];
      const changed = times.filter((key) => record[key] !== null).map((key) => [key, written]);
      shelves.put(hour, { ...record, ...(Object.fromEntries(changed) as Row) });
    }
  };
  put(amplitudeRecords(1000 + world.number, recordsCount), 1);
  return {
    format: 'amplitude',
    settings: (url) => ({ base_url: url, api_key: 'key', secret_key: secret }),
    answer: ({ path, query }) => {
      if (path !== '/api/2/export') return { status: 404, body: 'nothing here' };
      const from = query.get('start') ?? '';
      const records = shelves.take(from, query.get('end') ?? '');
      if (records.length === 0) return { status: 404, body: 'Raw data files were not found.' };
      const cut = Math.floor(world.random() * records.length);
      const files = [records.slice(0, cut), records.slice(cut)].map((some, part) => ({
        path: `7/7_${from}#${part}.json.gz`,
        content: gzipSync(some.map((record) => `${JSON.stringify(record)}\n`).join('')),
      }));
      return { bytes: Buffer.from(makeZip(files)), contentType: 'application/zip' };
    },
    addLate: () => put(amplitudeRecords(5000 + world.number, recordsCount / 10), 10),
    sent: shelves.sent,
    held: shelves.held,
  };
}

/** Newest first, page by page with a cursor; events that share a time in another order at each call. */
function eventsApiExports(world: World): Exports {
  const held: { readonly micros: number; readonly record: Row }[] = [];
  const put = (seed: number, count: number, every: number): void => {
    const draw = createDraw(seed);
    for (let index = 0; index < count; index += 1) {
      const { ms } = placeOf(index * every, world, false);
      // Several share a time.
      const micros = (ms - (ms % (4 * hourMs))) * 1000 + draw.int(500);
      const record = {
        id: draw.uuid(),
        distinct_id: `user-${world.number}x${draw.int(60)}`,
        event: draw.pick(['$pageview', '$autocapture', 'Order Done']),
        timestamp: isoOfMicros(micros),
        properties: { $lib: 'web', total: draw.int(1000) / 4 },
        person: null,
        elements: [],
        elements_chain: '',
      };
      held.push({ micros, record });
    }
  };
  put(1000 + world.number, recordsCount, 1);
  return {
    format: 'posthog',
    settings: (url) => ({ host: url, project_id: '7', personal_api_key: secret, page_size: '50' }),
    answer: ({ path, query }) => {
      if (path !== '/api/projects/7/events') return { status: 404, body: '{"detail": "Not found."}' };
      const [after, before] = [microsOf(query.get('after') ?? '') ?? 0, microsOf(query.get('before') ?? '') ?? 0];
      const found = shuffled(held, world.random)
        .filter(({ micros }) => micros > after && micros < before)
        .toSorted((a, b) => b.micros - a.micros);
      const limit = Number(query.get('limit'));
      const results = found.slice(0, limit).map(({ record }) => record);
      return { json: { next: found.length > limit ? 'http://elsewhere.example/?before=x' : null, results } };
    },
    addLate: () => put(5000 + world.number, recordsCount / 10, 10),
    sent: () => held.map(({ record }) => record),
    held: () => held.length,
  };
}
