import { bodies } from './events.ts';
import { comparePair, pairRow } from './pairs.ts';
import { forkServer, type BenchChild } from './process.ts';

const sizes = [
  { events: 1, bodies: 6000 },
  { events: 100, bodies: 2000 },
  { events: 1000, bodies: 400 },
] as const;

const columns = [
  '| gzip batches | events per CPU-s | bare handler | ratio (min–max) | events/s | bare |',
  '|---|---|---|---|---|---|',
];

/** (a) Capture until durable, against a handler that gunzips, parses and stores nothing. */
export async function benchCapture(rounds: number): Promise<string> {
  const { ours, base } = await startBoth();
  const rows = [...columns];
  for (const historical of [false, true]) {
    for (const size of sizes) {
      const shape = { events: size.events, people: 5000, months: 36, historical };
      const sent = bodies('phc_bench', size.bodies, shape);
      const options = { bodies: sent, connections: 8, headers: { 'content-encoding': 'gzip' } };
      const pair = await comparePair(ours, base, options, size.bodies * size.events, rounds);
      rows.push(pairRow(`${size.events} ${historical ? 'historical' : 'live'}`, pair));
    }
  }
  await Promise.all([ours.stop(), base.stop()]);
  return rows.join('\n');
}

const singles = 6000;

/** (j) The cost of a single event while many senders wait for their responses at the same time. */
export async function benchSingles(rounds: number): Promise<string> {
  const { ours, base } = await startBoth();
  const sent = bodies('phc_bench', singles, { events: 1, people: 5000, months: 36, historical: false });
  const options = { bodies: sent, connections: 64, headers: { 'content-encoding': 'gzip' } };
  const row = pairRow('1 live, 64 connections', await comparePair(ours, base, options, singles, rounds));
  await Promise.all([ours.stop(), base.stop()]);
  return [...columns, row].join('\n');
}

async function startBoth(): Promise<{ readonly ours: BenchChild; readonly base: BenchChild }> {
  const ours = await forkServer(new URL('./capture-server.ts', import.meta.url), []);
  const base = await forkServer(new URL('./bare-capture.ts', import.meta.url), []);
  return { ours, base };
}
