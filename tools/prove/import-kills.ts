/**
 * Proves that imports are exact through kills of any process in any stage:
 * `npm run prove -- import-kills [--records 100000] [--kills 60] [--seed <random>] [--dir <directory>]`.
 *
 * Three overlapping exports of Mixpanel, with --records records in total and planted faults among them, are imported one after the other into
 * a service that has live events of the same months, some of them the same as in the exports. The second run is undone, and the first is
 * replaced by one that names its events differently. Meanwhile live events arrive, and kill -9 hits the service, its import process or its
 * event store, at a failpoint of every stage in turn and at random moments. At the end events by day and name, complete persons and groups,
 * and usage are compared with those of an undisturbed service that did the same. Persons and groups of that service are compared with those of
 * a service that never had the undone runs, and all identities and times with what the format reads from the remaining records, with a link of
 * two ids counted once, on whatever day. Rounds are repeated until --kills kills have happened.
 *
 * Runs follow one another, because the order of arrival decides which of two runs owns a shared event, and which of two links is first. For the
 * same reason, live events that a run also contains are sent before all runs. Live events during the runs, whenever a kill permits, are of
 * people in the exports and set separate properties, which are decided by the time of the event. Linux only.
 */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { seededRandom } from '../../test/support/draw.ts';
import { stateOfStopped, type ProjectState } from '../../test/support/project-state.ts';
import { writeUndoHistory, type UndoHistory } from '../../test/support/undo-worlds.ts';
import { untilDrained } from '../bench/server.ts';
import { createKiller, throughKills, type Killer } from './import-kills/kills.ts';
import { openWorld, renamed, startLive } from './import-kills/world.ts';
import { eventsOf, setOfEvents, storedSet, type EventSet } from './imports/sets.ts';
import { createService } from './one-machine/service.ts';

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    kills: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    dir: { type: 'string' },
  },
});
const [records, killsWanted, seed] = [Number(values.records), Number(values.kills), Number(values.seed)];
/** Share of all records in the first export; the three overlap. */
const firstShare = 0.45;
const sharesTogether = 1.3;
const shownMax = 5;
const started = performance.now();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const dir = values.dir ?? (await mkdtemp(join(tmpdir(), 'millrace-import-kills-')));
const different = await main();
process.exitCode = different === 0 ? 0 : 1;
if (different === 0 && values.dir === undefined) await rm(dir, { recursive: true, force: true });
else console.log(`kept: ${dir}`);

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<number> {
  const history = await writeUndoHistory(
    join(dir, 'history'),
    Math.round((records * firstShare) / sharesTogether),
    seed,
  );
  say(
    `${records} records in three exports, ${history.before.length} live events before and meanwhile, seed ${seed}, in ${dir}`,
  );
  const expected = expectedOf(history);
  const spared = await live(history, { name: 'spared', isSpared: true });
  const undisturbed = await live(history, { name: 'undisturbed' });
  let found = compareStates(['persons', 'groups'], undisturbed.state, spared.state);
  found += compareSets('undisturbed', expected, await storedSet(undisturbed.dataDir));
  const killer = createKiller(killsWanted);
  for (let round = 1; found === 0 && killer.left() > 0; round += 1) {
    const mine = await live(history, { name: `round-${round}`, killer, runMs: spared.runMs });
    found += compareStates(['events', 'persons', 'groups'], mine.state, undisturbed.state);
    found += tell(
      'usage',
      new Set([JSON.stringify(undisturbed.state.usage)]),
      new Set([JSON.stringify(mine.state.usage)]),
    );
    found += compareSets(`round ${round}`, expected, await storedSet(mine.dataDir));
    if (found === 0) await rm(mine.dataDir, { recursive: true, force: true });
  }
  const kills = [...killer.done].sort().map(([what, times]) => `${what} ${times}`);
  say(`${killsWanted - killer.left()} kills: ${kills.join(', ')}`);
  say(
    `failpoints not reached: ${killer.missed.join(', ') || 'none'}; resumed after kills at one place: ${killer.resumed}`,
  );
  say(found === 0 ? 'exact' : `NOT EXACT: ${found} differences`);
  return found;
}

