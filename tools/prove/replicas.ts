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
import { StoreUnavailableError, type EventStore } from '../../src/stores/events/eventstore.ts';
import { insertRows, testRow } from '../../test/conformance/event-store/event-store.ts';
import { readOutages } from './replica-outages.ts';
import { connectReplicas, proveRounds, type RoundProgress } from './replica-rounds.ts';

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
const store = await connectReplicas();
const rounds = { rounds: Number(values.rounds), outages: readOutages(values.outages), rowsMin: Number(values.events) };
await proveRounds(rounds, () => {
  const project = randomInt(1_000_000, 2_000_000_000);
  const next = { batch: 0 };
  return {
    run: (progress, over) => Promise.all(Array.from({ length: writers }, () => write(project, next, progress, over))),
    faults: ({ stored }) => rowFaults(project, stored),
  };
});
await store.close();

async function write(project: number, next: { batch: number }, work: RoundProgress, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const batch = next.batch++;
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
