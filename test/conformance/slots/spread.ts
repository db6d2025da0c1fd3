import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDraw, type Draw } from '../../support/draw.ts';
import { createSlotWorld, profilesOf, type SlotWorld } from '../../support/slot-world.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { hasStoreAlone } from '../../../src/stores/metadata/queries.ts';
import { definePlugin, type TransformEvent } from '../../../src/plugins/plugin.ts';
import { receivedAt } from '../../support/pipeline.ts';
import type { OpenStore } from './storm.ts';

const marker = definePlugin({
  kind: 'transformation',
  slug: 'marker',
  name: 'Marker',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: () => (event: TransformEvent) => {
    event.properties['marked'] = true;
    return event;
  },
});

const slots = 8;
const batches = 150;
/** Limits of the workers in turn, so that no two split the log at the same positions. */
const windowSizes = [13, 29, 47];
const people = 14;

/** Returns events that merge persons at random, change them at non-monotonic times, and contain more group types than are allowed. */
function batchOf(draw: Draw, n: number): { readonly distinct_id: string }[] {
  const distinctId = (): string => `${draw.chance(0.5) ? 'u' : 'a'}${draw.int(people + n)}`;
  return Array.from({ length: 2 + draw.int(9) }, () => {
    const distinct_id = distinctId();
    const timestamp = new Date(receivedAt - draw.int(1000) * 60_000).toISOString();
    const base = { uuid: draw.uuid(), timestamp, distinct_id };
    const key = `k${draw.int(4)}`;
    const types = { [`t${draw.int(7)}`]: 'x' };
    if (draw.chance(0.3)) return { ...base, event: 'seen', properties: draw.chance(0.3) ? { $groups: types } : {} };
    if (draw.chance(0.1)) return { ...base, event: '$set', properties: { $unset: [key] } };
    const properties = { $set: { [key]: n }, $set_once: { [`o${draw.int(3)}`]: n } };
    if (draw.chance(0.15)) {
      const group = { $group_type: `t${draw.int(7)}`, $group_key: `g${draw.int(4)}`, $group_set: { [key]: n } };
      return { ...base, event: '$groupidentify', properties: group };
    }
    if (draw.chance(0.15))
      return { ...base, event: '$identify', properties: { ...properties, $anon_distinct_id: distinctId() } };
    if (draw.chance(0.05)) return { ...base, event: '$create_alias', properties: { alias: distinctId() } };
    if (draw.chance(0.03)) return { ...base, event: '$merge_dangerously', properties: { alias: distinctId() } };
    return { ...base, event: 'seen', properties };
  });
}

/** Records the order in which the ranges of all slots are committed, in their transactions. */
async function noteCommits(db: Metadata): Promise<void> {
  const row = 'insert into commits (slot, lane, seq) values (new.slot, new.lane, new.seq)';
  if (hasStoreAlone(db)) {
    await sql`create table commits (n integer primary key autoincrement, slot int, lane text, seq int)`.execute(db);
    await sql.raw(`create trigger note after update of seq on log_cursors begin ${row}; end`).execute(db);
    return;
  }
  await sql`create table commits (n serial primary key, slot int, lane text, seq int)`.execute(db);
  const body = `begin ${row}; return new; end`;
  await sql.raw(`create function note() returns trigger language plpgsql as $$ ${body} $$`).execute(db);
  await sql`create trigger note after update of seq on log_cursors for each row execute function note()`.execute(db);
}

/** Returns what was appended, in the order of the commits. */
async function committedOf(db: Metadata, { appended }: SlotWorld) {
  const { rows } = await sql<{
    slot: number;
    lane: string;
    seq: number;
  }>`select slot, lane, seq from commits order by n`.execute(db);
  const last = new Map<string, number>();
  return rows.flatMap(({ slot, lane, seq }) => {
    const from = last.get(`${slot} ${lane}`) ?? 0;
    last.set(`${slot} ${lane}`, Math.max(from, Number(seq)));
    const seqs = Array.from({ length: Math.max(0, Number(seq) - from) }, (_, index) => from + 1 + index);
    return seqs.flatMap((each) => appended.get(`${slot} ${lane} ${each}`) ?? []);
  });
}

