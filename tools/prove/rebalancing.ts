/**
 * Proves that slots move between pipelines without loss, duplicates or long pauses: `npm run prove -- rebalancing [--slots 64]
 * [--processes 10] [--minutes 10] [--every 6] [--away 15] [--rate 20] [--limit 15] [--seed <random>]`.
 *
 * Live requests arrive at --rate a second, in every slot, while one of the pipelines leaves every --every seconds (on average), half of
 * them by SIGTERM and half by kill -9, also in the midst of starting, and joins again up to --away seconds later. An observer reads the
 * table of slots. A slot has no owner while it is free, its lease has expired, or the process that leases it is gone. No slot may
 * be without an owner for longer than --limit seconds, and in the end every event must be in the store once, unchanged.
 *
 * Real: the program, Kafka (requires a JDK 17 and mvn), PostgreSQL. ClickHouse is chDB behind HTTP.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { readCursors } from '../../src/pipeline/cursors.ts';
import { lanes } from '../../src/log/eventlog.ts';
import { openKafkaLogWriter } from '../../src/log/kafka/writer.ts';
import { openPostgres } from '../../src/stores/metadata/postgres.ts';
import { createDraw, type Draw } from '../../test/support/draw.ts';
import { openStormCluster, untilReady, type StormCluster, type StormProcess } from './cluster-storm/cluster.ts';
import { createProjects, startLoad, type LiveLoad } from './rebalancing/live-load.ts';
import { observeSlots, type SlotObserver } from './rebalancing/observe-slots.ts';

const { values } = parseArgs({
  options: {
    slots: { type: 'string', default: '64' },
    processes: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '10' },
    every: { type: 'string', default: '6' },
    away: { type: 'string', default: '15' },
    rate: { type: 'string', default: '20' },
    limit: { type: 'string', default: '15' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
  },
});
const started = performance.now();
const [slots, processes, limit] = [Number(values.slots), Number(values.processes), Number(values.limit)];
const readyMs = 600_000;
const settleMs = 300_000;
/** Fewer would be another test: that of an outage. */
const staying = Math.ceil(processes / 3);
const gapsSaid = 8;
// Each process has one that ends it.
process.setMaxListeners(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

process.exitCode = await main();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  await using cleanup = new AsyncDisposableStack();
  const cluster = cleanup.use(await openStormCluster({ slots, fence: true }));
  await allowConnections(cluster);
  const start = async (roles: string): Promise<StormProcess> => {
    const one = await cluster.start({ name: roles, roles, windowEvents: 1000 });
    await untilReady(one, readyMs);
    return one;
  };
  const [capture, api] = [await start('capture'), await start('api')];
  const db = openPostgres(cluster.databaseUrl, { onConnectionLost: () => undefined });
  cleanup.defer(() => db.destroy());
  const log = await openKafkaLogWriter(cluster.kafka, { cursors: () => readCursors(db) });
  cleanup.defer(() => log.close());
  const projects = await createProjects(api.url, slots);
  await api.end();
  const observer = observeSlots(db, slots);
  cleanup.defer(() => observer.stop());
  const crowd = createCrowd(cluster, observer);
  for (let made = 0; made < processes; made += 1) await crowd.join();
  await observer.begin();
  say(`${processes} pipelines have ${slots} slots; seed ${values.seed}`);
  const load = startLoad(capture.url, projects, Number(values.rate));
  const moves = await moveAround(crowd, createDraw(Number(values.seed)));
  await load.stop();
  say(`${moves}; ${load.sent.size} events sent, ${load.repeated.size} of them again`);
  const waiting = await untilStored(async () => {
    const cursors = await readCursors(db);
    let records = 0;
    for (const lane of lanes) {
      for (let slot = 0; slot < slots; slot += 1)
        records += (await log.end(lane, slot)) - (cursors[lane].get(slot) ?? 0);
    }
    return records;
  });
  const faults = waiting > 0 ? [`${waiting} records wait`] : await compare(cluster, load);
  faults.push(...crowd.failures());
  const gaps = observer.gaps();
  for (const { slot, seconds, after, at } of gaps.slice(0, gapsSaid)) {
    say(`slot ${slot} without an owner for ${seconds.toFixed(1)} s after ${after}, at ${at.toFixed(0)} s`);
  }
  const longest = gaps[0]?.seconds ?? 0;
  const { polls } = observer;
  say(
    `${gaps.length} changes of owners, the longest gap ${longest.toFixed(1)} s; ${polls.count} polls, the slowest ${polls.slowestMs.toFixed(0)} ms`,
  );
  if (longest > limit)
    faults.push(`expected no slot without an owner for longer than ${limit} s, got ${longest.toFixed(1)} s`);
  for (const fault of faults) say(fault);
  say(faults.length === 0 ? 'exact' : 'NOT PROVED');
  return faults.length === 0 ? 0 : 1;
}

