import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createDraw, type Draw } from '../../support/draw.ts';
import { createSlotWorld, profilesOf, rangesWithTwoEnds, whileThere } from '../../support/slot-world.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { definePlugin } from '../../../src/plugins/plugin.ts';
import { receivedAt } from '../../support/pipeline.ts';

/** Numbers the events it sees, across windows. */
const counter = definePlugin({
  kind: 'transformation',
  slug: 'counter',
  name: 'Counter',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: (_settings, { storage }) => ({
    batch: async (events) => {
      for (const event of events) event.properties['number'] = await storage.increment('n', 1);
      return events;
    },
  }),
});

interface StormOptions {
  readonly seed: number;
  readonly workers: number;
  readonly batches: number;
  readonly unfenced?: boolean;
  readonly isCalm?: boolean;
}

const leaseMs = 250;
const slots = 4;
const projects = 6;
/** Limits of the workers in turn, so that no two split the log at the same positions. */
const windowSizes = [13, 29, 47];
/** Minimum number of times that workers hang in a storm. */
const awaysMin = 5;

/** A migrated, empty store. */
export type OpenStore = () => Promise<{ readonly db: Metadata } & AsyncDisposable>;

async function storm(open: OpenStore, { seed, workers, batches, unfenced = false, isCalm = false }: StormOptions) {
  await using store = await open();
  await using world = await createSlotWorld({ db: store.db, slots, projects, plugins: [counter] });
  const draw = createDraw(seed);
  await world.addTransformation(world.projectIds[0] as number, 'counter');
  const sent = Array.from({ length: batches }, (_, n) => batchOf(draw, n));
  const append = async (from: number, to: number): Promise<void> => {
    for (const [index, batch] of sent.slice(from, to).entries()) {
      const n = from + index;
      await world.append(world.projectIds[n % projects] as number, n % 3 === 0 ? 'historical' : 'live', batch);
    }
  };
  await append(0, batches / 2);
  const trouble = new Trouble(draw);
  for (let n = 0; n < workers; n++) {
    const place = trouble.place();
    world.start({
      leaseDb: whileThere(store.db, () => place.away === undefined),
      leaseMs,
      unfenced,
      windowEventsMax: windowSizes[n % windowSizes.length] as number,
      clockMs: (n - 1) * 3_600_000,
      pause: async () => {
        await sleep(draw.int(8));
        await place.away;
      },
      hear: async () => {
        await place.away;
        await sleep(draw.int(30));
      },
    });
    if (!isCalm) void trouble.visit(place);
  }
  // Fast workers must not finish before anything has happened to them.
  if (!isCalm) await vi.waitUntil(() => trouble.aways > awaysMin, { timeout: 60_000 });
  await append(batches / 2, batches);
  await world.drain(60_000);
  trouble.end();
  const rows = world.recording.read();
  return {
    events: sent.flat().length,
    aways: trouble.aways,
    stored: rows.length,
    uuids: rows.map(({ uuid }) => uuid).toSorted(),
    numbers: rows.map(({ properties }) => (JSON.parse(properties) as { number?: number }).number ?? 0).toSorted(),
    twoEnds: rangesWithTwoEnds(world.recording.inserts),
    ...(await profilesOf(store.db)),
  };
}

interface Place {
  /** Set while the worker hangs or is cut off. */
  away: Promise<void> | undefined;
}

/** Makes workers hang repeatedly, for less and for more than a lease. */
class Trouble {
  readonly #draw: Draw;
  #isOver = false;
  aways = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  place(): Place {
    return { away: undefined };
  }

  async visit(place: Place): Promise<void> {
    while (!this.#isOver) {
      await sleep(50 + this.#draw.int(2 * leaseMs));
      this.aways += 1;
      place.away = sleep(leaseMs / 2 + this.#draw.int(3 * leaseMs));
      await place.away;
      place.away = undefined;
    }
  }

  end(): void {
    this.#isOver = true;
  }
}

/** Returns events of both lanes that identify, change and merge persons. */
function batchOf(draw: Draw, n: number): object[] {
  return Array.from({ length: 3 + draw.int(9) }, (_, index) => {
    const who = draw.int(40);
    const timestamp = new Date(receivedAt - 86_400_000 + n * 60_000 + index * 1000).toISOString();
    const base = { uuid: draw.uuid(), timestamp };
    const properties = { n, $set: { [`k${draw.int(5)}`]: n }, $set_once: { first: n } };
    if (draw.chance(0.1)) {
      const group = { $group_type: 'company', $group_key: `g${draw.int(5)}`, $group_set: { [`k${draw.int(3)}`]: n } };
      return { ...base, event: '$groupidentify', distinct_id: `u${who}`, properties: group };
    }
    if (draw.chance(0.1)) {
      const anonymous = { ...properties, $anon_distinct_id: `a${who}` };
      return { ...base, event: '$identify', distinct_id: `u${who}`, properties: anonymous };
    }
    return { ...base, event: 'seen', distinct_id: `${draw.chance(0.5) ? 'u' : 'a'}${who}`, properties };
  });
}

const size = { seed: 7, batches: 240 };
/** Seeds of several storms, because some do no harm. */
const unfencedTriesMax = 6;

type Outcome = Awaited<ReturnType<typeof storm>>;

/** Returns differences from the expected outcome. */
function faultsOf(found: Outcome, calm: Outcome): string[] {
  return (Object.keys(calm) as (keyof Outcome)[]).filter(
    (name) => name !== 'aways' && JSON.stringify(found[name]) !== JSON.stringify(calm[name]),
  );
}

/** The promises of slots on every metadata store. */
export function testSlotStorm(open: OpenStore): void {
  describe('workers that share slots, hang and lose them', () => {
    it('store every event once, and leave the same persons, groups, usage and storage as an undisturbed run', async () => {
      const calm = await storm(open, { ...size, workers: 1, isCalm: true });
      expect(calm).toMatchObject({ stored: calm.events, twoEnds: [], aways: 0 });
      const stormy = await storm(open, { ...size, workers: 3 });
      expect(stormy.aways).toBeGreaterThan(awaysMin);
      expect(faultsOf(stormy, calm)).toEqual([]);
    }, 300_000);
  });
}

/** Shows that the storm detects what the fence prevents. */
export function testUnfencedStorm(open: OpenStore): void {
  describe('workers that share slots, hang and lose them', () => {
    it('do not without the fence', async () => {
      const faults = new Set<string>();
      for (let seed = 1; seed <= unfencedTriesMax && faults.size === 0; seed++) {
        const calm = await storm(open, { ...size, seed, workers: 1, isCalm: true });
        const unfenced = await storm(open, { ...size, seed, workers: 3, unfenced: true });
        for (const fault of faultsOf(unfenced, calm)) faults.add(fault);
      }
      expect([...faults]).not.toEqual([]);
    }, 300_000);
  });
}