async function outcomeOf(db: Metadata, world: SlotWorld) {
  const { persons, ids, groups, storage, usage } = await profilesOf(db);
  const types = await db.selectFrom('group_types').selectAll().orderBy('project_id').orderBy('type_index').execute();
  const warnings = await db
    .selectFrom('ingestion_warnings')
    .select((eb) => ['project_id', 'type', eb.fn.sum('count').as('count')])
    .groupBy(['project_id', 'type'])
    .orderBy('project_id')
    .orderBy('type')
    .execute();
  const rows = world.recording.read();
  return {
    persons: persons.map(({ version, ...person }) => (version < 0 ? version : person)),
    ids,
    groups,
    types,
    storage,
    usage: usage.map(({ config_id: id, succeeded, skipped }) => [id, Number(succeeded), Number(skipped)]),
    warnings: warnings.map(({ project_id: id, type, count }) => [id, type, Number(count)]),
    unmarked: rows.filter(
      ({ projectId, properties }) => projectId === world.projectIds[0] && !properties.includes('marked'),
    ).length,
    uuids: rows.map(({ uuid }) => uuid).toSorted(),
  };
}

type Outcome = Awaited<ReturnType<typeof outcomeOf>>;
interface Appended {
  readonly projectId: number;
  readonly events: readonly object[];
}

async function spreadRun(
  open: OpenStore,
  { seed, isKnown = true }: { readonly seed: number; readonly isKnown?: boolean },
) {
  await using store = await open();
  const { db } = store;
  await using world = await createSlotWorld({ db, slots, projects: 2, plugins: [marker] });
  await noteCommits(db);
  const draw = createDraw(seed);
  const [hot, other] = world.projectIds as [number, number];
  await world.addTransformation(hot, 'marker');
  const append = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) {
      const lane = n % 4 === 0 ? 'historical' : 'live';
      await world.append(n % 5 === 0 ? other : hot, lane, batchOf(draw, n));
      if (n % 10 === 0) await sleep(1);
    }
  };
  for (let n = 0; n < 3; n++) {
    const windowEventsMax = windowSizes[n % windowSizes.length] as number;
    world.start({ leaseMs: 1000, windowEventsMax, pause: () => sleep(draw.int(4)) });
  }
  // The project is spread while events wait and windows are in progress: over more slots, then fewer.
  const third = batches / 3;
  await append(0, third);
  for (const [at, over] of [5, 3].entries()) {
    await world.spread(hot, over);
    if (!isKnown) await forgetSpread(db);
    await append(third * (at + 1), third * (at + 2));
  }
  await world.drain(60_000);
  return { committed: await committedOf(db, world), outcome: await outcomeOf(db, world) };
}

/** Makes consumers treat persons as their own although several slots have events of the project. */
async function forgetSpread(db: Metadata): Promise<void> {
  await db.updateTable('projects').set({ spread_max: 1 }).execute();
}

/** Runs one worker with a project in one slot. */
async function plainRun(open: OpenStore, appended: readonly Appended[]): Promise<Outcome> {
  await using store = await open();
  await using world = await createSlotWorld({ db: store.db, slots, projects: 2, plugins: [marker] });
  await world.addTransformation(world.projectIds[0] as number, 'marker');
  for (const { projectId, events } of appended) await world.append(projectId, 'live', events);
  world.start({});
  await world.drain(60_000);
  return await outcomeOf(store.db, world);
}

function faultsOf(found: Outcome, plain: Outcome): string[] {
  const names = Object.keys(plain) as (keyof Outcome)[];
  return names.filter((name) => JSON.stringify(found[name]) !== JSON.stringify(plain[name]));
}

/** The promises for a spread project, on every metadata store. */
export function testSpread(open: OpenStore, seeds: readonly number[]): void {
  describe('a project spread over slots while its events wait', () => {
    it.each(seeds)(
      'leaves the same persons, groups, usage and warnings as one slot with the events in commit order: seed %i',
      async (seed) => {
        const { committed, outcome } = await spreadRun(open, { seed });
        const plain = await plainRun(open, committed);
        expect(outcome.persons).toEqual(plain.persons);
        expect(faultsOf(outcome, plain)).toEqual([]);
        expect(plain.unmarked).toBe(0);
      },
      120_000,
    );
  });
}

/** Shows that the runs detect what shared persons prevent. Some runs happen to be correct. */
export function testUnsharedSpread(open: OpenStore): void {
  it('persons of a spread project are wrong if each slot treats them as its own', async () => {
    const isOfProfiles = (fault: string): boolean => ['persons', 'ids', 'groups'].includes(fault);
    const faults = new Set<string>();
    for (let seed = 1; seed <= 8 && faults.size === 0; seed++) {
      const { committed, outcome } = await spreadRun(open, { seed, isKnown: false });
      const found = faultsOf(outcome, await plainRun(open, committed));
      for (const fault of found.filter(isOfProfiles)) faults.add(fault);
    }
    expect([...faults]).not.toEqual([]);
  });
}
