/**
 * Proves that a cluster loses and doubles nothing: `node scripts/prove-storm.ts [--events 4000] [--rounds 1] [--projects 3]
 * [--slots 4] [--window 137] [--seed 1] [--settle 180] [--without-fence]`.
 *
 * The same events go through an undisturbed process and, in every round, through two processes that capture, three pipelines, one
 * API and one for jobs, while random ones of them get SIGKILL, SIGTERM and SIGSTOP, and Kafka and PostgreSQL are killed and started
 * again. Afterwards events, persons, groups, usage and what plugins keep must be the same, and no range of the log may have been
 * stored with two ends. With --without-fence processes go on writing after they have lost their slot; a difference is then what is
 * expected, and the exit code is 0 when there was one in some round.
 *
 * Real: the program, Kafka (a JDK 17 and mvn are needed), PostgreSQL. ClickHouse is chDB behind HTTP, the bucket a stand-in.
 */
import { parseArgs } from 'node:util';
import { runStorm, type StormResult } from './prove/storm-run.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '1' },
    projects: { type: 'string', default: '3' },
    slots: { type: 'string', default: '4' },
    window: { type: 'string', default: '137' },
    seed: { type: 'string', default: '1' },
    settle: { type: 'string', default: '180' },
    'without-fence': { type: 'boolean', default: false },
  },
});
const started = performance.now();
const fence = !values['without-fence'];
const base = {
  events: Number(values.events),
  projects: Number(values.projects),
  slots: Number(values.slots),
  windowEvents: Number(values.window),
  settleSeconds: Number(values.settle),
  say,
};

process.exitCode = await main();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  let different = 0;
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const seed = Number(values.seed) + round;
    say(`round ${round + 1}: ${base.events} events with seed ${seed}, undisturbed`);
    const calm = await runStorm({ ...base, seed, fence: true });
    if (calm.missing !== 0) throw new Error(`expected the undisturbed run to store all, ${calm.missing} are missing`);
    say('the same in the storm');
    const storm = await runStorm({ ...base, seed, fence, chaosSeed: seed });
    const found = differences(calm, storm);
    if (found.length > 0) different += 1;
    for (const each of found.length > 0 ? found : ['no difference']) say(each);
    if (found.length > 0) for (const each of storm.said) console.log(each);
  }
  if (fence) return different === 0 ? 0 : 1;
  say(`without the fence ${different} of ${values.rounds} rounds ended otherwise`);
  return different > 0 ? 0 : 1;
}

/** What the storm has changed, a line for each kind. */
function differences(calm: StormResult, storm: StormResult): string[] {
  const found: string[] = [];
  const compare = (what: string, a: readonly string[], b: readonly string[]): void => {
    const [left, right] = [new Set(a), new Set(b)];
    const missing = a.filter((line) => !right.has(line));
    const more = b.filter((line) => !left.has(line));
    if (a.length === b.length && missing.length + more.length === 0) return;
    found.push(
      `${what}: ${a.length} undisturbed, ${b.length} in the storm; e.g. ${missing[0] ?? '-'} / ${more[0] ?? '-'}`,
    );
  };
  if (storm.missing !== 0) found.push(`${storm.missing} events are missing`);
  for (const range of storm.rangesWithTwoEnds) found.push(`a range of the log with two ends: ${range}`);
  for (const [index, own] of calm.projects.entries()) {
    const other = storm.projects[index];
    if (other === undefined) throw new Error('expected the same projects');
    compare(`events of project ${index}`, own.events, other.events);
    compare(`persons of project ${index}`, own.persons, other.persons);
    compare(`groups of project ${index}`, own.groups, other.groups);
    compare(`usage of project ${index}`, [JSON.stringify(own.usage)], [JSON.stringify(other.usage)]);
  }
  compare('what plugins keep', calm.storage, storm.storage);
  compare('dead letters', calm.deadLetters, storm.deadLetters);
  return found;
}
