import { gunzipSync } from 'node:zlib';
import { bodies, type BatchShape } from './events.ts';
import { load, percentile } from './load.ts';
import { thousands } from './pairs.ts';
import { cpuSecondsOfTree } from './process.ts';
import { prepareRawRows, type RawEvent } from './raw-insert.ts';
import {
  benchDataDir,
  benchProjectKey,
  getJson,
  startMillrace,
  untilDrained,
  untilIdle,
  watchMemory,
} from './server.ts';

interface Run {
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly peakBytes: number;
  readonly p99Ms: number;
}

const eventsPerBody = 1000;
/** Short against what is measured. */
const pollMs = 20;
/** Sent before the measurement, so that both sides are warm. */
const warmUpBodies = 200;

/** From the first request until every event can be queried; CPU time until all merges have ended. Fails if a row is missing. */
async function throughMillrace(sent: readonly Buffer[], shape: BatchShape, requestsPerSecond?: number): Promise<Run> {
  const dataDir = benchDataDir();
  const server = await startMillrace(dataDir.path);
  const memory = watchMemory(server.pid);
  const headers = { 'content-encoding': 'gzip' };
  const url = `${server.url}/batch/`;
  const warmUp = bodies(benchProjectKey, warmUpBodies, { ...shape, events: eventsPerBody }, 99);
  await load({ url, bodies: warmUp, connections: 8, headers });
  await untilDrained(server.url, 600_000, pollMs);
  await untilIdle(server.pid);
  const before = cpuSecondsOfTree(server.pid);
  const started = performance.now();
  const result = await load({
    url,
    bodies: sent,
    connections: 8,
    headers,
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
  });
  await untilDrained(server.url, 600_000, pollMs);
  const wallSeconds = (performance.now() - started) / 1000;
  await untilIdle(server.pid);
  const cpuSeconds = cpuSecondsOfTree(server.pid) - before;
  const events = sent.length * eventsPerBody;
  const counts = await getJson<{ total: Record<string, number> }>(`${server.url}/api/projects/@current/events/counts/`);
  const rows = events + warmUpBodies * eventsPerBody;
  const lane = shape.historical ? 'historical' : 'standard';
  if (counts.total[lane] !== rows) throw new Error(`expected ${rows} rows, got: ${JSON.stringify(counts.total)}`);
  memory.stop();
  await server.stop();
  dataDir.remove();
  return {
    perCpuSecond: events / cpuSeconds,
    perSecond: events / wallSeconds,
    peakBytes: memory.peakBytes(),
    p99Ms: percentile(result.latenciesMs, 0.99),
  };
}

function* eventsOf(sent: readonly Buffer[]): Generator<RawEvent> {
  for (const body of sent) {
    const root = JSON.parse(gunzipSync(body).toString()) as { historical_migration?: boolean; batch: RawEvent[] };
    for (const event of root.batch) yield { ...event, historical: root.historical_migration === true };
  }
}

/** (b) From request to queryable row, persons on. */
export async function benchEndToEnd(eventCount: number): Promise<string> {
  const rows = [
    '| events | events per CPU-s | door | ratio | events/s | door | peak memory |',
    '|---|---|---|---|---|---|---|',
  ];
  const shape = { events: eventsPerBody, people: 20_000, months: 1, historical: true } satisfies BatchShape;
  const shapes: [string, BatchShape][] = [
    ['live', { ...shape, historical: false }],
    ['historical, 1 month', shape],
    ['historical, 36 months', { ...shape, months: 36 }],
  ];
  const speeds: number[] = [];
  for (const [name, one] of shapes) {
    const sent = bodies(benchProjectKey, Math.ceil(eventCount / eventsPerBody), one);
    const ours = await throughMillrace(sent, one);
    const raw = prepareRawRows(eventsOf(sent));
    const door = await raw.insert();
    raw.remove();
    speeds.push(ours.perSecond);
    rows.push(
      `| ${name} | ${thousands(ours.perCpuSecond)} | ${thousands(door.perCpuSecond)} | **${(ours.perCpuSecond / door.perCpuSecond).toFixed(2)}** | ${thousands(ours.perSecond)} | ${thousands(door.perSecond)} | ${megabytes(ours.peakBytes)} |`,
    );
  }
  const [liveSpeed = 0, monthSpeed = 1, yearsSpeed = 0] = speeds;
  rows.push('', `36 months in one import: ${(yearsSpeed / monthSpeed).toFixed(2)} of the one-month speed.`);
  rows.push('', await acknowledgements(liveSpeed * 0.7, shapes[0]?.[1] ?? shape));
  return rows.join('\n');
}

async function acknowledgements(eventsPerSecond: number, shape: BatchShape): Promise<string> {
  const sent = bodies(benchProjectKey, Math.ceil((eventsPerSecond * 8) / eventsPerBody), shape, 2);
  const run = await throughMillrace(sent, shape, eventsPerSecond / eventsPerBody);
  return `Acknowledgement at 70 % of the live speed (${thousands(eventsPerSecond)} events/s): p99 ${run.p99Ms.toFixed(0)} ms.`;
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MB`;
}
