/**
 * Proves that memory does not grow under steady load: `npm run prove -- soak [--minutes 30] [--share 0.7] [--calibrate 20]
 * [--warm-up <a fifth of the minutes>] [--every 5] [--limit 60]`.
 *
 * The whole program, with an installed transformation for each event, receives live batches of 100 events with person properties of 20,000
 * people: for --calibrate seconds as many as it can store, then --share of that rate for --minutes. Every --every seconds it reads the
 * resident memory of the service and its children, and for the service also the memory that its threads use after full collections (live)
 * and the memory outside of V8's heaps. A line is fitted through the samples after the warm-up. Exits with 1 if one of them grows by more
 * than --limit MB per hour and by more than three standard errors (of the service's resident memory only the two parts are judged: V8 keeps
 * free pages and returns them in steps of a hundred MB), if acknowledged events are not stored, or if the log is not empty soon after the
 * end. Sender and service share the machine. Linux only.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile } from '../bench/load.ts';
import { untilDrained } from '../bench/server.ts';
import { installTransformation } from './one-machine/install-transformation.ts';
import { createService, type ProofService } from './one-machine/service.ts';
import { untilStored, usage } from './one-machine/totals.ts';
import { sendFor, type SoakLoad } from './soak/load.ts';
import { createHeaps } from './soak/heaps.ts';
import { growthOf, watchMemory, type Growth } from './soak/memory.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    share: { type: 'string', default: '0.7' },
    calibrate: { type: 'string', default: '20' },
    'warm-up': { type: 'string' },
    every: { type: 'string', default: '5' },
    limit: { type: 'string', default: '60' },
  },
});
const minutes = Number(values.minutes);
const warmUpMinutes = Number(values['warm-up'] ?? minutes / 5);
const started = performance.now();
const tellEveryMs = 60_000;
const transformation = `
  export function processEvent(event) {
    event.properties.seen = true;
    return event;
  }`;
// Child processes end with this one, also on a signal.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const dir = await mkdtemp(join(tmpdir(), 'millrace-soak-'));
try {
  process.exitCode = await main();
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  const heaps = createHeaps();
  const service = await createService(join(dir, 'data'), { nodeOptions: ['--trace-gc'], onOutput: heaps.read });
  await service.start(true);
  await installTransformation(service, transformation);
  const calibration = await calibrate(service);
  const eventsPerSecond = calibration.perSecond * Number(values.share);
  const share = `${Number(values.share) * 100} %`;
  say(`${whole(calibration.perSecond)} events/s are stored; ${share} of them for ${minutes} minutes`);
  const memory = watchMemory(service, heaps, Number(values.every) * 1000);
  const telling = setInterval(() => say(memoryNow(memory.samples)), tellEveryMs);
  const load = await sendFor({ url: service.url, seconds: minutes * 60, eventsPerSecond });
  const backlog = await waiting(service);
  memory.stop();
  clearInterval(telling);
  const growths = growthOf(memory.samples, warmUpMinutes / 60, Number(values.limit));
  for (const growth of growths) say(lineOf(growth));
  say(acknowledgements(load, backlog));
  const wrong = await differences(service, calibration.events + load.events);
  for (const each of wrong) say(each);
  await service.stop();
  return wrong.length === 0 && growths.every(({ isTooMuch }) => !isTooMuch) ? 0 : 1;
}

/** How many it stores in a second: from the first request until the log is empty. The first seconds run warm and do not count. */
async function calibrate(service: ProofService): Promise<{ readonly perSecond: number; readonly events: number }> {
  const seconds = Number(values.calibrate);
  const warm = await sendFor({ url: service.url, seconds: seconds / 2 });
  await untilDrained(service.url);
  const began = performance.now();
  const measured = await sendFor({ url: service.url, seconds });
  await untilDrained(service.url);
  const perSecond = measured.events / ((performance.now() - began) / 1000);
  return { perSecond, events: warm.events + measured.events };
}

/** What is not as it was acknowledged. */
async function differences(service: ProofService, acknowledged: number): Promise<string[]> {
  const expected = { standard: acknowledged, historical: 0 };
  const [stored, used] = [await untilStored(service, expected), await usage(service)];
  say(`${acknowledged} events acknowledged, ${stored.standard} stored, ${used.standard} in the usage`);
  return stored.standard === acknowledged && used.standard === acknowledged && stored.historical === 0
    ? []
    : ['expected the three numbers to be the same'];
}

/** Events in the log. */
async function waiting({ url }: ProofService): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lanes = [...text.matchAll(/^millrace_buffer_events\{[^}]*\} (\S+)$/gm)].map((match) => Number(match[1]));
  return lanes.reduce((all, events) => all + events, 0);
}

function acknowledgements({ events, seconds, latenciesMs, refusals }: SoakLoad, backlog: number): string {
  const [half, most] = [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.99)].map((ms) => ms.toFixed(0));
  const sent = `${whole(events)} events in ${(seconds / 60).toFixed(1)} minutes (${whole(events / seconds)}/s)`;
  return `${sent}; acknowledged after ${half} ms (p50), ${most} ms (p99), ${refusals} times refused; ${backlog} in the log at the end`;
}

function lineOf({ what, perHour, standardError, first, last, most, samples, isTooMuch }: Growth): string {
  const slope = `${perHour.toFixed(1)} ± ${standardError.toFixed(1)} MB/h`;
  const range = `${whole(first)} MB to ${whole(last)} MB, most ${whole(most)} MB, ${samples} samples after ${warmUpMinutes} minutes`;
  return `${what}: ${slope} (${range})${isTooMuch ? `: it grows, by more than ${values.limit} MB/h` : ''}`;
}

function memoryNow(samples: ReturnType<typeof watchMemory>['samples']): string {
  return Object.entries(samples)
    .map(([part, own]) => `${part} ${whole(own.at(-1)?.value ?? 0)} MB`)
    .join(', ');
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en');
}
