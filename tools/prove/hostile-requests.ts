/**
 * Sends requests without a key, each made to cost as much as it can, to the real program, and measures what each costs the main
 * thread, in CPU, from its first byte until the thread is idle again. It prints the least and the median of several tries, the dearest
 * first, and fails when the least is above the limit, or a request is answered with a fault of the server. The least counts because
 * time that other programs take from the processor's caches, or from the host, can only add to it. Linux only.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hostileRequests, type HostileRequest } from '../../test/support/hostile-requests.ts';
import { costOf } from '../../test/support/main-thread-cpu.ts';
import { sendRaw } from '../../test/support/send-raw.ts';
import { startService } from '../compat/service.ts';

const { values } = parseArgs({
  options: {
    tries: { type: 'string', default: '7' },
    milliseconds: { type: 'string', default: '50' },
    /** Only requests whose name holds this. */
    only: { type: 'string', default: '' },
  },
});
const millisecondsMax = Number(values.milliseconds);

interface Measured {
  readonly name: string;
  readonly bytes: number;
  readonly statuses: ReadonlySet<number | undefined>;
  readonly leastMs: number;
  readonly medianMs: number;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-hostile-'));
  try {
    await using service = await startService(directory, {});
    const { port } = new URL(service.url);
    const measured: Measured[] = [];
    for (const request of hostileRequests().filter(({ name }) => name.includes(values.only))) {
      measured.push(await measure(Number(port), service.child.pid ?? 0, request));
    }
    return report(measured);
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function measure(port: number, pid: number, request: HostileRequest): Promise<Measured> {
  const costs: number[] = [];
  const statuses = new Set<number | undefined>();
  for (let i = 0; i < Number(values.tries); i++) {
    costs.push(await costOf(pid, async () => statuses.add(await sendRaw(port, request))));
  }
  costs.sort((a, b) => a - b);
  const [leastMs = Number.NaN] = costs;
  const medianMs = costs[Math.floor(costs.length / 2)] ?? Number.NaN;
  return { name: request.name, bytes: request.body?.length ?? 0, statuses, leastMs, medianMs };
}

function report(measured: readonly Measured[]): number {
  let faults = 0;
  console.log(' least  median CPU ms     bytes  answer   request');
  for (const { name, bytes, statuses, leastMs, medianMs } of measured.toSorted((a, b) => b.leastMs - a.leastMs)) {
    const answers = [...statuses].map((status) => status ?? 'closed').join('/');
    const isBad = leastMs > millisecondsMax || [...statuses].some((status) => status !== undefined && status >= 500);
    if (isBad) faults++;
    console.log(
      `${leastMs.toFixed(1).padStart(6)} ${medianMs.toFixed(1).padStart(7)}        ${String(bytes).padStart(9)}  ${answers.padEnd(7)}  ${name}${isBad ? '  FAULT' : ''}`,
    );
  }
  console.log(`${measured.length} requests, limit ${millisecondsMax} ms of the main thread each: ${faults} faults`);
  return faults === 0 ? 0 : 1;
}
