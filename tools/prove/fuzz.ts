/**
 * Sends generated requests of every kind to the real program, in slices: events in all forms and compressions, calls of the
 * management API made from its document, what is broken, deep, long, cut off or no HTTP at all; several at once on each
 * connection. Each slice has a bound of time and memory, and prints a line. It fails when anything is answered with a fault of
 * the server, with a status that is not documented, or not at all; when the service ends or grows beyond the bound; and when the
 * good events sent in between are not all stored, once. A request is made from the seed and its number alone: `--seed S --from N
 * --requests 1` sends it again.
 */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { residentMiB, storePid } from '../../test/support/processes.ts';
import { delay, type Service } from '../compat/service.ts';
import { startFuzzedService, type FuzzedService } from './fuzz/fuzzed-service.ts';
import { runSlice, type SliceResult } from './fuzz/run-slice.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    slice: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    from: { type: 'string', default: '0' },
    /** Of one slice. */
    seconds: { type: 'string', default: '300' },
    /** Of the service, without the event store's process. */
    mebibytes: { type: 'string', default: '1500' },
    kinds: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const settleMs = 120_000;
const saidMax = 20;

/** On a signal it ends after the current slice, with all checks. */
const told = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => told.abort());

process.exitCode = await main();

async function main(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-fuzz-'));
  try {
    await using fuzzed = await startFuzzedService(directory);
    return await sendSlices(fuzzed);
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function sendSlices(fuzzed: FuzzedService): Promise<number> {
  const { service, port, world } = fuzzed;
  const first = Number(values.from);
  const end = first + Number(values.requests);
  const taken = new Set<string>();
  let faulty = 0;
  let done = 0;
  console.log(`requests ${first} to ${end} with seed ${seed}`);
  for (let from = first; from < end && !told.signal.aborted; from += Number(values.slice)) {
    const to = Math.min(end, from + Number(values.slice));
    const started = performance.now();
    const result = await runSlice(port, world, { seed, from, to }, Number(values.seconds) * 1000);
    const seconds = (performance.now() - started) / 1000;
    for (const uuid of result.witnesses) taken.add(uuid);
    sayOf(service, result, { from, to, seconds, taken: taken.size });
    faulty += say(result.faults);
    done += to - from;
    // What is wrong with an answer concerns that answer, the rest concerns all that follows.
    const broken = await faultsAfter(fuzzed, result, taken);
    if (say(broken) > 0) return 1;
  }
  faulty += say(await differences(fuzzed, taken));
  console.log(
    faulty === 0
      ? `${done} requests without a fault; ${taken.size} good events are stored once`
      : `${faulty} faults in ${done} requests`,
  );
  return faulty === 0 ? 0 : 1;
}

/** How many they are. */
function say(faults: readonly string[]): number {
  for (const fault of faults.slice(0, saidMax)) console.log(`  FAULT ${fault}`);
  if (faults.length > saidMax) console.log(`  and ${faults.length - saidMax} more`);
  return faults.length;
}

interface Said {
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
  readonly taken: number;
}

function sayOf(service: Service, { statuses, kinds, slowest }: SliceResult, { from, to, seconds, taken }: Said): void {
  const told = [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status === 0 ? 'none' : status}: ${count}`);
  const rate = ((to - from) / seconds).toFixed(0);
  const memory = `${residentMiB(service.child.pid).toFixed(0)} MiB + ${residentMiB(storePid(service)).toFixed(0)} MiB`;
  const slow =
    slowest === undefined ? '' : `, slowest ${slowest.ms.toFixed(0)} ms (${slowest.number}, ${slowest.request.kind})`;
  console.log(`${from} to ${to}: ${rate}/s, ${memory}, ${taken} good events${slow}; ${told.join(' ')}`);
  if (!values.kinds) return;
  for (const [kind, { count, ms }] of [...kinds].sort((a, b) => b[1].ms - a[1].ms)) {
    console.log(`  ${kind}: ${count}, ${(ms / count).toFixed(1)} ms each`);
  }
}

/** What is wrong after a slice, whatever each answer was. */
async function faultsAfter(
  { service, witnessId }: FuzzedService,
  { unsent }: SliceResult,
  taken: ReadonlySet<string>,
): Promise<string[]> {
  if (service.child.exitCode !== null || service.child.signalCode !== null) return ['the service has ended'];
  const faults: string[] = [];
  if (unsent > 0) faults.push(`expected the slice to end within ${values.seconds} s, ${unsent} requests were not sent`);
  const memory = residentMiB(service.child.pid);
  if (memory > Number(values.mebibytes)) faults.push(`expected at most ${values.mebibytes} MiB, got: ${memory}`);
  const stored = await untilStored(service, witnessId, taken.size);
  if (stored !== taken.size) faults.push(`expected ${taken.size} good events to be stored, got: ${stored}`);
  return faults;
}

async function untilStored(service: Service, witnessId: number, expected: number): Promise<number> {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const path = `/api/projects/${witnessId}/events/counts/`;
    const { body } = await service.api<{ total: { standard: number } }>('GET', path);
    if (body.total.standard >= expected || performance.now() > deadline) return body.total.standard;
    await delay(250);
  }
}

async function differences({ service, witnessId }: FuzzedService, taken: ReadonlySet<string>): Promise<string[]> {
  const seen = new Set<string>();
  const wrong: string[] = [];
  let path: string | null = `/api/projects/${witnessId}/events/?limit=1000`;
  while (path !== null) {
    const page: { next: string | null; results: readonly { id: string }[] } = (
      await service.api<typeof page>('GET', path)
    ).body;
    for (const { id } of page.results) {
      if (seen.has(id)) wrong.push(`stored twice: ${id}`);
      if (!taken.has(id)) wrong.push(`stored and not acknowledged: ${id}`);
      seen.add(id);
    }
    path = page.next === null ? null : page.next.slice(new URL(page.next).origin.length);
  }
  for (const id of taken) if (!seen.has(id)) wrong.push(`acknowledged and not stored: ${id}`);
  return wrong;
}