/** All of them together may use more than a server permits by default. */
async function allowConnections({ databaseUrl, postgres }: StormCluster): Promise<void> {
  const db = openPostgres(databaseUrl);
  await sql`alter system set max_connections = ${sql.lit(20 * processes + 100)}`.execute(db);
  await db.destroy();
  postgres.restart();
}

interface Crowd {
  /** Starts a process and resolves when it has registered, or was killed before; one at a time, so that its worker is known. */
  join(): Promise<void>;
  leave(signal: NodeJS.Signals, draw: Draw): Promise<string>;
  readonly size: number;
  /** Last output of processes that ended on their own. */
  failures(): string[];
}

function createCrowd(cluster: StormCluster, observer: SlotObserver): Crowd {
  const running = new Map<string, { readonly process: StormProcess; readonly left: AbortController }>();
  const failures: string[] = [];
  let made = 0;
  let joining: Promise<unknown> = Promise.resolve();
  const join = async (): Promise<void> => {
    made += 1;
    const name = `pipeline-${made}`;
    const member = await cluster.start({ name, roles: 'pipeline', windowEvents: 500 + made });
    const left = new AbortController();
    running.set(name, { process: member, left });
    await observer.joined(name, left.signal);
  };
  return {
    join: () => {
      const own = joining.then(join);
      joining = own;
      return own;
    },
    leave: async (signal, draw) => {
      const name = draw.pick([...running.keys()]);
      const member = running.get(name);
      if (member === undefined) throw new Error('expected a process');
      running.delete(name);
      await member.process.end(signal);
      await observer.left(name);
      member.left.abort();
      failures.push(...member.process.failures);
      return name;
    },
    get size() {
      return running.size;
    },
    failures: () => [...failures, ...[...running.values()].flatMap((each) => each.process.failures)],
  };
}

/** Lets processes leave and join until the time is over; returns what happened, in words. */
async function moveAround(crowd: Crowd, draw: Draw): Promise<string> {
  const counts = { SIGTERM: 0, SIGKILL: 0, joined: 0, fewest: processes };
  const pending = new Set<Promise<void>>();
  const swap = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await crowd.leave(signal, draw);
    await sleep(draw.int(Number(values.away) * 1000));
    await crowd.join();
    counts.joined += 1;
  };
  for (const end = performance.now() + Number(values.minutes) * 60_000; performance.now() < end;) {
    await sleep(draw.int(2 * Number(values.every) * 1000));
    if (crowd.size <= staying) continue;
    const signal = draw.chance(0.5) ? 'SIGTERM' : 'SIGKILL';
    counts[signal] += 1;
    const one = swap(signal).finally(() => pending.delete(one));
    pending.add(one);
    counts.fewest = Math.min(counts.fewest, crowd.size);
  }
  await Promise.all(pending);
  return `${counts.SIGTERM} SIGTERM, ${counts.SIGKILL} kill -9, ${counts.joined} joined; ${counts.fewest} to ${processes} processes`;
}

async function untilStored(waitingRecords: () => Promise<number>): Promise<number> {
  for (const end = performance.now() + settleMs; ; await sleep(500)) {
    const waiting = await waitingRecords();
    if (waiting === 0 || performance.now() > end) return waiting;
  }
}

/** Compares every row of the store, without its merging, with what was sent. */
async function compare({ clickhouse }: StormCluster, { sent, repeated }: LiveLoad): Promise<string[]> {
  const url = new URL(clickhouse.url);
  const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`;
  const query = `SELECT toString(uuid) AS uuid, project_id, distinct_id, properties, count() AS rows FROM events
    WHERE event = 'moved' GROUP BY ALL FORMAT JSONEachRow`;
  const answer = await fetch(`http://${url.host}/?database=${url.pathname.slice(1)}`, {
    method: 'POST',
    headers: { authorization },
    body: query,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected the rows of the store, got: ${answer.status} ${text}`);
  const counts = { missing: 0, twice: 0, altered: 0, foreign: 0 };
  const stored = new Set<string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const row = JSON.parse(line) as {
      uuid: string;
      project_id: number | string;
      distinct_id: string;
      properties: string;
      rows: number | string;
    };
    const event = sent.get(row.uuid);
    if (event === undefined) counts.foreign += 1;
    else if (
      Number(row.project_id) !== event.project ||
      row.distinct_id !== event.distinctId ||
      (JSON.parse(row.properties) as { number: number }).number !== event.number
    )
      counts.altered += 1;
    // A request without an answer may be in the log twice.
    if ((Number(row.rows) > 1 || stored.has(row.uuid)) && !repeated.has(row.uuid)) counts.twice += 1;
    stored.add(row.uuid);
  }
  counts.missing = [...sent.keys()].filter((uuid) => !stored.has(uuid)).length;
  say(
    `${stored.size} events stored; ${Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}`,
  );
  return Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} events ${what}`]));
}
