import { bodies } from './events.ts';
import { comparePair, pairRow } from './pairs.ts';
import { forkServer } from './process.ts';

const sizes = [
  { events: 1, bodies: 6000 },
  { events: 100, bodies: 2000 },
  { events: 1000, bodies: 400 },
] as const;

/** (a) Capture until durable, against a handler that gunzips, parses and stores nothing. */
export async function benchCapture(rounds: number): Promise<string> {
  const ours = await forkServer(new URL('./capture-server.ts', import.meta.url), []);
  const base = await forkServer(new URL('./bare-capture.ts', import.meta.url), []);
  const rows = [
    '| gzip batches | events per CPU-s | bare handler | ratio (min–max) | events/s | bare |',
    '|---|---|---|---|---|---|',
  ];
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
