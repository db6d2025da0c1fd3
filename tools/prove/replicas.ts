/**
 * Proves that ClickHouse replicas store rows exactly through outages, and keep storing:
 * `node tools/with-clickhouse.ts -- npm run prove -- replicas [--rounds 1] [--events 100000] [--outages kill,hang,keeper,lost-disk,full-disk]`
 * (requires a `clickhouse` binary).
 *
 * Four writers insert batches through the event store, each until it succeeds, with the same token. In the meantime each replica in turn is
 * killed (`kill`) or hangs (`hang`) for 20 s, Keeper is away for 30 s, one replica comes back without its disk and is replaced as the
 * guide describes, and the disk of one is full. Afterwards each row must be stored once, byte for byte, all replicas of a shard must have the
 * same rows, and storing must have continued within 15 s, except without Keeper.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectClickhouse } from '../../src/stores/events/clickhouse/connect-clickhouse.ts';
import { StoreUnavailableError, type EventStore } from '../../src/stores/events/eventstore.ts';
import { insertRows, testRow } from '../../test/conformance/event-store/event-store.ts';
import { replicaAccess, replicaDifferences } from '../../test/support/clickhouse-replicas.ts';
import { isTooLong, readOutages, runOutages } from './replica-outages.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    events: { type: 'string', default: '100000' },
    outages: { type: 'string', default: 'kill' },
  },
});
const writers = 4;
const batchRows = 250;
/** Together they insert about this many rows in a second, while all is well. */
const rowsPerSecond = 600;
const retryMs = 200;
const texts = ['it\'s \\ "quoted"', 'é 😀', '12345678901234567890', '\u0000\t\n'];
const started = performance.now();
const outages = readOutages(values.outages);
const access = replicaAccess();
const store = await connectClickhouse(process.env['CLICKHOUSE_URL'] ?? '', {
  cluster: process.env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
  replicas: process.env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
  queryTimeoutMs: 300_000,
});
let failures = 0;
for (let round = 1; round <= Number(values.rounds); round += 1) failures += await tryRound(round);
await store.close();
say(failures === 0 ? 'proved' : `${failures} faults`);
process.exitCode = failures === 0 ? 0 : 1;

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

/** Returns the number of faults. */
async function tryRound(round: number): Promise<number> {
  const project = randomInt(1_000_000, 2_000_000_000);
  const work = { stored: 0, waiting: 0, retries: 0, batches: 0 };
  const over = new AbortController();
  const writing = Promise.all(Array.from({ length: writers }, () => write(project, work, over.signal)));
  try {
    const progress = async () => ({ stored: work.stored, waiting: work.waiting });
    const pauses = await runOutages(outages, { access, progress, say });
    while (work.stored < Number(values.events)) await sleep(retryMs);
    over.abort();
    await writing;
    const faults = [
      ...pauses.filter(isTooLong).map(({ outage, seconds }) => `nothing was stored for ${seconds} s: ${outage}`),
      ...(await replicaDifferences(access)),
      ...(await rowFaults(project, work.stored)),
    ];
    for (const fault of faults) say(fault);
    const longest = Math.max(0, ...pauses.map(({ seconds }) => seconds));
    say(
      `round ${round}: ${work.stored} events, ${work.retries} inserts repeated, ${pauses.length} outages, ` +
        `nothing stored for ${longest} s at most; ${faults.length} faults`,
    );
    return faults.length;
  } finally {
    over.abort();
  }
}

interface Work {
  stored: number;
  waiting: number;
  retries: number;
  batches: number;
}

async function write(project: number, work: Work, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const batch = work.batches++;
    const rows = Array.from({ length: batchRows }, (_, at) => rowOf(project, batch * batchRows + at));
    work.waiting += batchRows;
    const begun = performance.now();
    while (!(await isStored(store, `replicas-${project}-${batch}`, rows))) {
      work.retries += 1;
      await sleep(retryMs);
    }
    work.waiting -= batchRows;
    work.stored += batchRows;
    await sleep(Math.max(0, (1000 * batchRows * writers) / rowsPerSecond - (performance.now() - begun)));
  }
}

async function isStored(into: EventStore, token: string, rows: Parameters<typeof insertRows>[2]): Promise<boolean> {
  try {
    await insertRows(into, token, rows);
    return true;
  } catch (error) {
    if (error instanceof StoreUnavailableError) return false;
    throw error;
  }
}

/** Over three months. */
function rowOf(project: number, n: number) {
  return testRow(project, {
    uuid: uuidOf(n),
    keyDay: 19_700 + (n % 90),
    event: n % 3 === 0 ? 'seen' : "it's bought",
    distinctId: `user-${n % 997}`,
    properties: JSON.stringify({ n, text: texts[n % texts.length] }),
  });
}

function uuidOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** Compares what is stored with what was inserted. */
async function rowFaults(project: number, events: number): Promise<string[]> {
  const rows = await store.query<{ u: string; p: string }>(
    'SELECT toString(uuid) AS u, properties AS p FROM events FINAL WHERE project_id = {project:Int32} ORDER BY u',
    { project },
  );
  const [stored] = await store.query<{ c: string }>(
    'SELECT count() AS c FROM events WHERE project_id = {project:Int32}',
    {
      project,
    },
  );
  const wrong = rows.filter(({ u, p }, n) => u !== uuidOf(n) || p !== rowOf(project, n).properties).length;
  return [
    ...(rows.length === events ? [] : [`expected ${events} events, got ${rows.length}`]),
    ...(wrong === 0 ? [] : [`${wrong} events are not those that were inserted`]),
    ...(Number(stored?.c) === events
      ? []
      : [`expected each token to be stored once, got ${stored?.c} rows of ${events} events`]),
  ];
}
