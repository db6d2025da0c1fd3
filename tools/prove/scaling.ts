/**
 * Measures the CPU time of an event in a cluster: `npm run prove -- scaling [--repeats 3] [--slots 16]
 * [--events 960000] [--pipelines 1,2,4] [--write]`.
 *
 * The same events pass through 1, 2 and 4 pipeline processes, alternately and several times, in reverse order each time. A backlog accumulates
 * while they are suspended; then the CPU time of every component (user and system, all threads) is read before and after. The cost of
 * starting, of warming up and of an idle process is measured separately. A model (tools/prove/scaling/model.ts) is derived from 1 and 2 processes and
 * has to predict the cost of 4.
 *
 * Exits with 0 if an event costs all components together at most 15 % more with more processes, and the model is as accurate. The least
 * disturbed runs are compared, because other load on the machine can only add to them. The cost of the pipelines, and of one of their windows, is
 * shown in addition: on the same processors it rises with more processes, while that of other components falls.
 * --write writes the figures to docs/guides/capacity.json, from which `npm run docs` generates the table of docs/guides/scale-out.md.
 *
 * Real: the program, Kafka (requires a JDK 17 and mvn), PostgreSQL. ClickHouse is chDB behind HTTP, the bucket is a test double.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openPostgres } from '../../src/stores/metadata/postgres.ts';
import { openScalingCluster, type ScalingCluster, type ScalingProcess } from './scaling/cluster.ts';
import { bodiesOf, makeProjects, type LoadShape } from './scaling/load.ts';
import {
  counted,
  measure,
  measureIdle,
  measureOnce,
  parts,
  type Idle,
  type Measure,
  type Scene,
} from './scaling/measure.ts';
import { capacityOf, conclude, microsPerEvent } from './scaling/result.ts';
import { storedSizes } from './scaling/sizes.ts';

const { values } = parseArgs({
  options: {
    repeats: { type: 'string', default: '3' },
    slots: { type: 'string', default: '16' },
    events: { type: 'string', default: '960000' },
    pipelines: { type: 'string', default: '1,2,4' },
    write: { type: 'boolean', default: false },
  },
});
const slots = Number(values.slots);
const numbers = values.pipelines.split(',').map(Number);
const shareMs = 300_000;
const figures = new URL('../../docs/guides/capacity.json', import.meta.url);
const started = performance.now();
// Child processes end with this one, also on a signal.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Backlogs and steady load: windows of tens of thousands of events, of hundreds and of a few. */
const shapes: readonly LoadShape[] = [
  { name: 'plain', requests: requestsFor(1, 1000), eventsPerRequest: 1000 },
  { name: 'set', requests: requestsFor(0.5, 1000), eventsPerRequest: 1000, sets: true },
  { name: 'steady', requests: 1500, eventsPerRequest: 100, requestsPerSecond: 100 },
  { name: 'trickle', requests: 4000, eventsPerRequest: 10, requestsPerSecond: 200 },
];
const warmUp: readonly LoadShape[] = [
  { name: 'warm-up', requests: requestsFor(0.25, 1000), eventsPerRequest: 1000 },
  { name: 'warm-up', requests: requestsFor(0.125, 1000), eventsPerRequest: 1000, sets: true },
  { name: 'warm-up', requests: 800, eventsPerRequest: 10, requestsPerSecond: 200 },
];

process.exitCode = await main();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

/** The same number for each slot. */
function requestsFor(share: number, eventsPerRequest: number): number {
  return Math.max(1, Math.round((Number(values.events) * share) / eventsPerRequest / slots)) * slots;
}

async function main(): Promise<number> {
  await using cleanup = new AsyncDisposableStack();
  const cluster = cleanup.use(await openScalingCluster(slots));
  const db = openPostgres(cluster.databaseUrl, { onConnectionLost: () => undefined });
  cleanup.defer(() => db.destroy());
  const api = await cluster.start('api');
  const capture = await cluster.start('capture');
  const projects = await makeProjects(api, slots);
  await api.stop();
  say(`${projects.length} projects, one in each slot`);
  let seed = 0;
  const nextSeed = (): number => (seed += 1);
  const measures: Measure[] = [];
  const idles: Idle[] = [];
  for (let repeat = 0; repeat < Number(values.repeats); repeat += 1) {
    for (const number of repeat % 2 === 0 ? numbers : numbers.toReversed()) {
      const pipelines = await startPipelines(cluster, number);
      const found = await measureAll({ cluster, db, capture, pipelines, projects }, nextSeed);
      measures.push(...found.measures);
      idles.push(found.idle);
      for (const each of pipelines) await each.stop();
    }
  }
  const { lines, isFlat } = conclude(measures, idles);
  for (const line of lines) console.log(line);
  if (values.write) {
    const sizes = await storedSizes(cluster, db);
    writeFileSync(figures, `${JSON.stringify(capacityOf(measures, idles, sizes), undefined, 2)}\n`);
  }
  return isFlat ? 0 : 1;
}

async function startPipelines(cluster: ScalingCluster, number: number): Promise<ScalingProcess[]> {
  const pipelines = await Promise.all(Array.from({ length: number }, () => cluster.start('pipeline')));
  for (const end = Date.now() + shareMs; ; await sleep(200)) {
    const held = await Promise.all(pipelines.map(async (each) => (await counted([each])).slotsHeld));
    if (held.reduce((sum, count) => sum + count, 0) === slots && Math.max(...held) - Math.min(...held) <= 1)
      return pipelines;
    if (Date.now() > end) throw new Error(`expected ${slots} slots in even shares, got: ${held.join(', ')}`);
  }
}

function repeated(number: number, shape: LoadShape): LoadShape[] {
  return Array.from({ length: number }, () => shape);
}

async function measureAll(
  still: Omit<Scene, 'idle'>,
  nextSeed: () => number,
): Promise<{ readonly measures: Measure[]; readonly idle: Idle }> {
  const number = still.pipelines.length;
  const nothing = { capture: 0, pipelines: 0, kafka: 0, postgres: 0, store: 0 };
  const cold = { ...still, idle: nothing };
  // The same for each process, however many there are.
  for (const shape of warmUp.flatMap((each) => repeated(number, each)))
    await measureOnce(cold, shape, bodiesOf(still.projects, shape, nextSeed()));
  const idle = await measureIdle(still);
  const shown = parts.map((part) => `${part} ${(idle[part] * 1000).toFixed(0)}`);
  say(`${number} pipelines, idle: ${shown.join(', ')} ms of CPU a second`);
  const measures: Measure[] = [];
  for (const shape of shapes) {
    const found = await measure({ ...still, idle }, shape, nextSeed);
    measures.push(found);
    const costs = parts.map((part) => `${part} ${microsPerEvent(found, part).toFixed(2)}`);
    const did = `${found.events} events in ${found.windows} windows, ${found.seconds.toFixed(1)} s`;
    const lost = found.slotsLost === 0 ? '' : ` (${found.slotsLost} slots were lost)`;
    say(`${number} pipelines, ${shape.name}${lost}: ${did}; µs an event: ${costs.join(', ')}`);
  }
  return { measures, idle: { pipelines: number, idle } };
}