interface Lived {
  readonly dataDir: string;
  readonly state: ProjectState;
  /** Duration of the last import. */
  readonly runMs: number;
}

interface Life {
  readonly name: string;
  /** Skips the runs that are undone. */
  readonly isSpared?: boolean;
  /** `undefined` means no kills. */
  readonly killer?: Killer;
  readonly runMs?: number;
}

async function live(history: UndoHistory, life: Life): Promise<Lived> {
  const { name, isSpared = false, killer = createKiller(0), runMs = 0 } = life;
  const dataDir = join(dir, name);
  const service = await createService(dataDir);
  try {
    await service.start(true);
    const { client, kept, steps } = await openWorld(service, history, isSpared);
    const meanwhile = startLive(service, history.after);
    const random = seededRandom(seed + killer.left());
    let lastMs = 0;
    for (const [at, step] of steps.entries()) {
      const begun = performance.now();
      const killsMax = Math.ceil(killer.left() / (steps.length - at));
      await throughKills(step, killsMax, killer, { service, client, random, runMs, say });
      lastMs = performance.now() - begun;
    }
    await meanwhile.stop();
    await untilDrained(service.url);
    await service.stop();
    const state = await stateOfStopped(dataDir, { runs: kept(), repeated: history.repeated, grouped: true });
    say(
      `${name}: ${state.persons.length} persons, ${state.groups.length} groups, usage ${JSON.stringify(state.usage)}`,
    );
    return { dataDir, state, runMs: lastMs };
  } catch (error) {
    console.log(service.said());
    await service.kill('service').catch(() => undefined);
    throw error;
  }
}

function compareStates(
  kinds: readonly ('events' | 'persons' | 'groups')[],
  got: ProjectState,
  expected: ProjectState,
): number {
  return kinds.reduce((all, kind) => all + tell(kind, new Set(expected[kind]), new Set(got[kind])), 0);
}

function compareSets(what: string, expected: EventSet, stored: EventSet): number {
  const lines = (set: EventSet): Set<string> => new Set([...set].map(([key, time]) => lineOf(key, time)));
  const links = [...stored.keys()].filter((key) => key.split('\u0001')[1] === '$identify');
  const twice = links.length - new Set(links.map((key) => lineOf(key, ''))).size;
  say(`${what}: ${stored.size} events stored, ${twice} links on two days`);
  return twice + tell(`${what}: identities and times`, lines(expected), lines(stored));
}

/** A link has the position where its run first sees the pair, whatever its day. */
function lineOf(key: string, time: string): string {
  const [day, event, ...ids] = key.split('\u0001');
  return event === '$identify' ? [event, ...ids].join(' ') : [day, event, ...ids, time].join(' ');
}

/** Counts what only one side has. */
function tell(what: string, expected: ReadonlySet<string>, got: ReadonlySet<string>): number {
  const missing = [...expected].filter((line) => !got.has(line));
  const surplus = [...got].filter((line) => !expected.has(line));
  if (missing.length + surplus.length === 0) return 0;
  say(`${what}: ${missing.length} missing, ${surplus.length} surplus`);
  for (const line of missing.slice(0, shownMax)) console.log(`  - ${line.slice(0, 400)}`);
  for (const line of surplus.slice(0, shownMax)) console.log(`  + ${line.slice(0, 400)}`);
  return missing.length + surplus.length;
}

function expectedOf({ files, before, after }: UndoHistory): EventSet {
  const format = findFormat('mixpanel');
  const [first = '', , third = ''] = files;
  if (format === undefined) throw new Error('expected the format mixpanel');
  const all = setOfEvents([...before, ...after]);
  for (const [key, time] of setOfEvents(eventsOf(format, {}, third))) all.set(key, time);
  const withNames = { ...format, names: { ...format.names, ...renamed } };
  for (const [key, time] of setOfEvents(eventsOf(withNames, {}, first))) all.set(key, time);
  return all;
}
