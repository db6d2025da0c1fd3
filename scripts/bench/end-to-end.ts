import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { EventRowWriter } from '../../src/eventstore/rows.ts';
import { bodies, type BatchShape } from './events.ts';
import { load, percentile } from './load.ts';
import { thousands } from './pairs.ts';
import { cpuSecondsOfTree } from './process.ts';
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
const rowsPerFile = 100_000;
/** Sent before anything is measured: both sides run warm. */
const warmUpBodies = 200;

/** From the first request until every event can be queried; CPU until the merges are over. Fails when a row is missing. */
async function throughMillrace(sent: readonly Buffer[], shape: BatchShape, requestsPerSecond?: number): Promise<Run> {
  const dataDir = benchDataDir();
  const server = await startMillrace(dataDir.path);
  const memory = watchMemory(server.pid);
  const headers = { 'content-encoding': 'gzip' };
  const url = `${server.url}/batch/`;
  const warmUp = bodies(benchProjectKey, warmUpBodies, { ...shape, events: eventsPerBody }, 99);
  await load({ url, bodies: warmUp, connections: 8, headers });
  await untilDrained(server.url);
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
  await untilDrained(server.url);
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

/** The same rows as files for the baseline. */
function rowFiles(dir: string, sent: readonly Buffer[]): string[] {
  const writer = new EventRowWriter();
  const files: string[] = [];
  const flush = (): void => {
    const file = join(dir, `rows-${files.length}.native`);
    writeFileSync(file, Buffer.concat(writer.take().chunks));
    files.push(file);
  };
  for (const body of sent) {
    const root = JSON.parse(gunzipSync(body).toString()) as { historical_migration?: boolean; batch: BenchEvent[] };
    for (const event of root.batch) {
      const micros = Date.parse(event.timestamp) * 1000;
      writer.write({
        projectId: 1,
        historical: root.historical_migration === true,
        receivedAtMicros: Date.now() * 1000,
        timestampMicros: micros,
        keyDay: Math.floor(micros / 86_400_000_000),
        uuid: event.uuid,
        event: event.event,
        distinctId: event.distinct_id,
        properties: JSON.stringify(event.properties),
      });
      if (writer.rows === rowsPerFile) flush();
    }
  }
  if (writer.rows > 0) flush();
  return files;
}

interface BenchEvent {
  readonly event: string;
  readonly uuid: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: object;
}

async function throughDoor(sent: readonly Buffer[]): Promise<{ perCpuSecond: number; perSecond: number }> {
  const dir = benchDataDir();
  const list = join(dir.path, 'files');
  writeFileSync(list, rowFiles(dir.path, sent).join('\n'));
  const child = fork(new URL('./door.ts', import.meta.url), [dir.path, list], { stdio: 'inherit' });
  const result = await new Promise<{ rows: number; wallSeconds: number; cpuSeconds: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { rows: number; wallSeconds: number; cpuSeconds: number }));
    child.once('exit', (code) => reject(new Error(`expected figures of the baseline, it ended with ${code}`)));
  });
  dir.remove();
  if (result.rows !== sent.length * eventsPerBody) throw new Error(`expected every row once, got: ${result.rows}`);
  return { perCpuSecond: result.rows / result.cpuSeconds, perSecond: result.rows / result.wallSeconds };
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
    const door = await throughDoor(sent);
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
