/**
 * Proves that a cluster loses and duplicates nothing: `npm run prove -- cluster-storm [--events 4000] [--seeds 1] [--rounds 1]
 * [--projects 4] [--slots 4] [--spread 4] [--windows 137,89,211] [--seed <random>] [--seconds 40] [--every 2.5] [--settle 180]
 * [--outages kill,hang,keeper,lost-disk,full-disk] [--without-fence]`.
 *
 * Runs two capture processes, three pipelines, one API process and one for jobs. For each seed the same events are sent to new projects
 * once undisturbed, and then in every round of a storm: during --seconds, and at most as long again until the events are stored, random
 * processes get SIGKILL, SIGTERM and SIGSTOP, and Kafka and PostgreSQL are killed and restarted, one of these every --every seconds.
 * Most suspended pipelines are suspended within the transaction that records the end of a range of the log, until another one has their
 * slot. One project is spread over several slots. Afterwards events, persons, groups and usage must be equal, the storage of plugins must
 * match the log, and no range of the log may have been stored with two ends. With --without-fence processes keep writing after they lost
 * their slot: differences are then expected, and the exit code is 0 if any round had one.
 *
 * Real: the program, Kafka (requires a JDK 17 and mvn), PostgreSQL. The bucket is a test double, and so is ClickHouse, chDB behind HTTP,
 * unless real replicas are started: `node tools/with-clickhouse.ts -- npm run prove -- cluster-storm --outages kill,hang`. Then each replica
 * in turn is killed, or hangs, for 20 s (`keeper`: Keeper is away for 30 s; `lost-disk`: a replica comes back empty after 40 s, and is
 * replaced as the guide describes; `full-disk`: the disk of one is full). In the end all replicas of a shard must have
 * the same rows. --every 0 leaves everything else undisturbed; storing must then continue within 15 s while one replica of a shard is away.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { StormResult } from './cluster-storm/result.ts';
import { openStorm, type Storm } from './cluster-storm/run.ts';
import { readOutages } from './replica-outages.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '4000' },
    seeds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    projects: { type: 'string', default: '4' },
    slots: { type: 'string', default: '4' },
    spread: { type: 'string', default: '4' },
    windows: { type: 'string', default: '137,89,211' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    seconds: { type: 'string', default: '40' },
    every: { type: 'string', default: '2.5' },
    settle: { type: 'string', default: '180' },
    outages: { type: 'string', default: '' },
    'without-fence': { type: 'boolean', default: false },
  },
});
const started = performance.now();
const fence = !values['without-fence'];
const saidMax = 400;
const rounds = Number(values.rounds);
const outages = readOutages(values.outages);
// Child processes end with this one, also on a signal.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

process.exitCode = await main();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  await using storm = await openStorm({
    slots: Number(values.slots),
    windows: values.windows.split(',').map(Number),
    settleSeconds: Number(values.settle),
    fence,
    say,
  });
  let different = 0;
  for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed += 1) {
    different += await tryEvents(storm, seed);
  }
  const all = rounds * Number(values.seeds);
  say(`${different} of ${all} rounds ended otherwise${fence ? '' : ', without the fence'}`);
  return fence === (different === 0) ? 0 : 1;
}

/** How many rounds with the same events ended otherwise than the undisturbed one. */
async function tryEvents(storm: Storm, seed: number): Promise<number> {
  const plan = {
    events: Number(values.events),
    projects: Number(values.projects),
    spread: Number(values.spread),
    seed,
  };
  say(`${plan.events} events with seed ${seed}, undisturbed`);
  const calm = await storm.round(plan);
  const unexpected = await storm.differences(plan, calm, calm);
  if (unexpected.length > 0) throw new Error(`expected the undisturbed run to be right, got: ${unexpected.join('\n')}`);
  let different = 0;
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round}: the same in a storm`);
    const weather = {
      seed: seed * 1000 + round,
      seconds: Number(values.seconds),
      everySeconds: Number(values.every),
      outages,
    };
    const began = performance.now();
    const stormy = await storm.round(plan, weather);
    const found = await storm.differences(plan, calm, stormy);
    const took = `${((performance.now() - began) / 1000).toFixed(0)} s`;
    say(
      `seed ${seed}, round ${round}: ${plan.events} events, ${took}; ${summary(stormy)}; ${found.length} differences`,
    );
    if (report(found, storm)) different += 1;
    await storm.retire(stormy);
  }
  await storm.retire(calm);
  return different;
}

/** What happened in a round, in words. */
function summary({ mishaps, pauses, claims, repeated, missed, failures }: StormResult): string {
  for (const each of failures) say(each);
  if (missed !== undefined) say(`what plugins keep is not compared: ${missed} were deleted before they could be read`);
  const longest = Math.max(...pauses.map(({ seconds: each }) => each));
  const paused =
    pauses.length === 0 ? '' : `${pauses.length} outages of replicas, nothing stored for ${longest} s at most; `;
  if (mishaps === undefined) return `${paused}nothing else happened`;
  const { SIGKILL, SIGTERM, SIGSTOP, inside, broker, postgres } = mishaps;
  const signals = `${SIGKILL} SIGKILL, ${SIGTERM} SIGTERM, ${SIGSTOP + inside} SIGSTOP (${inside} inside a transaction)`;
  const servers = `${broker} restarts of Kafka, ${postgres} of PostgreSQL`;
  return `${paused}${signals}, ${servers}; slots taken ${claims} times, ${repeated} batches sent twice`;
}

function report(found: readonly string[], storm: Storm): boolean {
  for (const each of found) say(each);
  if (found.length > 0 && fence) for (const each of storm.said()) console.log(each.slice(0, saidMax));
  return found.length > 0;
}
