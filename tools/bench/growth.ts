import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { megabytes } from './end-to-end.ts';
import { randomFrom } from './events.ts';
import { load, median } from './load.ts';
import { cpuSecondsOfTree, residentBytesOfTree } from './process.ts';
import { benchDataDir, benchProjectKey, getJson, startMillrace, untilDrained, untilIdle } from './server.ts';

const eventsPerBody = 1000;
/** One event of ten is the first of its person. */
const eventsPerPerson = 10;
const bodiesAtOnce = 250;
const rounds = 5;

/** Events are in the order of their time, like live ones: each million is a month, the last one ends now. */
const eventsPerMonth = 1_000_000;
const monthMs = 30 * 86_400_000;

/** (i) The cost of an event and of a query as the store grows: at each million, with 100,000 new persons per million. */
export async function benchGrowth(events: number): Promise<string> {
  const dataDir = benchDataDir();
  const server = await startMillrace(dataDir.path);
  const step = Math.min(1_000_000, events);
  const rows: string[] = [];
  const firstMs = Date.now() - (events / eventsPerMonth) * monthMs;
  const queries = queriesOf(`${server.url}/api/projects/@current`);
  for (let stored = step; stored <= events; stored += step) {
    const micros = await ingest(server, firstMs, stored - step, step);
    const counts = await getJson<{ total: Record<string, number> }>(
      `${server.url}/api/projects/@current/events/counts/`,
    );
    if (counts.total['standard'] !== stored) throw new Error(`expected ${stored} rows, got: ${JSON.stringify(counts)}`);
    const times: string[] = [];
    const newest = await getJson<{ results: { id: string }[] }>(
      `${server.url}/api/projects/@current/events/?limit=100`,
    );
    for (const { url } of queries(stored, newest.results.at(-1)?.id ?? '')) times.push(await costOf(server.pid, url));
    const memory = megabytes(residentBytesOfTree(server.pid));
    rows.push(`| ${[millions(stored), micros.toFixed(1), ...times, memory].join(' | ')} |`);
    console.error(rows.at(-1));
  }
  await server.stop();
  dataDir.remove();
  const names = queries(step).map(({ name }) => name);
  return [
    `| events stored | ingest, µs of CPU an event | ${names.map((name) => `${name}, ms`).join(' | ')} | memory |`,
    `|${'---|'.repeat(names.length + 3)}`,
    ...rows,
  ].join('\n');
}

/** CPU µs per event, everything included, until all merges have ended. */
async function ingest(
  server: { pid: number; url: string },
  firstMs: number,
  from: number,
  count: number,
): Promise<number> {
  let cpuSeconds = 0;
  for (let at = from; at < from + count; at += bodiesAtOnce * eventsPerBody) {
    const size = Math.min(bodiesAtOnce * eventsPerBody, from + count - at);
    const bodies = Array.from({ length: size / eventsPerBody }, (_, body) =>
      bodyOf(firstMs, at + body * eventsPerBody),
    );
    const before = cpuSecondsOfTree(server.pid);
    await load({ url: `${server.url}/batch/`, bodies, connections: 8, headers: { 'content-encoding': 'gzip' } });
    await untilDrained(server.url);
    await untilIdle(server.pid);
    cpuSeconds += cpuSecondsOfTree(server.pid) - before;
  }
  return (cpuSeconds * 1e6) / count;
}

/** Events `first`, `first + 1`, … of the stream: the same number gives the same event except for time and uuid. */
function bodyOf(firstMs: number, first: number): Buffer {
  const random = randomFrom(first);
  const batch = Array.from({ length: eventsPerBody }, (_, at) => {
    const people = Math.floor((first + at) / eventsPerPerson) + 1;
    const isNew = (first + at) % eventsPerPerson === 0;
    return {
      event: random() < 0.5 ? '$pageview' : 'button clicked',
      distinct_id: personId(isNew ? people - 1 : Math.floor(random() * people)),
      timestamp: new Date(firstMs + ((first + at) / eventsPerMonth) * monthMs).toISOString(),
      uuid: randomUUID(),
      properties: {
        path: '/docs/import',
        duration_ms: Math.floor(random() * 60_000),
        price: Math.round(random() * 10_000) / 100,
        plan: random() < 0.001 ? 'rare' : 'free',
        referrer: 'https://example.com/some/where',
        width: 1440,
        locale: 'en-GB',
      },
    };
  });
  return gzipSync(JSON.stringify({ api_key: benchProjectKey, batch }), { level: 6 });
}

function personId(number: number): string {
  return `person-${number.toString(36).padStart(8, '0')}`;
}

function queriesOf(project: string) {
  const rare = encodeURIComponent(JSON.stringify([{ key: 'plan', value: 'rare', operator: 'exact' }]));
  return (stored: number, eventId = ''): { name: string; url: string }[] => {
    const person = personId(Math.floor(stored / eventsPerPerson / 2));
    return [
      { name: 'one event', url: `${project}/events/${eventId}/` },
      { name: 'newest events', url: `${project}/events/?limit=100` },
      { name: 'of one distinct_id', url: `${project}/events/?limit=100&distinct_id=${person}` },
      { name: 'by property', url: `${project}/events/?limit=100&properties=${rare}` },
      { name: 'counts', url: `${project}/events/counts/` },
      { name: 'newest persons', url: `${project}/persons/?limit=100` },
      { name: 'one person', url: `${project}/persons/?distinct_id=${person}` },
    ];
  };
}

/** CPU ms of a warm request; of several together if one is too short to measure. */
async function costOf(pid: number, url: string): Promise<string> {
  const costs: number[] = [];
  const times = 10;
  await getJson(url);
  for (let round = 0; round < rounds; round++) {
    const before = cpuSecondsOfTree(pid);
    for (let at = 0; at < times; at++) await getJson(url);
    costs.push(((cpuSecondsOfTree(pid) - before) * 1000) / times);
  }
  return median(costs).toFixed(0);
}

function millions(events: number): string {
  return `${(events / 1_000_000).toLocaleString('en')} M`;
}
