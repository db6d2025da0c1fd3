/**
 * Proves that a single machine loses and duplicates nothing: `npm run prove -- storm [--rounds 1000] [--seed <random>] [--every 10]
 * [--dir <directory>]`.
 *
 * Runs the whole program as real processes under load: live and historical batches from several senders, compressed and not, with person
 * properties, aliases and identifications; imports by the command line, one after the other; a transformation that counts events in its
 * storage. In every round kill -9 hits one process at a random moment: the service, its event store, its plugin process or the importer;
 * what does not restart automatically is started. Every --every rounds load and kills pause, and the events stored since then are compared
 * with the acknowledged ones: each once, as it was sent and transformed, and no other; also sums, usage and the transformation's storage. At
 * the end everything is compared once more, and persons with those that the rules derive from all events. The seed determines events,
 * victims and pauses, but not what a kill interrupts. With --dir the directory is kept. Linux only.
 */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openStorm, type Storm, type Victim } from './storm/run.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    every: { type: 'string', default: '10' },
    dir: { type: 'string' },
  },
});
const [rounds, every, seed] = [Number(values.rounds), Number(values.every), Number(values.seed)];
const started = performance.now();
const shownMax = 50;
// Child processes end with this one, also on a signal.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const dir = values.dir ?? (await mkdtemp(join(tmpdir(), 'millrace-storm-')));
process.exitCode = await main();
if (process.exitCode === 0 && values.dir === undefined) await rm(dir, { recursive: true, force: true });

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  say(`${rounds} rounds, seed ${seed}, in ${dir}`);
  await using storm = await openStorm({ dir, seed });
  const kills: Record<Victim, number> = { service: 0, store: 0, plugins: 0, importer: 0 };
  let different = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const victim = await storm.round();
    kills[victim] += 1;
    say(`round ${round}: ${victim} killed; ${storm.ledger.acknowledged.size} events acknowledged`);
    if (round % every === 0 && round < rounds) different += tell('since the last time', await storm.check());
  }
  different += tell('everything', await storm.checkAll());
  const killed = Object.entries(kills).map(([victim, times]) => `${victim} ${times}`);
  say(`${rounds} rounds (${killed.join(', ')}), ${summary(storm)}: ${different} differences`);
  if (different > 0) console.log(storm.service.said());
  return different === 0 ? 0 : 1;
}

function summary({ ledger: { counts, seen, persons } }: Storm): string {
  const events = `${counts.standard} live and ${counts.historical} historical events acknowledged`;
  const requests = `${seen.unanswered} requests without an answer sent again`;
  return `${events}, ${requests}, ${seen.imports} imports done, ${persons.lines().length} persons`;
}

function tell(what: string, found: readonly string[]): number {
  say(`compared ${what}: ${found.length === 0 ? 'exact' : `${found.length} differences`}`);
  for (const each of found.slice(0, shownMax)) console.log(`  ${each}`);
  return found.length;
}
